"""Looks at every record of a view and names what is wrong.

Rule 1: one flipped bit is one damage, at the record it is in: what follows it is judged by what
        stands stored there, not by what the damaged record should have been.
Rule 2: missing is damage too: events up to the head, snapshots a head names, chunks of a blob,
        records that a table counts and does not list.
Rule 3: deep also unpacks every blob and compares it with its name.
"""

from osiris_actors.store import reads, records
from osiris_actors.store.checksum import TABLES, Table
from osiris_actors.store.contract import Damage, Head, StoreDamaged, Verified
from osiris_actors.store.reads import View
from osiris_actors.store.records import CHAIN_BYTES, GENESIS


def verify(view: View, *, deep: bool) -> Verified:
    """Check all records, all chains from event 1, all heads, snapshots and blobs."""
    report = _Report(view)
    counts = {table: _table(report, table) for table in TABLES}
    _streams(report)
    for key, _ in view.scan("blobs"):
        _blob(report, key, deep=deep)
    _chunk_owners(report)
    return Verified(
        streams=counts["heads"],
        events=counts["events"],
        blobs=counts["blobs"],
        records=sum(counts.values()),
        damage=report.damage(),
    )


class _Report:
    """What was found; the first word on a record stands."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._found: dict[str, str] = {}

    def add(self, table: Table, key: bytes, why: str) -> None:
        self.note(records.record_name(table, key), why)

    def note(self, record: str, why: str) -> None:
        self._found.setdefault(record, why)

    def body(self, table: Table, key: bytes) -> bytes | None:
        """Return the checked body, None when it is missing or damaged, which is noted."""
        stored = self.view.get(table, key)
        if stored is None:
            self.add(table, key, "missing")
            return None
        return self.checked(table, key, stored)

    def checked(self, table: Table, key: bytes, stored: bytes) -> bytes | None:
        try:
            return records.checked(table, key, stored)
        except StoreDamaged as damage:
            self.note(damage.record, damage.why)
            return None

    def damage(self) -> tuple[Damage, ...]:
        return tuple(Damage(record, why) for record, why in self._found.items())


def _table(report: _Report, table: Table) -> int:
    """Check every checksum of a table and return how many records it lists."""
    listed = 0
    for key, stored in report.view.scan(table):
        listed += 1
        report.checked(table, key, stored)
    counted = report.view.entries(table)
    if listed != counted:
        report.note(f"table {table}", f"lists {listed} of {counted} records")
    return listed


def _streams(report: _Report) -> None:
    heads: dict[bytes, Head] = {}
    for key, stored in report.view.scan("heads"):
        body = report.checked("heads", key, stored)
        if body is not None:
            heads[key] = records.head_decoder.decode(body)
    lasts = _last_versions(report)
    for stream in sorted({*heads, *lasts}):
        _stream(report, stream, heads.get(stream), lasts.get(stream, 0))


def _last_versions(report: _Report) -> dict[bytes, int]:
    """Return the highest sound event of each stream."""
    lasts: dict[bytes, int] = {}
    for key, stored in report.view.scan("events"):
        if report.checked("events", key, stored) is not None:
            stream, version = records.split_event_key(key)
            lasts[stream] = version
    return lasts


def _stream(report: _Report, stream: bytes, head: Head | None, last: int) -> None:
    if head is None:
        report.add("heads", stream, "missing")
        _chain(report, stream, last, 0, GENESIS)
        return
    if last > head.version:
        report.add("events", records.event_key(stream, last), "is above the head")
    snapshot_at = head.version - head.events_since_snapshot
    snapshot_chain = _snapshot_chain(report, stream, snapshot_at)
    upto = min(head.version, last + 1)
    chain = _chain(report, stream, upto, snapshot_at, snapshot_chain)
    if upto == head.version and chain not in {None, head.chain}:
        report.add("heads", stream, "is not the end of the chain")


def _snapshot_chain(report: _Report, stream: bytes, version: int) -> bytes | None:
    """Return the chain the newest snapshot stands on, None when there is no sound one."""
    if version == 0:
        return None
    body = report.body("snaps", stream)
    if body is None:
        return None
    snapshot = records.snapshot_decoder.decode(body)
    if snapshot.version != version:
        report.add("snaps", stream, f"is of version {snapshot.version}, not {version}")
        return None
    return snapshot.chain


def _chain(
    report: _Report, stream: bytes, upto: int, snapshot_at: int, snapshot_chain: bytes | None
) -> bytes | None:
    """Follow the chain from event 1 and return where it ends, None if that is damaged."""
    chain: bytes | None = GENESIS
    for version in range(1, upto + 1):
        key = records.event_key(stream, version)
        body = report.body("events", key)
        if body is None:
            chain = None
            continue
        stored, event = body[:CHAIN_BYTES], body[CHAIN_BYTES:]
        if chain is not None and records.chain(chain, stream, version, event) != stored:
            report.add("events", key, "breaks the chain")
        chain = stored
        if version == snapshot_at and snapshot_chain not in {None, chain}:
            report.add("snaps", stream, "is not on the chain")
    return chain


def _blob(report: _Report, key: bytes, *, deep: bool) -> None:
    body = report.body("blobs", key)
    if body is None:
        return
    row = records.blob_decoder.decode(body)
    missing = [number for number in range(row.chunks) if not _has_chunk(report, key, number)]
    if deep and not missing:
        try:
            reads.blob(reads.bodies(report.view), key)
        except StoreDamaged as damage:
            report.note(damage.record, damage.why)


def _has_chunk(report: _Report, key: bytes, number: int) -> bool:
    place = records.chunk_key(key, number)
    there = report.view.get("chunks", place) is not None
    if not there:
        report.add("chunks", place, "missing")
    return there


def _chunk_owners(report: _Report) -> None:
    for key, _ in report.view.scan("chunks"):
        blob, _ = records.split_chunk_key(key)
        if report.view.get("blobs", blob) is None:
            report.add("chunks", key, "belongs to no blob")
