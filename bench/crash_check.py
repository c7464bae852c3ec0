"""What a store holds against what its clients were told.

Rule 1: it reads the stored records itself; nothing that served the clients takes part.
Rule 2: lost = acknowledged, and a trace of it is not in its task's stream. Duplicated = answered
        or not, and a trace of it is there more than once in the whole store.
Rule 3: chain_ok = every checksum, chain and payload fits, and OSIRIS's own audit agrees.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from bench.crash_load import Trace, Traces
from osiris import offline
from osiris.core import events as ev
from osiris.home import Home
from osiris_actors.store.contract import StoreDamaged, StoreUnavailable
from osiris_actors.store.lmdb import LmdbBackend

PAGE = 1_000

Stored = Counter[tuple[str, Trace]]


class Told(msgspec.Struct, frozen=True):
    """What one agent knows: its task's stream, calls acknowledged, calls that may be there."""

    stream: str
    acked: tuple[Traces, ...]
    unknown: tuple[Traces, ...]


class Verdict(msgspec.Struct, frozen=True):
    """Numbers of calls."""

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
    histories: dict[str, list[ev.Stamped]] = {}

    @property
    def chain_ok(self) -> bool:
        return not self.damage and bool(self.audit.get("ok"))


def judge(told: Iterable[Told], stored: Stored) -> Verdict:
    """Compare what agents know with what is stored."""
    anywhere: Counter[Trace] = Counter()
    for (_, trace), times in stored.items():
        anywhere[trace] += times
    agents = tuple(told)
    acked = [(agent.stream, traces) for agent in agents for traces in agent.acked]
    unknown = [(agent.stream, traces) for agent in agents for traces in agent.unknown]
    return Verdict(
        acked=len(acked),
        acked_lost=sum(not _is_stored(call, stored) for call in acked),
        duplicated=sum(any(anywhere[t] > 1 for t in traces) for _, traces in acked + unknown),
        unacked_stored=sum(_is_stored(call, stored) for call in unknown),
    )


def _is_stored(call: tuple[str, Traces], stored: Stored) -> bool:
    stream, traces = call
    return all((stream, trace) in stored for trace in traces)


def inspect(home: Home) -> Found:
    """Read and check every record of a home that has no owner."""
    try:
        backend = LmdbBackend(Path(home.store_dir), read_only=True)
    except (StoreDamaged, StoreUnavailable) as error:
        return Found(Counter(), (str(error),), {})
    try:
        damage = [f"{item.record}: {item.why}" for item in backend.verify(deep=True).damage]
        histories: dict[str, list[ev.Stamped]] = {}
        stored = Counter(_stored(backend, damage, histories))
    finally:
        backend.close()
    audit, _ = offline.ask(home, "audit", {})
    return Found(stored, tuple(damage), audit, histories)


def _stored(
    backend: LmdbBackend, damage: list[str], histories: dict[str, list[ev.Stamped]]
) -> Iterator[tuple[str, Trace]]:
    """Yield each text of each event, keeping the events; note as damage what cannot be read."""
    for stream in backend.streams(""):
        events = histories.setdefault(stream, [])
        try:
            for stamped in _history(backend, stream):
                events.append(stamped)
                event = stamped.event
                kind = type(event).__name__
                yield from ((stream, Trace(kind, text)) for text in _texts(event))
        except StoreDamaged as error:
            damage.append(str(error))


def _history(backend: LmdbBackend, stream: str) -> Iterator[ev.Stamped]:
    after = 0
    while page := backend.history(stream, after, PAGE):
        for _, raw in page:
            yield ev.decode(raw)
        after = page[-1][0]


def _texts(value: object) -> Iterator[str]:
    """Yield every string in an event, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _texts(getattr(value, name))
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[object]", value):
            yield from _texts(item)
