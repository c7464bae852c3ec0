"""Whether the files of an open store are still the ones that were opened.

An engine goes on committing into a data file that was unlinked, and a lock file that was unlinked
lets a second writer in at once: both lose what was acknowledged.

Rule: a file is known by device and inode. An open file's inode is given to no other, so its count
      of links adds nothing: a backup by hard links changes it and harms nobody.
"""

import os
from pathlib import Path

from osiris_actors.store import datafile

Identity = tuple[int, int]


class OpenedFiles:
    """The data and the lock file of a store, as they were when it was opened."""

    def __init__(self, directory: Path) -> None:
        self._paths = tuple(str(directory / name) for name in (datafile.DATA, datafile.LOCK))
        self._opened = tuple(map(_identity, self._paths))

    def moved(self) -> str:
        """Return what happened to one of the files; empty when they are the same. 4 us."""
        for path, opened in zip(self._paths, self._opened, strict=True):
            now = _identity(path)
            if now != opened:
                return f"{path} {'is gone' if now is None else 'is another file now'}"
        return ""


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)  # noqa: PTH116  twice in every commit
    except OSError:
        return None
    return found.st_dev, found.st_ino
