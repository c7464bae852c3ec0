"""Make every fault that this machine can make: `python -m bench.faults --json`.

Real processes throughout. A row says how its fault is made, how often, and what came of it:
acknowledged things that are lost, values that are wrong without an error, processes that crashed.
Numbers are those of the table of goals: what is missing in it has benches and tests of its own.

Rule 1: exit code 1 when anything is lost, wrong or dead, or a row's own expectations did not hold.
Rule 2: a row ends when its budget is used up; all together take about 4 minutes.
Rule 3: a fault that this machine cannot make is said to be skipped, with the reason.
"""

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench import faults_clients, faults_disk, faults_process, faults_store, owners
from bench.faults_tally import Row
from bench.progress import Progress

ROWS = (
    Row(
        3,
        "kill -9 at each step that changes the disk",
        "strace ends the process at its Nth pwrite64, writev, fdatasync, rename",
        50,
        faults_store.kill_at_each_step,
    ),
    Row(
        5,
        "disk full",
        "a tmpfs of 16 to 40 MiB, filled to the last page under a working owner, then freed",
        30,
        faults_disk.fill_up,
    ),
    Row(
        6,
        "EIO, ENOSPC and short writes",
        "strace fails the Nth fdatasync or pwrite64, or all from it on, or cuts it to 7 bytes",
        45,
        faults_store.fail_at_each_step,
    ),
    Row(
        8,
        "a file that is cut, empty or gone",
        "truncated at 200 lengths, emptied, unlinked; whatever opens must be whole",
        15,
        faults_store.cut_and_empty,
    ),
    Row(
        8,
        "files taken away from a working owner",
        "lock.mdb, and then data.mdb, unlinked under it",
        25,
        faults_disk.take_away,
    ),
    Row(
        9,
        "wall clock jumps",
        "libfaketime moves the owner's wall clock by a day either way, to 1970 and 2038",
        25,
        faults_process.jump_the_clock,
    ),
    Row(
        11,
        "clients that vanish in a call",
        "connections cut at random bytes, bridges killed or hung up on",
        20,
        faults_clients.vanish,
    ),
    Row(
        12,
        "lines that are no requests",
        "half lines, garbage, batches, bad ids, deep nesting, NaN, surrogates, double keys",
        20,
        faults_clients.rubbish,
    ),
    Row(
        13,
        "a line of 100 MiB",
        "sent to the owner's socket, twice, while its memory is watched",
        20,
        faults_clients.too_long,
    ),
    Row(
        14,
        "a client that never reads",
        "it calls for 12 s beside one that works, whose calls are timed",
        25,
        faults_clients.never_read,
    ),
    Row(
        16,
        "what a dead machine leaves",
        "owner killed, its record rewritten with a living stranger's pid and another boot",
        25,
        faults_process.leave_stale_files,
    ),
    Row(
        17,
        "a home of a newer version",
        "the format record of a store is raised by one; serve, put, tasks, verify",
        15,
        faults_process.meet_a_newer_version,
    ),
    Row(
        18,
        "homes that cannot be",
        "a file, a path below a file, another user's folder, a read-only mount",
        15,
        faults_disk.homes_that_cannot_be,
    ),
    Row(
        21,
        "an owner that is stopped",
        "kill -STOP, a command meanwhile, kill -CONT",
        25,
        faults_process.stop_the_owner,
    ),
    Row(
        22,
        "fork with the store open",
        "os.fork; the child reads, writes and closes",
        5,
        faults_process.fork_with_the_store_open,
    ),
)
HARM = ("acked_lost", "silent_wrong", "crashed")


def run(rows: Iterable[Row], parent: Path) -> list[dict[str, Any]]:
    """Make the faults of `rows`, each in a folder of its own below `parent`."""
    wanted = tuple(rows)
    progress = Progress("faults", len(wanted))
    found: list[dict[str, Any]] = []
    for done, row in enumerate(wanted, 1):
        with tempfile.TemporaryDirectory(
            prefix="osiris-faults-", dir=parent, ignore_cleanup_errors=True
        ) as folder:
            found.append(row.run(Path(folder)))
        progress.step(done, row.what)
    progress.end()
    return found


def is_bad(row: dict[str, Any]) -> bool:
    """Say whether a row found harm, or nothing at all."""
    is_idle = row["tries"] == 0 and "skipped" not in row
    return is_idle or "problems" in row or any(row[name] for name in HARM)


def main() -> int:
    parser = argparse.ArgumentParser(description="make faults; lose nothing, be never wrong")
    parser.add_argument("--row", type=int, action="append", help="only this row; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON alone on stdout")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)  # what the damaged stores say of themselves
    found = run((row for row in ROWS if not args.row or row.number in args.row), owners.disk())
    if args.json:
        print(json.dumps({"ok": not any(map(is_bad, found)), "rows": found}))
    else:
        print("\n".join(map(_line, found)))
    return 1 if any(map(is_bad, found)) else 0


def _line(row: dict[str, Any]) -> str:
    harm = "  ".join(f"{name} {row[name]}" for name in HARM)
    more = row.get("skipped") or "; ".join(row.get("problems", ()))
    verdict = "BAD" if is_bad(row) else "skipped" if "skipped" in row else "ok"
    head = f"{row['row']:>3}  {row['what']:<44}{row['tries']:>6}  {harm}  {row['seconds']:>5} s"
    return f"{head}  {verdict}{': ' if more else ''}{more}"


if __name__ == "__main__":
    sys.exit(main())
