"""How the store on disk fails: typed, nothing acknowledged lost, and on again when it can."""

import errno
import sys
from pathlib import Path
from typing import Any

import lmdb
import pytest

from osiris_actors.store import blobs, records
from osiris_actors.store.contract import (
    Duplicate,
    Failed,
    Full,
    Key,
    StoreUnavailable,
    Unit,
    Unknown,
)
from osiris_actors.store.lmdb import LmdbBackend
from tests.actors.store_cases import MAP_BYTES, committed, put

posix = pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")


def test_a_full_map_fails_what_does_not_fit_and_nothing_else(place: Path) -> None:
    backend = LmdbBackend(place, map_bytes=1 << 20)
    big = Unit(blobs=(blobs.pack(random_bytes(1_500_000)),), key=Key("big", "", 0))

    first, refused, last = backend.commit_batch((put("first"), big, put("last")))

    assert committed(first)
    assert isinstance(refused, Full)
    assert committed(last)
    assert backend.lookup("big") is None
    assert [entry.key for entry in backend.index("")] == ["first", "last"]
    assert backend.verify(deep=True).damage == ()
    backend.close()


def random_bytes(size: int) -> bytes:
    """Return bytes that do not compress, the same every time."""
    return b"".join(
        records.chain(records.GENESIS, b"random", n, b"") for n in range(-(-size // 32))
    )[:size]


@posix
def test_a_full_disk_is_full_until_there_is_room_and_loses_nothing(
    backend: LmdbBackend, place: Path
) -> None:
    import resource  # noqa: PLC0415 - not there on Windows

    backend.commit_batch((put("before"),))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((place / "data.mdb").stat().st_size, hard))
    try:
        outcomes = backend.commit_batch((put("a", 200_000), put("b")))
        assert backend.get_index("before") == bytes(10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert [type(outcome) for outcome in outcomes] == [Full, Full]
    assert backend.lookup("a") is None
    assert all(map(committed, backend.commit_batch((put("a", 200_000), put("b")))))
    assert backend.verify(deep=True).damage == ()


class Engine:
    """An environment whose next `begin` or `commit` fails; all else is the real one's."""

    def __init__(self, env: lmdb.Environment) -> None:
        self.env = env
        self.on_begin: lmdb.Error | None = None
        self.on_commit: lmdb.Error | None = None
        self.stores = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def begin(self, *, write: bool = False) -> Any:
        if self.on_begin is not None:
            raise self.on_begin
        txn = self.env.begin(write=write)
        return FailingCommit(txn, self) if write else txn


class FailingCommit:
    def __init__(self, txn: Any, engine: Engine) -> None:
        self.txn = txn
        self.engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.txn, name)

    def commit(self) -> None:
        if self.engine.on_commit is None or self.engine.stores:
            self.txn.commit()
        else:
            self.txn.abort()
        if self.engine.on_commit is not None:
            raise self.engine.on_commit


def failure(kind: type[lmdb.Error], code: int) -> lmdb.Error:
    """Return an error as the engine raises it: made by hand it would have no code."""
    error = kind("made for a test")
    vars(error)["code"] = code
    return error


@pytest.fixture
def engine(backend: LmdbBackend, monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine(vars(backend)["_env"])
    monkeypatch.setattr(backend, "_env", engine)
    return engine


@pytest.mark.parametrize("stores", [False, True])
def test_a_commit_that_fails_is_unknown_until_its_key_is_looked_up(
    backend: LmdbBackend, engine: Engine, *, stores: bool
) -> None:
    engine.on_commit, engine.stores = failure(lmdb.Error, errno.EIO), stores

    outcomes = backend.commit_batch((put("a"), put("b")))

    assert [type(outcome) for outcome in outcomes] == [Unknown, Unknown]
    assert backend.lookup("a") == (Duplicate("", b"", 0) if stores else None)
    engine.on_commit = None
    assert committed(backend.commit_batch((put("c"),))[0])


@pytest.mark.parametrize(
    ("stores", "outcome"), [(False, Full), (True, Unknown)], ids=["not stored", "stored"]
)
def test_no_room_in_the_commit_is_full_only_if_nothing_was_stored(
    backend: LmdbBackend, engine: Engine, *, stores: bool, outcome: type
) -> None:
    engine.on_commit, engine.stores = failure(lmdb.DiskError, errno.ENOSPC), stores

    assert isinstance(backend.commit_batch((put("a"),))[0], outcome)


def test_after_a_panic_nothing_is_written_until_the_store_is_opened_again(
    backend: LmdbBackend, engine: Engine, place: Path
) -> None:
    engine.on_begin = failure(lmdb.PanicError, -30795)
    with pytest.raises(StoreUnavailable):
        backend.head("task/a")
    assert isinstance(backend.commit_batch((put("a"),))[0], Failed)
    engine.on_begin = None
    assert isinstance(backend.commit_batch((put("a"),))[0], Failed)
    backend.close()

    again = LmdbBackend(place, map_bytes=MAP_BYTES)

    assert committed(again.commit_batch((put("a"),))[0])
    again.close()
