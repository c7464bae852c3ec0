"""The reading half of an engine that keeps tables of records.

An engine adds `view`, `commit_batch` and `close`; what the bytes mean is the same for all.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from osiris_actors.store import reads, records
from osiris_actors.store.contract import (
    Damage,
    Duplicate,
    Event,
    Head,
    Outcome,
    Put,
    Read,
    StoreDamaged,
    Unit,
    Verified,
)
from osiris_actors.store.reads import View, bodies
from osiris_actors.store.verify import verify


class RecordBackend(ABC):
    """Reads of the contract, each in its own view."""

    store_id: str

    @abstractmethod
    def view(self) -> AbstractContextManager[View]:
        """Return one consistent moment; it ends with the block and never crosses an await."""

    @abstractmethod
    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]: ...

    @abstractmethod
    def close(self) -> None: ...

    def head(self, stream: str) -> Head:
        with self.view() as view:
            return reads.head(bodies(view), records.stream_key(stream))

    def read(self, stream: str, after: int = 0) -> Read:
        with self.view() as view:
            return reads.read(bodies(view), records.stream_key(stream), after)

    def history(self, stream: str, after: int, limit: int) -> tuple[Event, ...]:
        with self.view() as view:
            return reads.history(bodies(view), records.stream_key(stream), after, limit)

    def lookup(self, key: str) -> Duplicate | None:
        with self.view() as view:
            return reads.command(bodies(view), key)

    def counters(self, prefix: str) -> dict[str, int]:
        with self.view() as view:
            return reads.counters(view, prefix)

    def fence(self, contract: str) -> int:
        with self.view() as view:
            return reads.number(bodies(view), "fences", records.name_key(contract))

    def index(self, prefix: str, *, after: str = "", limit: int = 1000) -> tuple[Put, ...]:
        with self.view() as view:
            return reads.index(view, prefix, after, limit)

    def get_index(self, key: str) -> bytes | None:
        with self.view() as view:
            return bodies(view)("index", records.name_key(key))

    def streams(self, prefix: str) -> tuple[str, ...]:
        with self.view() as view:
            return reads.streams(view, prefix)

    def has_blob(self, sha256: str) -> bool:
        return self.blob_size(sha256) is not None

    def blob_size(self, sha256: str) -> int | None:
        with self.view() as view:
            row = reads.blob_row(bodies(view), records.blob_key(sha256))
        return None if row is None else row.size

    def get_blob(self, sha256: str) -> bytes | None:
        with self.view() as view:
            return reads.blob(bodies(view), records.blob_key(sha256))

    def verify(self, *, deep: bool) -> Verified:
        try:
            with self.view() as view:
                return verify(view, deep=deep)
        except StoreDamaged as damage:  # the tables themselves cannot be walked
            return Verified(0, 0, 0, 0, (Damage(damage.record, damage.why),))
