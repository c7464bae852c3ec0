"""`osiris approve`: a person allows what a rule of the project forbids, in one task, for a while.

Rule 1: only from a terminal, on both ends: what an agent's shell runs has pipes there. There is no
        option around it.
Rule 2: the owner's clock decides when it is over.
"""

import getpass
import re
import sys
from pathlib import Path
from typing import Final

import click

from osiris.cli.context import Context
from osiris.cli.exits import CommandError
from osiris.cli.layout import Screen, cell, lasting
from osiris.cli.output import Shown, answers
from osiris.config import project_root

LONGEST_S: Final = 86_400
_TIME: Final = re.compile(r"(\d{1,6})([smh]?)")
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3_600}


@click.command()
@click.argument("rule")
@click.option("--task", metavar="ID", required=True, help="The task that may, and no other.")
@click.option(
    "--for", "time", metavar="TIME", default="10m", show_default=True, help="30s, 10m, 2h."
)
@answers
def approve(context: Context, *, rule: str, task: str, time: str) -> Shown:
    """Allow in one task, for a while, what a rule of this project forbids.

    RULE is its id, as the denial names it (`osiris invariants check` lists them). It works from a
    terminal only: approvals come from people. `osiris show ID` lists what is allowed now.
    """
    for_s = _seconds(time)
    if not _is_at_terminal():
        what = "approvals come from a person at a terminal"
        raise CommandError("not_a_terminal", what, "run it yourself, without pipes, in a terminal")
    asked = {"rule": rule, "task": task, "for_s": for_s, "who": _who()}
    found, _ = context.send("approve", {**asked, "root": project_root(str(Path.cwd()))})
    return Shown(found, lambda at: _allowed(found["rule"], found["task"], for_s, at))


def _allowed(rule: str, task: str, for_s: int, screen: Screen) -> str:
    return f"{cell(rule, screen)} is lifted in task {cell(task, screen)} for {lasting(for_s)}"


def _seconds(text: str) -> int:
    found = _TIME.fullmatch(text.strip().lower())
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= LONGEST_S:
        raise CommandError(
            "bad_argument", f"--for {text[:20]!r}", "write 30s, 10m or 2h, 24h at most"
        )
    return seconds


def _is_at_terminal() -> bool:
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, ValueError):  # closed, or none at all
        return False


def _who() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""
