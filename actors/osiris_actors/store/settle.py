"""Decides a batch of units against the state they would find, without writing anything.

Rule 1: a unit sees what the units before it in the batch would have written.
Rule 2: a unit that is refused, or that cannot be written at all (poison), leaves no trace.
Rule 3: nothing here is durable: the outcomes hold only once `records` are committed.
"""

from collections.abc import Callable, Iterable

from osiris_actors.store import blobs, reads, records
from osiris_actors.store.checksum import Table
from osiris_actors.store.contract import (
    Append,
    Bump,
    Committed,
    Conflict,
    Duplicate,
    Failed,
    Fenced,
    Head,
    Outcome,
    StoreDamaged,
    Unit,
)
from osiris_actors.store.reads import Lookup
from osiris_actors.store.records import Snapshot

Records = dict[tuple[Table, bytes], bytes | None]

# what encoding and checking raise on input that can never be stored
_POISON = (TypeError, ValueError, OverflowError, AttributeError, LookupError, StoreDamaged)


class Draft:
    """Record bodies to be written, read through to what lies below; None removes a record."""

    __slots__ = ("below", "records")

    def __init__(self, below: Lookup) -> None:
        self.below = below
        self.records: Records = {}

    def get(self, table: Table, key: bytes, /) -> bytes | None:
        place = (table, key)
        if place in self.records:
            return self.records[place]
        return self.below(table, key)

    def put(self, table: Table, key: bytes, body: bytes | None) -> None:
        if body is not None and not isinstance(body, bytes):  # pyright: ignore[reportUnnecessaryIsInstance] - poison
            raise TypeError(f"{table} stores bytes, not {type(body).__name__}")
        self.records[table, key] = body


def settle(units: Iterable[Unit], lookup: Lookup) -> tuple[tuple[Outcome, ...], Records]:
    """Return one outcome per unit and the record bodies that make the outcomes true."""
    batch = Draft(lookup)
    outcomes = tuple(_settle_one(unit, batch) for unit in units)
    return outcomes, batch.records


def _settle_one(unit: Unit, batch: Draft) -> Outcome:
    draft = Draft(batch.get if batch.records else batch.below)
    try:
        outcome = _apply(unit, draft)
    except _POISON as error:
        return Failed(f"{type(error).__name__}: {error}")
    if isinstance(outcome, Committed):
        batch.records.update(draft.records)
    return outcome


def _apply(unit: Unit, draft: Draft) -> Outcome:
    for step in _STEPS:
        refusal = step(unit, draft)
        if refusal is not None:
            return refusal
    _put_index(unit, draft)
    _store_blobs(unit, draft)
    versions = {a.stream: a.expected + len(a.events) for a in unit.appends}
    return Committed(versions)


def _take_key(unit: Unit, draft: Draft) -> Duplicate | None:
    if unit.key is None:
        return None
    known = reads.command(draft.get, unit.key.name)
    if known is not None:
        return known
    answer = Duplicate(unit.key.content, unit.reply, unit.key.at_ms)
    draft.put("keys", records.name_key(unit.key.name), records.encode(answer))
    return None


def _append_all(unit: Unit, draft: Draft) -> Conflict | None:
    for append in unit.appends:
        stream = records.stream_key(append.stream)
        head = reads.head(draft.get, stream)
        if head.version != append.expected:
            return Conflict(append.stream, head.version)
        _append(append, stream, head, draft)
    return None


def _append(append: Append, stream: bytes, head: Head, draft: Draft) -> None:
    version, chain = head.version, head.chain
    for event in append.events:
        version += 1
        chain = records.chain(chain, stream, version, event)
        draft.put("events", records.event_key(stream, version), chain + event)
    if append.snapshot is not None:
        snapshot = Snapshot(version, chain, append.snapshot)
        draft.put("snaps", stream, records.encode(snapshot))
        draft.put("heads", stream, records.encode(Head(version, chain)))
    elif append.events:
        events = head.events_since_snapshot + len(append.events)
        size = head.bytes_since_snapshot + sum(map(len, append.events))
        draft.put("heads", stream, records.encode(Head(version, chain, events, size)))


def _hold_guards(unit: Unit, draft: Draft) -> Fenced | None:
    return _first_fenced(draft, ((g.contract, g.value) for g in unit.guards))


def _raise_fences(unit: Unit, draft: Draft) -> Fenced | None:
    for bump in unit.bumps:
        fenced = _first_fenced(draft, ((bump.contract, bump.value - 1),))
        if fenced is not None:
            return fenced
        _raise(bump, draft)
    return None


def _raise(bump: Bump, draft: Draft) -> None:
    draft.put("fences", records.name_key(bump.contract), records.encode(bump.value))


def _first_fenced(draft: Draft, held: Iterable[tuple[str, int]]) -> Fenced | None:
    for contract, value in held:
        actual = reads.number(draft.get, "fences", records.name_key(contract))
        if actual != value:
            return Fenced(contract, actual)
    return None


def _add_deltas(unit: Unit, draft: Draft) -> Conflict | None:
    pages: dict[bytes, dict[str, int]] = {}
    for delta in unit.deltas:
        key, place = records.counter_place(delta.counter)
        if key not in pages:
            pages[key] = _page(draft, key, is_whole=not place)
        now = pages[key].get(place, 0)
        then = now + delta.amount
        if delta.ceiling is not None and delta.amount >= 0 and then > delta.ceiling:
            return Conflict(delta.counter, now, is_counter=True)
        pages[key][place] = then
    for key, page in pages.items():
        draft.put("counters", key, records.encode(page.get("", page)))
    return None


def _page(draft: Draft, key: bytes, *, is_whole: bool) -> dict[str, int]:
    """Return the counters of a record by their place; one that stands alone has none."""
    if is_whole:
        return {"": reads.number(draft.get, "counters", key)}
    return reads.page(draft.get, key)


_STEPS: tuple[Callable[[Unit, Draft], Outcome | None], ...] = (
    _take_key,
    _append_all,
    _hold_guards,
    _raise_fences,
    _add_deltas,
)


def _put_index(unit: Unit, draft: Draft) -> None:
    for put in unit.puts:
        draft.put("index", records.name_key(put.key), put.value)


def _store_blobs(unit: Unit, draft: Draft) -> None:
    for blob in unit.blobs:
        key = records.blob_key(blob.sha256)
        if draft.get("blobs", key) is not None:
            continue
        blobs.check(blob)
        for number, chunk in enumerate(blob.chunks):
            draft.put("chunks", records.chunk_key(key, number), chunk)
        row = records.BlobRow(blob.size, blob.codec, len(blob.chunks))
        draft.put("blobs", key, records.encode(row))
