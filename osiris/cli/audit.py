"""`osiris audit`: read everything back and name what is not what it was."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from osiris.cli.context import Context, accepted
from osiris.cli.exits import CommandError, Exit
from osiris.cli.layout import Screen, cell, cut, many, pairs
from osiris.cli.output import Shown, answers


@click.command()
@click.option("--task", metavar="ID", help="One task's chain and payloads alone.")
@click.option("--bundle", metavar="FILE", help="An exported file; no store is needed.")
@answers
def audit(context: Context, *, task: str | None, bundle: str | None) -> Shown:
    """Prove that nothing is lost: replay every chain, hash every payload, sum the accounts.

    Exit 1 names each damaged record and each missing payload.
    """
    found = _bundle(context, bundle) if bundle else context.read("audit", _named(task))
    is_ok = bool(found["ok"])
    return Shown(found, lambda at: _text(found, at), exit=Exit.OK if is_ok else Exit.WRONG)


def _named(task: str | None) -> dict[str, str]:
    return {"task": task} if task else {}


def _bundle(context: Context, bundle: str) -> dict[str, Any]:
    audit_bundle = context.audit_bundle
    if audit_bundle is None:
        fix = "audit the store: `osiris audit`"
        raise CommandError("not_yet", "auditing a bundle is not built yet", fix)
    return accepted(lambda: audit_bundle(Path(bundle).absolute()))[0]


def _text(said: Mapping[str, Any], screen: Screen) -> str:
    stored, verified = said["items_externalized"], said["items_verified"]
    balance = said["ledger_balance"]
    rows = [
        ("payloads", f"{verified:,} of {stored:,} verified, {said['items_missing']:,} missing"),
        ("journal", f"{many(said['events'], 'event')} in {many(said['streams'], 'stream')}"),
        *([("records", f"{said['records']:,} checked")] if said["records"] else []),
        ("redacted", _redacted(said["redacted_items"])),
        ("ledger", f"OFF BY {balance:,}" if balance else "balanced"),
        ("unclean stops", said["unclean_stops"]),
    ]
    scope = said["scope"] if said["scope"] in {"store", "bundle"} else f"task {said['scope']}"
    loss = "lossless" if said["lossless"] else "NOT LOSSLESS"
    verdict = loss if said["ok"] or not said["lossless"] else "lossless, but the accounts are off"
    lines = [f"audit of {scope}: {verdict}", pairs(rows, screen)]
    lines += _listed(
        "damaged", (f"{v['record']}: {v['why']}" for v in said["integrity_violations"]), screen
    )
    return "\n".join([*lines, *_listed("missing", said["missing"], screen)])


def _redacted(secrets: int) -> str:
    return f"{many(secrets, 'secret')}; lossless but for them" if secrets else "nothing"


def _listed(head: str, names: Iterable[str], screen: Screen) -> list[str]:
    lines = [f"  {cut(cell(name, screen), screen.columns - 2, screen)}" for name in names]
    return ["", f"{head}:", *lines] if lines else []
