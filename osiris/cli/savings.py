"""`osiris savings`: the accounts, and the one net number."""

import time
from collections.abc import Mapping
from typing import Any

import click

from osiris.cli.context import Context
from osiris.cli.exits import Exit
from osiris.cli.layout import amounts, many
from osiris.cli.output import Shown, answers
from osiris.core import ledger

_PERIODS = {"all": "since the beginning", "day": "today (UTC)"}


@click.command()
@click.option(
    "--scope", type=click.Choice(tuple(_PERIODS)), default="all", help="Since ever, or today (UTC)."
)
@answers
def savings(context: Context, *, scope: str) -> Shown:
    """Show tokens kept out of models, what OSIRIS cost, and the net of both.

    Net is what receipts prove less all overhead; it may be negative. Declared and estimated
    amounts stand beside it, never in it.
    """
    today = ledger.day_of(time.time_ns() // 1_000_000)
    found = context.read("savings", {"scope": f"day/{today}" if scope == "day" else "all"})
    is_balanced = found["balance"] == 0
    answer = {"scope": scope, **found}
    return Shown(answer, lambda _: _text(answer), exit=Exit.OK if is_balanced else Exit.WRONG)


def _text(said: Mapping[str, Any]) -> str:
    kept, overhead = said["kept_out"], said["overhead"]
    rows = [
        ("kept out, proven by receipt", kept.get("receipt", 0)),
        ("overhead", -sum(overhead.values())),
        *((f"  {kind}", -amount) for kind, amount in sorted(overhead.items()) if amount),
        ("net", said["net"]),
        ("beside it: declared", kept.get("declared", 0)),
        ("beside it: estimated", kept.get("estimated", 0)),
    ]
    calls = f", {many(said['calls'], 'call')}" if said["calls"] else ""
    head = f"Tokens {_PERIODS[said['scope']]}{calls}\n"
    wrong = f"\nTHE ACCOUNTS DO NOT BALANCE: {said['balance']:,}" if said["balance"] else ""
    return f"{head}\n{amounts(rows)}{wrong}"
