"""Room on the disk: how its lack is known, and a piece of it that is kept back.

Rule 1: the ballast is a file of BALLAST_BYTES. When a commit finds no room it is given up, and
        what it held is for units with `reserve` alone: checkpoints, closing, the owner's leaving.
Rule 2: every batch first tries to make it again; once that works there is room, and all units are
        committed as before. Nothing has to be started anew.
"""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from osiris_actors.store.contract import Full, Outcome, StoreUnavailable, Unit
from osiris_actors.store.failures import StoreFull

BALLAST_BYTES = 4 * 1024 * 1024
_NEXT_TO_NONE_BYTES = 256 * 1024
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_KEPT_BACK = Full("the disk is full; what is left is kept for checkpoints and closing")

Commit = Callable[[tuple[Unit, ...]], tuple[Outcome, ...]]


def unavailable(error: OSError) -> StoreUnavailable:
    """Return what an error of the operating system means to those who open or copy."""
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return StoreFull(what) if error.errno in NO_ROOM else StoreUnavailable(what)


def is_out(folder: Path) -> bool:
    """Say whether the disk of `folder` has next to no room."""
    return shutil.disk_usage(folder).free < _NEXT_TO_NONE_BYTES


class Ballast:
    """The file that is given up when the disk is full."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_there = path.is_file() and path.stat().st_size == BALLAST_BYTES

    def make(self) -> bool:
        """Make the file if it is not there; say whether it is."""
        if not self.is_there:
            try:
                _fill(self._path)
                self.is_there = True
            except OSError:
                self._remove()
        return self.is_there

    def give_up(self) -> None:
        self.is_there = False
        self._remove()

    def _remove(self) -> None:
        with suppress(OSError):
            self._path.unlink()


def size_bytes(unit: Unit) -> int:
    """Return about how many bytes the unit will write."""
    total = len(unit.reply)
    for append in unit.appends:
        total += sum(map(len, append.events)) + len(append.snapshot or b"")
    for blob in unit.blobs:
        total += sum(map(len, blob.chunks))
    for put in unit.puts:
        total += len(put.key) + len(put.value or b"")
    return total


def commit(units: tuple[Unit, ...], ballast: Ballast, engine: Commit) -> tuple[Outcome, ...]:
    """Commit what there is room for: everything, or units with `reserve` alone."""
    if not ballast.make():
        return _reserved_only(units, (_KEPT_BACK,) * len(units), engine)
    outcomes = engine(units)
    if not any(isinstance(outcome, Full) for outcome in outcomes):
        return outcomes
    ballast.give_up()
    return _reserved_only(units, outcomes, engine)


def _reserved_only(
    units: tuple[Unit, ...], outcomes: tuple[Outcome, ...], engine: Commit
) -> tuple[Outcome, ...]:
    """Return `outcomes` with those of refused units that may use the reserve tried once more."""
    again = [
        place
        for place, (unit, outcome) in enumerate(zip(units, outcomes, strict=True))
        if unit.reserve and isinstance(outcome, Full)
    ]
    if not again:
        return outcomes
    settled = list(outcomes)
    found = engine(tuple(units[place] for place in again))
    for place, outcome in zip(again, found, strict=True):
        settled[place] = outcome
    return tuple(settled)


def _fill(path: Path) -> None:
    """Make a file whose bytes are really there. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, BALLAST_BYTES)
        else:
            os.write(handle, os.urandom(BALLAST_BYTES))  # zeros might be compressed away
    finally:
        os.close(handle)
