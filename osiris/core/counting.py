"""The counters that events alone decide, so that a store can be checked and mended against them.

| counter | changes with | what for |
|---|---|---|
| ledger/all#ACCOUNT | Charged, KeptOut | the accounts, in double entry |
| ledger/day/DAY/AGENT/TASK#ACCOUNT | Charged, KeptOut | the same by day, agent, task and source |
| cache/CELL/alive, dead | UsageDeclared | what requests found of their cached prefix |
"""

from collections.abc import Iterable

from osiris.core import cache_model, ledger
from osiris.core import events as ev

PREFIXES = ("ledger/", "cache/")


def deltas(stream: str, events: Iterable[ev.Stamped]) -> dict[str, int]:
    """Return the counter changes of a stream's events."""
    stamped = tuple(events)
    totals = ledger.deltas(stream, stamped)
    for each in stamped:
        if isinstance(each.event, ev.UsageDeclared) and each.event.cell:
            name = cache_model.counter(each.event.cell, dead=each.event.dead)
            totals[name] = totals.get(name, 0) + 1
    return totals
