"""The ledger as a table: one row for each day, task, tool or agent.

Rule 1: rows are sums over the cells of `ledger`, so that they add up to the headline; a row may be
        negative.
Rule 2: what belongs to no row's name has a row of its own: REST. Schemas and instructions belong
        to a session and so to no task; a plan or a precheck is about no tool's text.
Rule 3: a tool is the closed label of where a payload came from (`ledger.SOURCES`), never its name.
        A call about a payload counts for its label with all that it cost.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from osiris.core import ledger

By = Literal["day", "task", "tool", "agent"]

# row -> what is in it that has no name
REST: dict[By, str] = {
    "day": "(no day)",
    "task": "(session)",
    "tool": "(osiris)",
    "agent": "(session)",
}


class Cell(Struct, frozen=True):
    """One amount: `kept_out` by proof or `overhead` by kind, and what it belongs to."""

    day: str
    agent: str
    task: str
    tool: str
    account: str
    kind: str
    amount: int


class Row(Struct, frozen=True):
    """Tokens kept out by proof, overhead by kind, and their net; `what` says more of the name."""

    name: str
    kept_out: dict[str, int]
    overhead: dict[str, int]
    net: int
    what: str = ""


def cells(counters: Mapping[str, int]) -> Iterator[Cell]:
    """Yield the cells among counters by their whole names."""
    for name, amount in counters.items():
        page, _, account = name.partition("#")
        if page.startswith("ledger/day/") and amount:
            day, agent, task = page.split("/")[2:]
            title, _, kind = account.partition("/")
            first, _, label = kind.partition("/")
            yield Cell(day, agent, task, label, title, first, amount)


def totals(counters: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return (kept out by proof, overhead by kind) of all cells among counters."""
    return _sums(cells(counters))


def rows(counters: Mapping[str, int], by: By) -> tuple[Row, ...]:
    """Return the rows: days in order, others by their net, the best first."""
    found: dict[str, list[Cell]] = {}
    for cell in cells(counters):
        found.setdefault(_NAMES[by](cell), []).append(cell)
    made = [_row(name or REST[by], group) for name, group in found.items()]
    if by == "day":
        return tuple(sorted(made, key=lambda row: row.name))
    return tuple(sorted(made, key=lambda row: (-row.net, row.name)))


def date_of(day: str) -> str:
    """Return the date of a day as `ledger.day_of` writes it."""
    return datetime.fromtimestamp(int(day) * 86_400, UTC).strftime("%Y-%m-%d")


_NAMES: dict[By, Callable[[Cell], str]] = {
    "day": lambda cell: date_of(cell.day),
    "task": lambda cell: cell.task,
    "tool": lambda cell: cell.tool,
    "agent": lambda cell: cell.agent,
}


def _row(name: str, group: list[Cell]) -> Row:
    kept, overhead = _sums(iter(group))
    return Row(name, kept, overhead, ledger.net(kept, overhead))


def _sums(group: Iterator[Cell]) -> tuple[dict[str, int], dict[str, int]]:
    kept: dict[str, int] = dict.fromkeys(ledger.PROOFS, 0)
    overhead: dict[str, int] = {}
    for cell in group:
        account = kept if cell.account == "kept_out" else overhead
        account[cell.kind] = account.get(cell.kind, 0) + cell.amount
    return kept, overhead
