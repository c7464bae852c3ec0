"""Rows 5, 8 and 18: a disk that fills up, files that are taken away, homes that cannot be."""

import os
import subprocess
import sys
from pathlib import Path

from bench import owners
from bench.faults_stand import mounted, must_live, osiris, worker
from bench.faults_tally import CannotMakeError, Tally
from osiris.cli.exits import Exit

SIZES = ("16m", "24m", "40m")
LARGE = 200_000


def fill_up(folder: Path, tally: Tally) -> None:
    """Fill a small disk under a working owner, look what still works, and make room again."""
    for size in SIZES:
        if not tally.has_time:
            return
        disk = folder / f"disk-{size}"
        disk.mkdir()
        with mounted(disk, "-t", "tmpfs", "-o", f"size={size}", "osiris-bench"):
            home = disk / "home"
            with worker(home, folder / "work") as at:
                at.say("before")
                record = must_live(home)
                filler = _fill(disk)
                codes = [at.say("large", LARGE), at.say("small")]
                tally.expect(f"said {codes}", holds=set(codes) <= {"storage_full", ""})
                tally.expect("no storage_full", holds="storage_full" in codes)
                saved = at.client.call("checkpoint", {"mode": "snapshot", "id": "full"})
                tally.expect(f"checkpoint: {saved.text}", holds=not saved.is_error)
                read = at.client.call("plan", {"mode": "status"})
                tally.expect(f"reading: {read.text}", holds=not read.is_error)
                filler.unlink()
                tally.expect("no recovery", holds=at.say("after") == "")
                tally.crashed += must_live(home).pid != record.pid
                at.judge(home, tally)
            tally.tries += 1


def _fill(disk: Path) -> Path:
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4_096))
        except OSError:
            return path


def take_away(folder: Path, tally: Tally) -> None:
    """Remove the lock and the data file under a working owner, again and again."""
    home = folder / "taken"
    with worker(home, folder / "work") as at:
        for number in range(4):
            if not tally.has_time:
                break
            at.say(f"fact {number}")
            record = must_live(home)
            (home / "store" / "lock.mdb").unlink()
            at.say(f"after {number}")
            owners.next_owner(home, record, 30)
            tally.tries += 1
        at.judge(home, tally)
        must_live(home)
        (home / "store" / "data.mdb").unlink()
        code = at.say("into nothing") or at.say("into nothing again")
        tally.expect(f"said {code!r}", holds=code in {"store_damaged", "storage_error"})
        tally.silent_wrong += (home / "store" / "data.mdb").exists()
        tally.tries += 1


def homes_that_cannot_be(folder: Path, tally: Tally) -> None:
    """Start an owner in a home that is a file, read-only, another user's, or below a file."""
    for name, home in _odd_homes(folder).items():
        served = osiris(home, "serve")
        said = served.stderr.decode("utf-8", "replace")
        tally.tries += 1
        tally.crashed += served.returncode < 0 or "Traceback" in said
        tally.expect(
            f"{name}: exit {served.returncode} {said}", holds=served.returncode == Exit.NO_OWNER
        )
    _read_only(folder / "ro", folder, tally)


def _odd_homes(folder: Path) -> dict[str, Path]:
    (folder / "file").write_text("not a folder")
    foreign = folder / "foreign"
    (foreign / "run").mkdir(parents=True)
    odd = {"a file": folder / "file", "below a file": folder / "file" / "home"}
    if sys.platform != "win32" and os.geteuid() == 0:
        os.chown(foreign / "run", 12_345, 12_345)
        odd["another user's"] = foreign
    return odd


def _read_only(home: Path, folder: Path, tally: Tally) -> None:
    with worker(home, folder / "work") as at:
        at.say("kept")
    try:
        subprocess.run(("mount", "--bind", str(home), str(home)), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotMakeError(f"mount: {error}") from error
    try:
        subprocess.run(("mount", "-o", "remount,ro,bind", str(home)), check=True)
        served, verified = osiris(home, "serve"), osiris(home, "verify", "--deep")
        at.judge(home, tally)
    finally:
        subprocess.run(("umount", "-l", str(home)), check=True)
    tally.tries += 1
    tally.crashed += b"Traceback" in served.stderr + verified.stderr
    codes = (served.returncode, verified.returncode)
    tally.expect(f"read-only: {codes} {verified.stderr!r}", holds=codes == (Exit.NO_OWNER, Exit.OK))
