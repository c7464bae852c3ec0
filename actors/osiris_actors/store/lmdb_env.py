"""How an LMDB environment is opened, and what its errors mean here.

Rule 1: full sync and no write map; nothing trades durability for speed.
Rule 2: the lock file's blocks are taken before the engine maps it: touching a hole of it on a full
        disk would end the process with SIGBUS.
Rule 3: a file that is shorter than its meta page says is walked before it is mapped.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import lmdb
from lmdb import verify as walker

from osiris_actors.store import datafile, identity, records
from osiris_actors.store.checksum import TABLES, Table
from osiris_actors.store.contract import StoreDamaged, StoreUnavailable
from osiris_actors.store.failures import StoreFull
from osiris_actors.store.reads import Lookup
from osiris_actors.store.room import NO_ROOM
from osiris_actors.store.settle import Records

if TYPE_CHECKING:
    # the type of a table's handle has no public name
    from lmdb import _Database  # pyright: ignore[reportPrivateUsage]

# the library types its main module only
_problems = cast("Callable[[str], list[str]]", walker.verify)  # pyright: ignore[reportUnknownMemberType]

ENGINE = 0  # LMDB 0.9; its files are not those of 1.0
DAMAGE = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.VersionMismatchError,
)
_READER_BYTES, _LOCK_HEADER_BYTES = 64, 192  # sizeof(MDB_reader), sizeof(MDB_txninfo)


def environment(
    directory: Path, map_bytes: int, max_readers: int, *, read_only: bool
) -> lmdb.Environment:
    """Open the environment. Raises lmdb.Error and OSError."""
    if not read_only:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _allocate(directory / datafile.LOCK, max_readers)
    return lmdb.Environment(
        str(directory),
        map_size=map_bytes,
        readonly=read_only,
        create=not read_only,
        mode=0o600,
        max_readers=max_readers,
        max_dbs=2 * len(TABLES),
        lib_version=ENGINE,
    )


def _allocate(lock: Path, max_readers: int) -> None:
    """Take every block of the lock file, which is made as the engine would make it."""
    if sys.platform == "win32" or not hasattr(os, "posix_fallocate"):
        return
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        size = os.fstat(handle).st_size
        wanted = (max_readers - 1) * _READER_BYTES + _LOCK_HEADER_BYTES
        os.posix_fallocate(handle, 0, size or wanted)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
    finally:
        os.close(handle)


def walk(directory: Path) -> None:
    """Raise StoreDamaged when a page that is in use is not in the file, or is not sound."""
    try:
        problems = _problems(str(directory))
    except walker.VerifyError as error:
        problems = [str(error)]
    if problems:
        raise StoreDamaged(datafile.DATA, f"is cut: {problems[0]}")


def create(env: lmdb.Environment, store_id: str) -> None:
    """Make all tables and the store's identity in one transaction."""
    with env.begin(write=True) as txn:
        dbs: dict[Table, _Database] = {
            table: env.open_db(table.encode(), txn=txn) for table in TABLES
        }
        write(txn, dbs, identity.new(store_id))


def tables(env: lmdb.Environment, names: Iterable[Table]) -> "dict[Table, _Database]":
    """Open tables. Raises StoreDamaged when one is missing."""
    return {name: _table(env, name) for name in names}


def _table(env: lmdb.Environment, name: Table) -> "_Database":
    try:
        return env.open_db(name.encode(), create=False)
    except lmdb.NotFoundError as error:
        raise StoreDamaged(f"table {name}", "missing") from error


def lookup(txn: "lmdb.Transaction[bytes]", dbs: "Mapping[Table, _Database]") -> Lookup:
    """Return the checked point reads of a transaction."""

    def found(table: Table, key: bytes) -> bytes | None:
        stored = txn.get(key, db=dbs[table])
        return None if stored is None else records.checked(table, key, stored)

    return found


def write(
    txn: "lmdb.Transaction[bytes]", dbs: "Mapping[Table, _Database]", changes: Records
) -> None:
    """Put or delete each record, checksum included."""
    for (table, key), body in changes.items():
        if body is None:
            txn.delete(key, db=dbs[table])
        else:
            txn.put(key, records.stamped(table, key, body), db=dbs[table])


def is_no_room(error: lmdb.Error) -> bool:
    return isinstance(error, lmdb.MapFullError | lmdb.DiskError) or error.code in NO_ROOM


def as_ours(error: lmdb.Error) -> StoreDamaged | StoreUnavailable:
    """Return what an error of the engine means to those who open or read."""
    if isinstance(error, DAMAGE):
        return StoreDamaged(datafile.DATA, str(error))
    return StoreFull(str(error)) if is_no_room(error) else StoreUnavailable(str(error))
