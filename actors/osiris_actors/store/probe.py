"""Opens a store before its owner does, so that a file that kills its reader kills this process.

`python -P -m osiris_actors.store.probe DIRECTORY FORMAT` prints one line of JSON: {"damage":
[[table, key in hex, why], ...], "read", "of"}, or {"unavailable": why}. FORMAT is the body, in hex,
of the format record that its parent knows; of a store with another one nothing is said.

Rule 1: it goes through the keys of every table, and so through every page of the trees, and reads
        an even sample of records; all of them when there are few. It ends after SECONDS.
Rule 2: it changes nothing and knows the checksums alone; chains are checked where they are read.
Rule 3: it imports the engine and the standard library: 15 ms of processor time, against 60 ms with
        the store's own modules.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import lmdb

from osiris_actors.store.checksum import CHECKSUM_BYTES, TABLES, Table, matches

if TYPE_CHECKING:
    from lmdb import _Database  # pyright: ignore[reportPrivateUsage]  it has no public name

SECONDS = 2.0
SAMPLE_RECORDS = 2_000  # of each table
SAMPLE_BYTES = 16 * 1024 * 1024  # of all together
MOST_DAMAGE = 100
_LOOK_EVERY = 1_024
_DAMAGED = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.VersionMismatchError,
)


def look(directory: str, known: bytes, seconds: float = SECONDS) -> dict[str, Any]:
    """Return what was read, out of how many records, and what is wrong."""
    try:
        with lmdb.Environment(
            directory,
            readonly=True,
            create=False,
            max_dbs=2 * len(TABLES),
            max_readers=1024,
            lib_version=0,
        ) as env:
            return _Look(env, time.monotonic() + seconds).run(known)
    except _DAMAGED as error:
        return {"damage": [["", "", str(error)]], "read": 0, "of": 0}
    except lmdb.Error as error:
        return {"unavailable": str(error)}


class _Look:
    def __init__(self, env: lmdb.Environment, deadline: float) -> None:
        self._env = env
        self._deadline = deadline
        self._damage: list[tuple[str, str, str]] = []
        self._read = self._of = 0
        self._bytes_left = SAMPLE_BYTES

    def run(self, known: bytes) -> dict[str, Any]:
        names = {name.decode() for name in self._env.dbs()}
        dbs: dict[Table, _Database] = {
            table: self._env.open_db(table.encode(), create=False)
            for table in TABLES
            if table in names
        }
        with self._env.begin() as txn:
            if "meta" in dbs and not _is_known(txn.get(b"format", db=dbs["meta"]), known):
                return {"damage": [], "read": 0, "of": 0}
            samples = {table: self._walk(txn, db) for table, db in dbs.items()}
            for table, db in dbs.items():
                self._compare(txn, table, db, samples[table])
        damage = self._damage[:MOST_DAMAGE]
        return {"damage": damage, "read": self._read, "of": self._of}

    def _walk(self, txn: "lmdb.Transaction[bytes]", db: "_Database") -> tuple[bytes, ...]:
        """Go through all keys; return an even sample of them."""
        entries = txn.stat(db)["entries"]
        self._of += entries
        step = max(1, entries // SAMPLE_RECORDS)
        with txn.cursor(db) as cursor:
            keys = cursor.iternext(keys=True, values=False)
            return tuple(key for place, key in self._in_time(keys) if place % step == 0)

    def _in_time(self, keys: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
        for place, key in enumerate(keys):
            if place % _LOOK_EVERY == 0 and time.monotonic() > self._deadline:
                return
            yield place, key

    def _compare(
        self, txn: "lmdb.Transaction[bytes]", table: Table, db: "_Database", keys: tuple[bytes, ...]
    ) -> None:
        for _, key in self._in_time(iter(keys)):
            stored = txn.get(key, db=db)
            if stored is None or not matches(table, key, stored):
                self._damage.append((table, key.hex(), "does not match its checksum"))
            self._read += 1
            self._bytes_left -= len(stored or b"")
            if self._bytes_left < 0:
                return


def _is_known(stored: bytes | None, known: bytes) -> bool:
    return stored is not None and stored[CHECKSUM_BYTES:] == known


def main() -> int:
    leave_no_core()
    print(json.dumps(look(sys.argv[1], bytes.fromhex(sys.argv[2]))))  # noqa: T201  its parent reads it
    return 0


def leave_no_core() -> None:
    """Let the end of this process write no file."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415  not there on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main())
