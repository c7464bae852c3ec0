"""Rows 9, 16, 17, 21, 22: clocks that jump, stale files, versions, owners stopped or forked."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import lmdb

from bench import owners
from bench.client import BridgeClient
from bench.faults_stand import SERVE, Worker, events, must_live, osiris, worker
from bench.faults_store import place, unit
from bench.faults_tally import CannotMakeError, Tally
from osiris.cli.exits import Exit
from osiris.home import Home, OwnerRecord
from osiris_actors.store import identity, records
from osiris_actors.store.contract import Committed, StoreUnavailable
from osiris_actors.store.opening import open_store

JUMPS = ("+1d", "-1d", "@1970-01-02 00:00:00", "@2038-01-20 00:00:00", "+0")
STALE_TRIES = 3
HANGS_S = 20.0
YEAR_MS = 365 * 86_400_000


def jump_the_clock(folder: Path, tally: Tally) -> None:
    """Move the owner's wall clock while it holds a handoff whose lease runs."""
    home, work = folder / "clock", folder / "work"
    work.mkdir()
    with _false_time(home, folder / "stamp") as jump, worker(home, work) as at:
        contract = _hand_over(at, home, work)
        for to in JUMPS:
            jump(to)
            at.say(f"at {to}")
            listed = at.client.must("handoff", {"op": "list", "task": at.task}).text
            tally.expect(f"at {to}: {listed}", holds=f"{contract} running" in listed)
            tally.tries += 1
        at.judge(home, tally)
        rows = list(events(home, at.task))
        versions, times = ([row[name] for row in rows] for name in ("version", "at_ms"))
        tally.expect("out of order", holds=versions == sorted(versions))
        tally.expect("the clock did not jump", holds=max(times) - min(times) > 30 * YEAR_MS)


@contextmanager
def _false_time(home: Path, stamp: Path) -> Generator[Callable[[str], object]]:
    """Run an owner whose wall clock, and nothing else, is what is written into `stamp`."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        raise CannotMakeError("libfaketime is not there")
    stamp.write_text("+0")
    environ = owners.environ_for(home) | {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(stamp),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    with subprocess.Popen(SERVE, env=environ, stderr=subprocess.DEVNULL) as process:
        try:
            must_live(home)
            yield stamp.write_text
        finally:
            process.terminate()


def _hand_over(at: Worker, home: Path, work: Path) -> str:
    """Offer a part of the work, accept it as another agent, and return the contract."""
    offer = {"op": "offer", "task": at.task, "goal": "a part of it", "to": "other"}
    contract = at.client.must("handoff", offer).pairs["contract"]
    with closing(BridgeClient(home, work)) as other:
        other.must_begin()
        other.must("handoff", {"op": "accept", "contract": contract, "agent": "other"})
    return contract


def leave_stale_files(folder: Path, tally: Tally) -> None:
    """Kill an owner and leave what a dead machine leaves, under the pid of a living stranger."""
    home = folder / "stale"
    with worker(home, folder / "work") as at:
        for number in range(STALE_TRIES):
            at.say(f"fact {number}")
            record = must_live(home)
            owners.kill(record)
            _pretend(home, record)
            began = time.monotonic()
            tally.expect("not answered", holds=at.say(f"after {number}") == "")
            tally.worst("longest_restart_s", time.monotonic() - began)
            tally.expect("the stranger", holds=must_live(home).pid not in {record.pid, os.getpid()})
            tally.tries += 1
        at.judge(home, tally)


def _pretend(home: Path, dead: OwnerRecord) -> None:
    left = Home(str(home))
    owners.until(lambda: None if left.is_owned() else True, 10, "the owner lives on")
    raw: dict[str, Any] = json.loads(dead.to_json())
    stale = raw | {"pid": os.getpid(), "boot": "another boot"}
    Path(left.record_path).write_text(json.dumps(stale))
    Path(left.lock_path).write_text(f"{os.getpid()}\n")


def meet_a_newer_version(folder: Path, tally: Tally) -> None:
    """Open a home whose store a newer format wrote: refused, said, and not touched."""
    home = folder / "newer"
    with worker(home, folder / "work") as at:
        at.say("of a newer version")
    data = home / "store" / "data.mdb"
    newer = records.stamped("meta", b"format", records.encode(identity.FORMAT + 1))
    with lmdb.open(str(data.parent), max_dbs=20, lib_version=0) as env:
        meta = env.open_db(b"meta", create=False)
        with env.begin(write=True, db=meta) as txn:
            txn.put(b"format", newer)
    before = data.read_bytes()
    for argv in (("serve",), ("put",), ("tasks",), ("verify",)):
        done = osiris(home, *argv)
        said = done.stderr.decode("utf-8", "replace")
        tally.tries += 1
        tally.crashed += done.returncode < 0 or "Traceback" in said
        tally.expect(f"{argv}: {said}", holds=done.returncode != 0 and "update OSIRIS" in said)
        tally.silent_wrong += data.read_bytes() != before


def stop_the_owner(folder: Path, tally: Tally) -> None:
    """Stop an owner as a debugger or a paused machine does; ask, and wake it."""
    home = folder / "stopped"
    with worker(home, folder / "work") as at:
        at.say("before")
        record = must_live(home)
        os.kill(record.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            refused = osiris(home, "tasks")
            took = time.monotonic() - began
        finally:
            os.kill(record.pid, signal.SIGCONT)
        said = refused.stderr.decode("utf-8", "replace")
        tally.worst("longest_answer_s", took)
        tally.expect(f"took {took:.0f} s", holds=took < HANGS_S)
        tally.expect(
            f"said {refused.returncode} {said}",
            holds=refused.returncode == Exit.NO_OWNER and f"process {record.pid}" in said,
        )
        tally.expect("not awake", holds=at.say("after") == "")
        tally.crashed += must_live(home).pid != record.pid
        at.judge(home, tally)
        tally.tries += 1


def fork_with_the_store_open(folder: Path, tally: Tally) -> None:
    """Fork a process that has the store open; the child must not read or write it."""
    if sys.platform == "win32":
        raise CannotMakeError("no fork there")
    kept = open_store(place(folder))
    kept.commit_batch((unit(0),))
    child = os.fork()
    if not child:
        status = 0
        try:
            kept.head("task/0")
            status = 1
        except StoreUnavailable:
            if isinstance(kept.commit_batch((unit(1),))[0], Committed):
                status = 2
        kept.close()
        os._exit(status)
    _, status = os.waitpid(child, 0)
    tally.tries += 1
    tally.silent_wrong += status != 0
    tally.acked_lost += kept.head("task/0").version != 1
    tally.expect("the parent cannot go on", holds=_commits(kept.commit_batch((unit(1),))))
    kept.close()


def _commits(outcomes: tuple[object, ...]) -> bool:
    return all(isinstance(outcome, Committed) for outcome in outcomes)
