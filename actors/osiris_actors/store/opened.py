"""Whether the files of an open store are still the ones that were opened.

An engine goes on committing into a data file that was unlinked, and a lock file that was unlinked
lets a second writer in at once: both lose what was acknowledged.

Rule 1: a file is known by device and inode. An open file's inode is given to no other, so its
        count of links adds nothing: a backup by hard links changes it and harms nobody.
Rule 2: a name comes or goes only with its folder's change time, which nobody can set. While that
        stands still, and is older than clocks are coarse, the folder alone is looked at: 3 us.
"""

import os
import sys
import time
from pathlib import Path

from osiris_actors.store import datafile

Identity = tuple[int, int]
_COARSE_NS = 3_000_000_000  # the coarsest clock of a file system, that of FAT, has 2 s


class OpenedFiles:
    """The data and the lock file of a store, as they were when it was opened."""

    def __init__(self, directory: Path) -> None:
        self._folder = str(directory)
        self._paths = tuple(str(directory / name) for name in (datafile.DATA, datafile.LOCK))
        self._opened = tuple(map(_identity, self._paths))
        self._settled: os.stat_result | None = None

    def moved(self) -> str:
        """Return what happened to one of the files; empty when they are the same."""
        folder = _stat(self._folder)
        if folder and self._settled and _is_untouched(folder, self._settled):
            return ""
        for path, opened in zip(self._paths, self._opened, strict=True):
            now = _identity(path)
            if now != opened:
                return f"{path} {'is gone' if now is None else 'is another file now'}"
        self._settled = folder if folder and _is_settled(folder) else None
        return ""


def _is_untouched(folder: os.stat_result, settled: os.stat_result) -> bool:
    return (
        folder.st_ctime_ns == settled.st_ctime_ns
        and folder.st_ino == settled.st_ino
        and folder.st_dev == settled.st_dev
    )


def _is_settled(folder: os.stat_result) -> bool:
    """Say whether a change from now on would show; on Windows it is the time of creation."""
    return sys.platform != "win32" and time.time_ns() - folder.st_ctime_ns > _COARSE_NS


def _identity(path: str) -> Identity | None:
    found = _stat(path)
    return None if found is None else (found.st_dev, found.st_ino)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  twice in every commit
    except OSError:
        return None
