"""The counters that events alone decide, so that a store can be checked and mended against them.

| counter | changes with | what for |
|---|---|---|
| ledger/all#ACCOUNT | Charged, KeptOut | the accounts, in double entry |
| ledger/day/DAY/AGENT/TASK#ACCOUNT | Charged, KeptOut | the same by day, agent, task and source |
| cache/CELL/alive, dead | UsageDeclared | what requests found of their cached prefix |
| factor/MODEL/BUCKET | UsageDeclared | provider tokens for a token of the ruler |
"""

from collections.abc import Iterable, Iterator

from osiris.core import cache_model, factor, ledger
from osiris.core import events as ev

PREFIXES = ("ledger/", cache_model.COUNTERS, factor.COUNTERS)


def deltas(stream: str, events: Iterable[ev.Stamped]) -> dict[str, int]:
    """Return the counter changes of a stream's events."""
    totals: dict[str, int] = {}
    for each in events:
        for name, amount in ledger.moves(stream, each):
            totals[name] = totals.get(name, 0) + amount
        if isinstance(each.event, ev.UsageDeclared):
            for name in _observed(each.event):
                totals[name] = totals.get(name, 0) + 1
    return totals


def _observed(event: ev.UsageDeclared) -> Iterator[str]:
    """Yield the counters of what one declared request showed."""
    if event.cell:
        yield cache_model.counter(event.cell, dead=event.dead)
    if event.factor:
        yield f"{factor.COUNTERS}{event.factor}"
