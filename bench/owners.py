"""Owners of a bench's own homes: found, waited for, ended. No other process is touched."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from osiris.home import Home, OwnerRecord

T = TypeVar("T")

STOP_S = 20.0
_LOOK_S = 0.005
_IN_MEMORY = {"tmpfs", "ramfs"}
_MOUNTS = Path("/proc/self/mounts")
_SHM = Path("/dev/shm")  # noqa: S108  its folders are made by mkdtemp
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class LateError(Exception):
    """What was waited for did not happen in time."""


def disk() -> Path:
    """Return a folder on a disk: the temporary one, unless it is kept in memory."""
    place = Path(tempfile.gettempdir()).resolve()
    return Path.home() if _file_system(place) in _IN_MEMORY else place


def memory() -> Path | None:
    """Return a folder that is kept in memory, None where there is none."""
    return _SHM if _SHM.is_dir() and _file_system(_SHM) in _IN_MEMORY else None


def _file_system(place: Path) -> str:
    """Return the type of the file system that holds `place`; empty where nobody says."""
    try:
        rows = [line.split() for line in _MOUNTS.read_text("utf-8").splitlines()]
    except OSError:
        return ""
    above = [(len(row[1]), row[2]) for row in rows if place.is_relative_to(row[1])]
    return max(above, default=(0, ""))[1]


@contextmanager
def home_folder(parent: Path, *, keep: bool = False) -> Generator[Path]:
    """Give a new empty folder; on the way out end the owner in it and remove it, unless kept."""
    folder = Path(tempfile.mkdtemp(prefix="osiris-bench-", dir=parent))
    try:
        yield folder
    finally:
        stop(folder)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def environ_for(home: Path) -> dict[str, str]:
    """Return this environment with `home` as the only OSIRIS setting."""
    kept = {key: text for key, text in os.environ.items() if not key.startswith("OSIRIS_")}
    return kept | {"OSIRIS_HOME": str(home)}


def living(home: Path) -> OwnerRecord | None:
    """Return the record of the owner that holds `home` now."""
    place = Home(str(home))
    record = place.record()
    return record if record is not None and place.is_owned() else None


def next_owner(home: Path, last: OwnerRecord | None, within_s: float) -> OwnerRecord:
    """Return the owner that holds `home` and is not `last`. Raises LateError."""

    def found() -> OwnerRecord | None:
        record = living(home)
        return None if record is None or (last is not None and record.is_same(last)) else record

    return until(found, within_s, "no owner came")


def until(look: Callable[[], T | None], within_s: float, otherwise: str) -> T:
    """Return what `look` finds as soon as it finds something. Raises LateError."""
    deadline = time.monotonic() + within_s
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise LateError(f"{otherwise} within {within_s:.0f} s")
        time.sleep(_LOOK_S)
    return found


def kill(record: OwnerRecord) -> None:
    """End an owner as a crash would. Raises ProcessLookupError when it ended by itself."""
    os.kill(record.pid, _KILL)


def stop(home: Path) -> None:
    """Let the owner of `home`, if there is one, leave in order; insist after STOP_S."""
    record = living(home)
    if record is None:
        return
    try:
        os.kill(record.pid, signal.SIGTERM)
        until(lambda: True if living(home) is None else None, STOP_S, "the owner did not leave")
    except LateError:
        kill(record)
    except ProcessLookupError:
        return


def load_per_core() -> float:
    """Return how many processes wanted each core in the last minute; 0 where nobody says."""
    return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0
