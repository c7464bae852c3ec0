"""The store on disk when processes die: readers that hold slots, an owner that is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from osiris_actors.store.contract import Committed, Outcome, Put, StoreUnavailable, Unit
from osiris_actors.store.lmdb import LmdbBackend

MAP_BYTES = 1 << 28
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def put(name: str) -> Unit:
    return Unit(puts=(Put(name, bytes(10)),))


def committed(outcome: Outcome) -> bool:
    return isinstance(outcome, Committed)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


HOLD_READERS = """
import lmdb, sys
env = lmdb.open(sys.argv[1], max_dbs=20, max_readers=4, lib_version=0)
held = [env.begin() for _ in range(4)]
print("held", flush=True)
sys.stdin.read()
"""


def script(source: str, *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", source, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def killed(process: subprocess.Popen[bytes]) -> bytes:
    """Kill a process at once and return what else it had said."""
    assert process.stdout is not None
    process.kill()
    with process:
        said = process.stdout.read()  # `communicate` would miss what `readline` has taken in
    assert process.returncode == -signal.SIGKILL
    return said


@posix
def test_reader_slots_of_a_killed_process_are_used_again(place: Path) -> None:
    backend = LmdbBackend(place, map_bytes=MAP_BYTES, max_readers=4)
    backend.commit_batch((put("a"),))
    other = script(HOLD_READERS, str(place))
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    with pytest.raises(StoreUnavailable, match="READERS_FULL"):
        backend.get_index("a")
    assert committed(backend.commit_batch((put("b"),))[0])

    killed(other)

    assert backend.get_index("a") == bytes(10)
    assert backend.readers() == ()
    backend.close()


@posix
def test_a_reader_table_full_of_dead_processes_does_not_stop_a_start(place: Path) -> None:
    LmdbBackend(place, map_bytes=MAP_BYTES, max_readers=4).close()
    other = script(HOLD_READERS, str(place))
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    killed(other)

    started = LmdbBackend(place, map_bytes=MAP_BYTES, max_readers=4)

    assert started.head("task/a").version == 0
    assert started.readers() == ()
    started.close()


COMMIT_FOR_EVER = """
import sys, trio
from pathlib import Path
from osiris_actors.env import RealEnv
from osiris_actors.store.contract import Append, Committed, Delta, Key, Unit
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.writer import Writer

async def client(store, stream):
    version = (await store.head(stream)).version
    while True:
        unit = Unit((Append(stream, version, (b"%d" % version,)),), (Delta(stream, 1),),
                    key=Key(f"{stream}@{version}", "", 0))
        assert isinstance(await store.commit(unit), Committed)
        version += 1
        print(stream, version, flush=True)

async def main():
    store = Writer(LmdbBackend(Path(sys.argv[1]), map_bytes=1 << 28), RealEnv())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.run)
        for number in range(8):
            nursery.start_soon(client, store, f"task/{number}")

trio.run(main)
"""


@posix
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(place: Path) -> None:
    acknowledged: dict[str, int] = {}
    for wanted in (50, 120, 7, 200):
        process = script(COMMIT_FOR_EVER, str(place))
        assert process.stdout is not None
        said = b"".join(process.stdout.readline() for _ in range(wanted)) + killed(process)
        for line in said.splitlines(keepends=True):
            if line.endswith(b"\n"):
                name, number = line.decode().split()
                acknowledged[name] = int(number)

    backend = LmdbBackend(place, map_bytes=MAP_BYTES)

    assert backend.verify(deep=True).damage == ()
    counters = backend.counters("task/")
    for stream, version in acknowledged.items():
        head = backend.head(stream).version
        assert head in {version, version + 1}
        assert counters[stream] == head
        assert backend.lookup(f"{stream}@{version - 1}") is not None
        events = backend.history(stream, 0, head)
        assert [event for _, event in events] == [b"%d" % number for number in range(head)]
    assert sum(acknowledged.values()) >= 377
    backend.close()
