"""Rows 3, 6 and 8: a store whose process is killed, whose disk fails, whose file is cut.

`python -m bench.faults_store FOLDER COMMITS` is the process that is hurt: it opens the store as an
owner does, commits streams one after the other and prints `ack N` once N is acknowledged.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench.faults_tally import CannotMakeError, Tally
from osiris_actors.store import blobs
from osiris_actors.store.contract import (
    Append,
    Committed,
    Delta,
    Key,
    Put,
    StoreDamaged,
    StoreUnavailable,
    Unit,
)
from osiris_actors.store.opening import Place, open_store

COMMITS = 20
CALLS = "pwrite64,writev,fdatasync,fsync,rename,unlink,fallocate,ftruncate"
KILLS = {"pwrite64": 46, "writev": 18, "fdatasync": 22, "rename": 2}
FAULTS = ("fdatasync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=ENOSPC", "pwrite64:retval=7")
CUTS = 200


def event(number: int) -> bytes:
    """Return what stream `number` holds: its own number, in every one of 400 bytes."""
    return bytes([number % 251]) * 400


def unit(number: int) -> Unit:
    blob = blobs.pack(event(number) * 30)
    return Unit(
        (Append(f"task/{number}", 0, (event(number),)),),
        deltas=(Delta("commits", 1),),
        puts=(Put(f"due/{number}", event(number)),),
        blobs=(blob,),
        key=Key(f"k{number}", "", 0),
    )


def place(folder: Path) -> Place:
    return Place(folder / "store", folder / "ballast")


def main() -> int:
    folder, commits = Path(sys.argv[1]), int(sys.argv[2])
    try:
        kept = open_store(place(folder))
    except (StoreDamaged, StoreUnavailable) as error:
        print(f"closed {error}", flush=True)
        return 0
    for number in range(commits):
        (outcome,) = kept.commit_batch((unit(number),))
        word = "ack" if isinstance(outcome, Committed) else type(outcome).__name__
        print(f"{word} {number}", flush=True)
    kept.close()
    return 0


def kill_at_each_step(folder: Path, tally: Tally) -> None:
    """End the process at the Nth call of each kind that changes the disk."""
    turns = [
        (call, number) for number in range(1, max(KILLS.values()) + 1) for call in KILLS
        if number <= KILLS[call]
    ]  # fmt: skip
    for call, number in turns:
        if not tally.has_time:
            return
        acked, status, home = _hurt(folder, f"{call}:signal=KILL:when={number}")
        if status == 0:
            continue  # so many calls there are not
        tally.tries += 1
        began = time.monotonic()
        judge(home, acked, tally)
        tally.worst("longest_restart_s", time.monotonic() - began)


def fail_at_each_step(folder: Path, tally: Tally) -> None:
    """Fail the Nth call, and every call from the Nth on."""
    for number in range(2, 40, 3):
        for fault in FAULTS:
            for when in (f"{number}", f"{number}+"):
                if not tally.has_time:
                    return
                acked, status, home = _hurt(folder, f"{fault}:when={when}")
                tally.tries += 1
                tally.crashed += status != 0
                judge(home, acked, tally)


def _hurt(folder: Path, fault: str) -> tuple[list[int], int, Path]:
    """Run the process under a fault; return what it acknowledged, its status and its home."""
    strace = shutil.which("strace")
    if strace is None:
        raise CannotMakeError("strace is not there")
    home = folder / "hurt"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    options = ("-f", "-qq", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e", f"inject={fault}")
    child = (sys.executable, "-m", "bench.faults_store", str(home), str(COMMITS))
    done = subprocess.run(
        (strace, *options, *child), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    said = [line.split(" ") for line in done.stdout.decode().splitlines()]
    acked = [int(words[1]) for words in said if words[0] == "ack"]
    return acked, done.returncode, home


def judge(home: Path, acked: list[int], tally: Tally) -> None:
    """Open the store as the next owner does and look for what was acknowledged."""
    kept = open_store(place(home))
    try:
        tally.expect(f"not sound afterwards: {kept.trouble()}", holds=kept.trouble() is None)
        tally.expect("damage", holds=not kept.verify(deep=True).damage)
        for number in range(COMMITS):
            events = kept.read(f"task/{number}").events
            tally.acked_lost += number in acked and not events
            tally.silent_wrong += bool(events) and events != ((1, event(number)),)
        tally.silent_wrong += kept.counters("commits").get("commits", 0) != len(
            kept.streams("task/")
        )
    finally:
        kept.close()


def cut_and_empty(folder: Path, tally: Tally) -> None:
    """Cut the file at CUTS lengths, empty it, take it away; what opens must be whole."""
    home, whole = _sound(folder)
    data = home / "store" / "data.mdb"
    cuts = [len(whole) * step // CUTS for step in range(CUTS)]
    for size in (None, *cuts):
        if not tally.has_time:
            return
        (home / "store" / "clean").unlink(missing_ok=True)
        data.unlink(missing_ok=True)
        if size is not None:
            data.write_bytes(whole[:size])
        tally.tries += 1
        _judge_cut(home, tally)


def _sound(folder: Path) -> tuple[Path, bytes]:
    home = folder / "cut"
    home.mkdir()
    kept = open_store(place(home))
    for number in range(40):
        kept.commit_batch((unit(number),))
    kept.close()
    return home, (home / "store" / "data.mdb").read_bytes()


def _judge_cut(home: Path, tally: Tally) -> None:
    kept = open_store(place(home))
    try:
        trouble = kept.trouble()
        if trouble is not None:
            tally.expect(f"called {trouble.code}", holds=trouble.code == "store_damaged")
            (refused,) = kept.commit_batch((unit(99),))
            tally.silent_wrong += isinstance(refused, Committed)
            return
        for number in range(40):
            tally.silent_wrong += kept.read(f"task/{number}").events != ((1, event(number)),)
    finally:
        kept.close()


if __name__ == "__main__":
    sys.exit(main())
