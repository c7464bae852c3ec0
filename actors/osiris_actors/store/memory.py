"""The store in memory, for simulation: same records, same checks, faults where they are armed.

Rule 1: it is deterministic and runs where it is called.
Rule 2: `fault` is called at "commit.before", "commit.after" and "read". What it raises comes out
        of the call; at "commit.after" the batch is stored by then. `Answer` is the exception: the
        whole batch is answered with its outcome.
Rule 3: what was stored is durable: `reopen` is what a new process finds, and ends this one.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from osiris_actors.store.backend import RecordBackend
from osiris_actors.store.checksum import TABLES, Table
from osiris_actors.store.contract import Failed, Full, Outcome, StoreUnavailable, Unit, Unknown
from osiris_actors.store.reads import View, bodies
from osiris_actors.store.records import stamped
from osiris_actors.store.settle import Records, settle

Fault = Callable[[str], None]


class Answer(Exception):  # noqa: N818 - named by what happened to the caller
    """Raised by a fault hook: answer the batch with `outcome`."""

    def __init__(self, outcome: Full | Failed | Unknown) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def _no_fault(_point: str) -> None:
    pass


class _Rows:
    """One table: stored values by key, and the keys in order."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.keys: list[bytes] = []

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self.values:
            insort(self.keys, key)
        self.values[key] = value

    def remove(self, key: bytes) -> None:
        if self.values.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]

    def copy(self) -> "_Rows":
        rows = _Rows()
        rows.values = dict(self.values)
        rows.keys = list(self.keys)
        return rows


class _MemoryView:
    def __init__(self, tables: dict[Table, _Rows]) -> None:
        self._tables = tables

    def get(self, table: Table, key: bytes) -> bytes | None:
        return self._tables[table].values.get(key)

    def scan(self, table: Table, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        rows = self._tables[table]
        for key in rows.keys[bisect_left(rows.keys, start) :]:
            yield key, rows.values[key]

    def entries(self, table: Table) -> int:
        return len(self._tables[table].values)


class MemoryBackend(RecordBackend):
    """Tables in dicts."""

    def __init__(self, store_id: str = "0" * 32, *, fault: Fault = _no_fault) -> None:
        self.store_id = store_id
        self.fault = fault
        self._tables: dict[Table, _Rows] = {table: _Rows() for table in TABLES}
        self._closed = False

    def view(self) -> AbstractContextManager[View]:
        self._check_open()
        self.fault("read")
        return nullcontext(_MemoryView(self._tables))

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        try:
            return self._commit(units)
        except Answer as answer:
            return (answer.outcome,) * len(units)

    def _commit(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        self._check_open()
        self.fault("commit.before")
        outcomes, changes = settle(units, bodies(_MemoryView(self._tables)))
        self._write(changes)
        self.fault("commit.after")
        return outcomes

    def _write(self, changes: Records) -> None:
        for (table, key), body in changes.items():
            self.overwrite(table, key, None if body is None else stamped(table, key, body))

    def overwrite(self, table: Table, key: bytes, value: bytes | None) -> None:
        """Put other bytes where a record is, as a broken disk would; None removes it."""
        if value is None:
            self._tables[table].remove(key)
        else:
            self._tables[table].put(key, value)

    def reopen(self, *, fault: Fault = _no_fault) -> "MemoryBackend":
        """Return the store as the next process finds it; this one takes no more calls."""
        self.close()
        successor = type(self)(self.store_id, fault=fault)
        rows: dict[Table, _Rows] = {name: table.copy() for name, table in self._tables.items()}
        successor._tables = rows  # noqa: SLF001  it is of this class
        return successor

    def backup(self, directory: Path) -> None:
        raise StoreUnavailable(f"kept in memory: nothing to copy to {directory}")

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("closed")
