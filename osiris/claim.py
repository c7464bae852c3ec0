"""Whose a home is, found out before anything else. Standard library only.

Rule 1: the lock comes before every heavy import, so whoever loses a race has cost next to nothing.
Rule 2: whoever takes the lock forgets at once what the last owner published: while the lock is
        held, clients believe it.
"""
# ruff: noqa: PTH108 (paths are text: see osiris.home)

import contextlib
import os
import sys
from collections.abc import Callable

from osiris.home import Home, HomeError
from osiris.lock import OwnerLock

NO_HOME = 4  # exit status, as the command line has it


def own(home: Home, live: Callable[[OwnerLock], int]) -> int:
    """Hold `home` while `live` runs, and return its exit status.

    0 as well where another process owns it, NO_HOME where there is no home to be had; one line on
    stderr says so.
    """
    try:
        lock = claim(home)
    except HomeError as error:
        sys.stderr.write(f"error no_owner: {error}\n")
        return NO_HOME
    if lock is None:
        sys.stderr.write(f"osiris: {said_of_owner(home)}\n")
        return 0
    try:
        return live(lock)
    finally:
        lock.release()


def claim(home: Home) -> OwnerLock | None:
    """Make `home` this process's until the lock is released; None if it is another's.

    Raises HomeError when there is no such home to be had.
    """
    home.make()
    lock = OwnerLock(home.lock_path)
    try:
        if not lock.acquire():
            return None
        for path in (home.record_path, home.token_path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    except OSError as error:
        lock.release()
        what = f"{error.filename or home.lock_path}: {error.strerror}"
        raise HomeError(what, "set OSIRIS_HOME to a folder that can be written") from error
    return lock


def said_of_owner(home: Home) -> str:
    """Return the line that a process reads which came too late."""
    record = home.record()
    who = "another process, still starting,"
    if record is not None:
        who = f"process {record.pid}, version {record.version},"
    return f"{home.root}: {who} owns this home already"
