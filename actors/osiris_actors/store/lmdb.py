"""The store on disk: LMDB with its default flags, one environment per process.

Rule 1: a write transaction begins and ends inside `commit_batch`, on the caller's thread; a read
        transaction inside one read.
Rule 2: a commit that returned is on the disk.
Rule 3: what fails before the commit stored nothing, and each unit is tried once on its own. What
        fails in the commit is Full when no room was the reason, else Unknown.
Rule 4: after a panic of the engine nothing is written until the store is opened again.
Rule 5: the map is large and never grows; dead readers are cleared at open, every
        READER_CHECK_BATCHES batches, and when no reader slot is left.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import lmdb

from osiris_actors.store import datafile, identity, lmdb_env, room
from osiris_actors.store.backend import RecordBackend
from osiris_actors.store.checksum import TABLES, Table
from osiris_actors.store.contract import (
    RESTORE,
    Failed,
    Full,
    Outcome,
    StoreUnavailable,
    Unit,
    Unknown,
)
from osiris_actors.store.reads import bodies
from osiris_actors.store.settle import settle

if TYPE_CHECKING:
    # the type of a table's handle has no public name
    from lmdb import _Database  # pyright: ignore[reportPrivateUsage]

MAP_BYTES = (8 if sys.platform == "win32" else 64) * 1024**3
MAX_READERS = 1024
READER_CHECK_BATCHES = 256


def _new_id() -> str:
    return os.urandom(16).hex()


class LmdbBackend(RecordBackend):
    """The store in `directory`, which is created with mode 0700 where it is missing.

    `new_id` gives a new store its id, 32 hex digits. `walks` says whether a short file is walked
    first; who opens without must be ready to die of it. `failures` counts commits that the engine
    failed, lack of room apart; `committed` is the number of the last one that it did not.
    Raises StoreDamaged, StoreTooNew and StoreUnavailable.
    """

    def __init__(
        self,
        directory: Path,
        *,
        map_bytes: int = MAP_BYTES,
        max_readers: int = MAX_READERS,
        read_only: bool = False,
        walks: bool = True,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        self._refusal = Failed("opened for reading only") if read_only else None
        self._directory = directory
        self._batches = 0
        self.failures = 0
        self.committed = 0
        try:
            if datafile.is_short(directory) and walks:
                lmdb_env.walk(directory)
            self._env = lmdb_env.environment(directory, map_bytes, max_readers, read_only=read_only)
            self._open_tables(directory, new_id)
        except lmdb.Error as error:
            raise lmdb_env.as_ours(error) from error
        except OSError as error:
            raise room.unavailable(error) from error

    def _open_tables(self, directory: Path, new_id: Callable[[], str]) -> None:
        writable = self._refusal is None
        try:
            self._env.reader_check()
            if writable and not self._env.dbs() and not datafile.is_marked(directory):
                lmdb_env.create(self._env, new_id())
            with _LmdbView(self._env, lmdb_env.tables(self._env, ("meta",))) as view:
                self.store_id = identity.known(bodies(view))
            self._dbs = lmdb_env.tables(self._env, TABLES)
            datafile.confirm(directory, self.store_id, write=writable)
        except BaseException:
            self._env.close()
            raise

    def view(self) -> "_LmdbView":
        return _LmdbView(self._env, self._dbs)

    def point(self, table: Table, key: bytes) -> bytes | None:
        try:
            with self._env.begin() as txn:
                return lmdb_env.lookup(txn, self._dbs)(table, key)
        except lmdb.ReadersFullError:
            return super().point(table, key)
        except lmdb.Error as error:
            raise lmdb_env.as_ours(error) from error

    def engine(self) -> dict[str, object]:
        """Return version, map and flags that the engine really runs with."""
        info = self._env.info()
        return {
            "version": self._env.lib_version()[:2],
            "map_bytes": info["map_size"],
            "max_readers": info["max_readers"],
            **self._env.flags(),
        }

    def readers(self) -> tuple[str, ...]:
        """Return one line for each read transaction under way in any process."""
        lines = self._env.readers().splitlines()
        return tuple(line.strip() for line in lines if line.strip()[:1].isdigit())

    def transaction(self) -> int:
        """Return the number of the last transaction that is in force."""
        return self._env.info()["last_txnid"]

    def is_panicked(self) -> bool:
        """Say whether the engine takes no more calls until it is opened again."""
        try:
            self._env.begin().abort()
        except lmdb.PanicError:
            return True
        except lmdb.Error:
            return False
        return False

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        if self._refusal is not None:
            return (self._refusal,) * len(units)
        self._batches += 1
        try:
            if self._batches % READER_CHECK_BATCHES == 0:
                self._env.reader_check()
            return self._commit(units)
        except lmdb.Error as error:
            if len(units) > 1:
                return tuple(self.commit_batch((unit,))[0] for unit in units)
            return (self._not_stored(error),)

    def _commit(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        """Run one transaction. Raises lmdb.Error only before its commit has begun."""
        txn = self._env.begin(write=True)
        try:
            outcomes, changes = settle(units, lmdb_env.lookup(txn, self._dbs))
            lmdb_env.write(txn, self._dbs, changes)
        except BaseException:
            txn.abort()
            raise
        if not changes:
            txn.abort()
            return outcomes
        number = txn.id()
        try:
            txn.commit()
        except lmdb.Error as error:
            return (self._not_committed(error, number),) * len(units)
        self.committed = number
        return outcomes

    def _not_stored(self, error: lmdb.Error) -> Full | Failed:
        if self._is_no_room(error):
            return Full(str(error))
        self.failures += 1
        if isinstance(error, lmdb.PanicError):
            self._refusal = Failed(f"{error}; open the store again")
        elif isinstance(error, lmdb_env.DAMAGE):
            self._refusal = Failed(str(error), "store_damaged", RESTORE)
        return self._refusal or Failed(str(error))

    def _not_committed(self, error: lmdb.Error, number: int) -> Full | Unknown:
        """Sort a failed commit: with no room left, and its meta page not in force, it is Full."""
        if self._is_no_room(error) and self.transaction() < number:
            return Full(str(error))
        self.failures += 1
        return Unknown(str(error))

    def _is_no_room(self, error: lmdb.Error) -> bool:
        """Say whether room was lacking; the engine calls a write that was cut short EIO."""
        was_cut = error.code == errno.EIO and room.is_out(self._directory)
        return was_cut or lmdb_env.is_no_room(error)

    def backup(self, directory: Path) -> None:
        """Write a compact copy of one moment; commits go on meanwhile."""
        try:
            self._env.copy(str(directory), compact=True)
            datafile.seal(directory, self.store_id)
        except lmdb.Error as error:
            raise lmdb_env.as_ours(error) from error
        except OSError as error:
            raise room.unavailable(error) from error

    def close(self) -> None:
        self._env.close()


class _LmdbView:
    """A read transaction as a block, or the reading side of a write transaction."""

    __slots__ = ("_dbs", "_env", "_txn")

    def __init__(
        self,
        env: lmdb.Environment,
        dbs: "Mapping[Table, _Database]",
        txn: "lmdb.Transaction[bytes] | None" = None,
    ) -> None:
        self._env = env
        self._dbs = dbs
        self._txn = txn

    def __enter__(self) -> Self:
        try:
            self._txn = self._begin()
        except lmdb.Error as error:
            raise lmdb_env.as_ours(error) from error
        return self

    def _begin(self) -> "lmdb.Transaction[bytes]":
        try:
            return self._env.begin()
        except lmdb.ReadersFullError:
            self._env.reader_check()
            return self._env.begin()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._txn is not None:
            self._txn.abort()
        self._txn = None
        if isinstance(error, lmdb.Error):
            raise lmdb_env.as_ours(error) from error

    @property
    def txn(self) -> "lmdb.Transaction[bytes]":
        if self._txn is None:
            raise StoreUnavailable("read outside its transaction")
        return self._txn

    def get(self, table: Table, key: bytes) -> bytes | None:
        return self.txn.get(key, db=self._dbs[table])

    def scan(self, table: Table, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        with self.txn.cursor(self._dbs[table]) as cursor:
            if cursor.set_range(start) if start else cursor.first():
                yield from cursor.iternext()

    def entries(self, table: Table) -> int:
        return self.txn.stat(self._dbs[table])["entries"]
