"""`osiris savings`: the accounts, the one net number, and the same row by row."""

import time
from collections.abc import Mapping
from typing import Any

import click

from osiris.cli.context import Context
from osiris.cli.exits import Exit
from osiris.cli.layout import Screen, amounts, many, table
from osiris.cli.output import Shown, answers
from osiris.core import ledger
from osiris.core.savings import REST

SHOWN = 20
_PERIODS = {"all": "since the beginning", "day": "today (UTC)"}


@click.command()
@click.option(
    "--scope", type=click.Choice(tuple(_PERIODS)), default="all", help="Since ever, or today (UTC)."
)
@click.option("--by", type=click.Choice(tuple(REST)), help="One row for each; they sum to the net.")
@answers
def savings(context: Context, *, scope: str, by: str | None) -> Shown:
    """Show tokens kept out of models, what OSIRIS cost, and the net of both.

    Net is what receipts prove less all overhead; it may be negative. Declared and estimated
    amounts stand beside it, never in it. Counted on the o200k ruler; a provider's own tokens are a
    band, calibrated from declared usage, and its low end is what may be claimed.
    """
    today = ledger.day_of(time.time_ns() // 1_000_000)
    asked = {"scope": f"day/{today}" if scope == "day" else "all"}
    found = context.read("savings", asked if by is None else {**asked, "by": by})
    is_balanced = found["balance"] == 0
    answer = {"scope": scope, **({} if by is None else {"by": by}), **found}
    return Shown(
        answer,
        lambda at: _text(answer) if by is None else _rows(answer, by, at),
        exit=Exit.OK if is_balanced else Exit.WRONG,
    )


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
    return f"{_head(said)}\n\n{amounts(rows)}\n\n{_provider(said)}{_wrong(said)}"


def _provider(said: Mapping[str, Any]) -> str:
    """Return the net in the tokens of providers, the careful end first."""
    found = said["factor"]
    ends = sorted((round(said["net"] * found["low"]), round(said["net"] * found["high"])))
    seen = f" on {many(found['observations'], 'request')}" if found["how"] == "measured" else ""
    band = f"x{found['low']:.2f} to x{found['high']:.2f}, {found['how']}{seen}"
    return f"in provider tokens {ends[0]:,} to {ends[1]:,} ({band})"


def _rows(said: Mapping[str, Any], by: str, screen: Screen) -> str:
    """Return the rows, the days newest first; beyond SHOWN they are one row."""
    found: list[Mapping[str, Any]] = said["rows"][::-1] if by == "day" else said["rows"]
    shown, others = found[:SHOWN], found[SHOWN:]
    lines = [_line(row["name"], row, str(row["what"])) for row in shown]
    if others:
        lines.append(_line(f"{len(others):,} more", _sum(others), "all of them: --json"))
    lines.append(_line("all", said, ""))
    heads = (by, "kept out>", "overhead>", "net>", "declared>", "estimated>", "")
    return f"{_head(said)}\n\n{table(heads, lines, screen)}{_wrong(said)}"


def _line(name: str, row: Mapping[str, Any], what: str) -> tuple[object, ...]:
    kept = row["kept_out"]
    overhead = sum(row["overhead"].values())
    return (
        name,
        kept.get("receipt", 0),
        -overhead,
        row["net"],
        kept.get("declared", 0),
        kept.get("estimated", 0),
        what,
    )


def _sum(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    kept = {p: sum(row["kept_out"].get(p, 0) for row in rows) for p in ledger.PROOFS}
    overhead = sum(sum(row["overhead"].values()) for row in rows)
    return {
        "kept_out": kept,
        "overhead": {"": overhead},
        "net": sum(row["net"] for row in rows),
    }


def _head(said: Mapping[str, Any]) -> str:
    calls = f", {many(said['calls'], 'call')}" if said["calls"] else ""
    return f"Tokens {_PERIODS[said['scope']]}{calls}"


def _wrong(said: Mapping[str, Any]) -> str:
    return f"\nTHE ACCOUNTS DO NOT BALANCE: {said['balance']:,}" if said["balance"] else ""
