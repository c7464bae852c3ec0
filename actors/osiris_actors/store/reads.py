"""Every read, over one consistent view of the tables. Nothing is returned unchecked.

Rule 1: a read of a stream ends at its head: events that are missing are damage, not a short
        answer, and so is a stream that has events but no head.
Rule 2: a chain is followed from where it is known (the beginning, a snapshot, the event before)
        to the last event read, and at the head it must be the head's.
"""

from collections.abc import Iterator
from typing import Protocol

from osiris_actors.store import blobs, records
from osiris_actors.store.checksum import Table
from osiris_actors.store.contract import (
    Blob,
    Duplicate,
    Event,
    Head,
    Put,
    Read,
    StoreDamaged,
)
from osiris_actors.store.records import GENESIS, Snapshot


class Lookup(Protocol):
    """Point reads of record bodies, already checked."""

    def __call__(self, table: Table, key: bytes, /) -> bytes | None: ...


class View(Protocol):
    """The stored bytes of all tables at one moment."""

    def get(self, table: Table, key: bytes) -> bytes | None: ...

    def scan(self, table: Table, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield key and stored value from `start` on, in key order."""
        ...

    def entries(self, table: Table) -> int:
        """Return how many records the table says it has."""
        ...


def bodies(view: View) -> Lookup:
    """Return the checked point reads of a view."""

    def lookup(table: Table, key: bytes) -> bytes | None:
        stored = view.get(table, key)
        return None if stored is None else records.checked(table, key, stored)

    return lookup


def head(lookup: Lookup, stream: bytes) -> Head:
    body = lookup("heads", stream)
    if body is not None:
        return records.decoded(records.head_decoder, "heads", stream, body)
    if lookup("events", records.event_key(stream, 1)) is not None:
        raise StoreDamaged(records.record_name("heads", stream), "missing")
    return Head()


def read(lookup: Lookup, stream: bytes, after: int) -> Read:
    end = head(lookup, stream)
    known = end.version - end.events_since_snapshot
    if known > after:
        found = _snapshot(lookup, stream, known)
        events = _events(lookup, stream, end, (known, found.chain), end.version)
        return Read((known, found.state), events, end)
    if after >= end.version:
        return Read(None, (), end)
    start = (after, _chain_at(lookup, stream, after))
    return Read(None, _events(lookup, stream, end, start, end.version), end)


def history(lookup: Lookup, stream: bytes, after: int, limit: int) -> tuple[Event, ...]:
    end = head(lookup, stream)
    last = min(end.version, after + limit)
    if after >= last:
        return ()
    return _events(lookup, stream, end, (after, _chain_at(lookup, stream, after)), last)


def _snapshot(lookup: Lookup, stream: bytes, version: int) -> Snapshot:
    body = lookup("snaps", stream)
    if body is None:
        raise StoreDamaged(records.record_name("snaps", stream), "missing")
    found = records.decoded(records.snapshot_decoder, "snaps", stream, body)
    if found.version != version:
        name = records.record_name("snaps", stream)
        raise StoreDamaged(name, f"is of version {found.version}, the head names {version}")
    return found


def _chain_at(lookup: Lookup, stream: bytes, version: int) -> bytes:
    if version == 0:
        return GENESIS
    return _event_body(lookup, records.event_key(stream, version))[: records.CHAIN_BYTES]


def _event_body(lookup: Lookup, key: bytes) -> bytes:
    body = lookup("events", key)
    if body is None:
        raise StoreDamaged(records.record_name("events", key), "missing")
    return body


def _events(
    lookup: Lookup, stream: bytes, end: Head, start: tuple[int, bytes], last: int
) -> tuple[Event, ...]:
    """Return the events above `start` (version, chain) up to `last`, their chain followed."""
    before, chain = start
    events: list[Event] = []
    for version in range(before + 1, last + 1):
        key = records.event_key(stream, version)
        body = _event_body(lookup, key)
        event = body[records.CHAIN_BYTES :]
        chain = records.chain(chain, stream, version, event)
        if body[: records.CHAIN_BYTES] != chain:
            raise StoreDamaged(records.record_name("events", key), "breaks the chain")
        events.append((version, event))
    if last == end.version and chain != end.chain:
        raise StoreDamaged(records.record_name("heads", stream), "is not the end of the chain")
    return tuple(events)


def command(lookup: Lookup, name: str) -> Duplicate | None:
    """Return what the command key `name` was answered, None when it is not known."""
    key = records.name_key(name)
    body = lookup("keys", key)
    return None if body is None else records.decoded(records.key_decoder, "keys", key, body)


def number(lookup: Lookup, table: Table, key: bytes) -> int:
    """Return a counter or a fence, 0 when there is none."""
    body = lookup(table, key)
    return 0 if body is None else records.decoded(records.number_decoder, table, key, body)


def page(lookup: Lookup, key: bytes) -> dict[str, int]:
    """Return the counters of a page by their place in it."""
    body = lookup("counters", key)
    return {} if body is None else records.decoded(records.page_decoder, "counters", key, body)


def counters(view: View, prefix: str) -> dict[str, int]:
    start, sign, _ = prefix.partition(records.PAGE)
    found: dict[str, int] = {}
    for key, body in _under(view, "counters", (start + sign).encode()):
        name = key.decode()
        if name.endswith(records.PAGE):
            places = records.decoded(records.page_decoder, "counters", key, body)
            found |= {name + place: amount for place, amount in places.items()}
        else:
            found[name] = records.decoded(records.number_decoder, "counters", key, body)
    return {name: amount for name, amount in found.items() if name.startswith(prefix)}


def streams(view: View, prefix: str) -> tuple[str, ...]:
    return tuple(key.decode() for key, _ in _under(view, "heads", prefix.encode()))


def index(view: View, prefix: str, after: str, limit: int) -> tuple[Put, ...]:
    start = max(prefix, f"{after}\0" if after else "").encode()
    found: list[Put] = []
    for key, body in _under(view, "index", prefix.encode(), start):
        if len(found) == limit:
            break
        found.append(Put(key.decode(), body))
    return tuple(found)


def _under(
    view: View, table: Table, prefix: bytes, start: bytes = b""
) -> Iterator[tuple[bytes, bytes]]:
    for key, stored in view.scan(table, start or prefix):
        if not key.startswith(prefix):
            return
        yield key, records.checked(table, key, stored)


def blob_row(lookup: Lookup, key: bytes) -> records.BlobRow | None:
    body = lookup("blobs", key)
    return None if body is None else records.decoded(records.blob_decoder, "blobs", key, body)


def blob(lookup: Lookup, key: bytes) -> bytes | None:
    """Return the plain bytes of a blob, every chunk and the whole checked."""
    row = blob_row(lookup, key)
    if row is None:
        return None
    chunks = tuple(chunk(lookup, records.chunk_key(key, n)) for n in range(row.chunks))
    return blobs.unpack(Blob(key.hex(), row.size, row.codec, chunks))


def sound_blob(lookup: Lookup, key: bytes) -> records.BlobRow:
    """Return the row of a blob whose every byte has been checked. Raises StoreDamaged."""
    row = blob_row(lookup, key)
    if row is None or blob(lookup, key) is None:
        raise StoreDamaged(records.record_name("blobs", key), "missing")
    return row


def chunk(lookup: Lookup, key: bytes) -> bytes:
    """Return the stored bytes of one chunk."""
    body = lookup("chunks", key)
    if body is None:
        raise StoreDamaged(records.record_name("chunks", key), "missing")
    return body
