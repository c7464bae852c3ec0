"""The lock that makes one process the owner of a home. Standard library only.

Rule 1: the kernel holds the lock, so it ends with its process: a file left behind means nothing.
Rule 2: taking it never waits for another owner.
Rule 3: a lock counts only while its path still names the file that was locked.
"""

import errno
import os
import sys
import time

_BUSY = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_TRIES = 5
_PROBE_S = 0.01  # `is_locked` holds the lock for microseconds: look again before giving up

if sys.platform == "win32":
    import msvcrt

    def _take(fd: int, *, shared: bool) -> None:
        del shared  # msvcrt has one kind
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(fd: int, *, shared: bool) -> None:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _took(fd: int, *, shared: bool = False) -> bool:
    try:
        _take(fd, shared=shared)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise
    return True


def _names(path: str, fd: int) -> bool:
    """Say whether `path` still names the open file `fd`."""
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))


def is_locked(path: str) -> bool:
    """Say whether a living process owns `path`."""
    try:
        fd = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not _took(fd, shared=True)
    finally:
        os.close(fd)


class OwnerLock:
    """An exclusive lock on one file, held from `acquire` to `release` or the end of the process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    def acquire(self) -> bool:
        """Take the lock; False if another process has it, `OSError` if the file cannot open."""
        for left in range(_TRIES, 0, -1):
            if self._try():
                return True
            if left > 1:
                time.sleep(_PROBE_S)
        return False

    def _try(self) -> bool:
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            if _took(fd) and _names(self._path, fd):
                self._fd, fd = fd, -1
        finally:
            if fd >= 0:
                os.close(fd)
        return self.held

    @property
    def held(self) -> bool:
        return self._fd >= 0

    def is_intact(self) -> bool:
        """Say whether the lock is held and nobody has replaced or removed its file."""
        return self.held and _names(self._path, self._fd)

    def release(self) -> None:
        """Give the lock up. The file stays: removing it would let two owners in."""
        if self.held:
            os.close(self._fd)
            self._fd = -1
