"""What a store holds against what its clients were told.

Rule 1: it reads the stored records itself; nothing that served the clients takes part.
Rule 2: lost = acknowledged and not exactly in its task's stream. Duplicated = any trace, answered
        or not, that is there more than once in the whole store.
Rule 3: chain_ok = every checksum, chain and payload fits, and OSIRIS's own audit agrees.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.crash_load import Trace
from osiris import owner
from osiris.core import events as ev
from osiris.home import Home
from osiris_actors.store.contract import StoreDamaged, StoreUnavailable
from osiris_actors.store.lmdb import LmdbBackend

PAGE = 1_000

Stored = Counter[tuple[str, Trace]]


class Told(msgspec.Struct, frozen=True):
    """What one agent knows: its task's stream, what was acknowledged, what may be there."""

    stream: str
    acked: tuple[Trace, ...]
    unknown: tuple[Trace, ...]


class Verdict(msgspec.Struct, frozen=True):
    acked: int
    acked_lost: int
    duplicated: int
    unacked_stored: int


class Found(msgspec.Struct, frozen=True):
    """What a home holds: traces by stream, records that are not as written, the audit's own words.

    `audit` is what `osiris audit --json` prints; empty when the store cannot be opened.
    """

    stored: Stored
    damage: tuple[str, ...]
    audit: dict[str, Any]

    @property
    def chain_ok(self) -> bool:
        return not self.damage and bool(self.audit.get("ok"))


def judge(told: Iterable[Told], stored: Stored) -> Verdict:
    """Compare; `stored` counts traces by stream."""
    agents = tuple(told)
    anywhere: Counter[Trace] = Counter()
    for (_, trace), times in stored.items():
        anywhere[trace] += times
    acked = {(agent.stream, trace) for agent in agents for trace in agent.acked}
    unknown = {(agent.stream, trace) for agent in agents for trace in agent.unknown}
    return Verdict(
        acked=len(acked),
        acked_lost=sum(place not in stored for place in acked),
        duplicated=sum(times > 1 for times in anywhere.values()),
        unacked_stored=sum(place in stored for place in unknown - acked),
    )


def inspect(home: Home) -> Found:
    """Read and check every record of a home that has no owner."""
    try:
        backend = LmdbBackend(Path(home.store_dir), read_only=True)
    except (StoreDamaged, StoreUnavailable) as error:
        return Found(Counter(), (str(error),), {})
    try:
        damage = [f"{item.record}: {item.why}" for item in backend.verify(deep=True).damage]
        stored = Counter(_stored(backend, damage))
    finally:
        backend.close()
    audit, _ = owner.ask_offline(home, "audit", {})
    return Found(stored, tuple(damage), audit)


def _stored(backend: LmdbBackend, damage: list[str]) -> Iterator[tuple[str, Trace]]:
    """Yield every trace with its stream; a stream that cannot be read on is noted as damage."""
    for stream in backend.streams(""):
        try:
            for event in _history(backend, stream):
                yield from ((stream, trace) for trace in _traces(event))
        except StoreDamaged as error:
            damage.append(str(error))


def _history(backend: LmdbBackend, stream: str) -> Iterator[ev.Event]:
    after = 0
    while page := backend.history(stream, after, PAGE):
        for _, raw in page:
            yield ev.decode(raw).event
        after = page[-1][0]


def _traces(event: ev.Event) -> tuple[Trace, ...]:
    """Return the trace that `event` is, if it is one."""
    kind = type(event).__name__
    match event:
        case ev.TaskStarted(objective=text) | ev.Noted(text=text):
            return (Trace(kind, text),)
        case ev.ActionObserved(call=call, ref=ref):
            return (Trace(kind, f"{call} {ref}"),)
        case ev.PlanSet(steps=steps):
            return tuple(Trace(kind, step) for step in steps if step.startswith("agent "))
        case _:
            return ()
