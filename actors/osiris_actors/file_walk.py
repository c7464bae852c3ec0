"""Opening a file under roots so that nothing on the way leads out of them.

Rule 1: a path is walked part by part from its root's own descriptor; a link is read and walked in
        its turn, and must stay under a root.
Rule 2: a FIFO or device is refused before it is opened, and would not block if it were.
Rule 3: where the system has no descriptors for folders (Windows), the real path is checked, and
        checked again once the file is open.
"""

import os
import stat
from pathlib import Path

from osiris.core import fileops
from osiris.core.errors import Refusal
from osiris.core.fileops import Place

MAX_LINKS = 40
WINDOWS = os.name == "nt"
BY_DESCRIPTOR = {os.open, os.stat, os.readlink} <= os.supports_dir_fd

_ROOT = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_FOLDER = _ROOT | getattr(os, "O_NOFOLLOW", 0)
_FILE = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


class NotRead(Exception):  # noqa: N818  (carries the answer out of the walk)
    """The file is not read; `refusal` says why."""

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(code)
        self.refusal = Refusal(code, what, fix)


def open_file(place: Place, roots: tuple[str, ...], shown: str) -> tuple[int, str]:
    """Return the descriptor of a regular file and its path. Raises NotRead and OSError.

    `shown` is how the path is called in refusals.
    """
    if not BY_DESCRIPTOR:
        return open_by_path(place, roots, shown)
    descriptor, path = _Walk(roots, shown).open(place)
    try:
        check_regular(os.fstat(descriptor), shown)
    except NotRead:
        os.close(descriptor)
        raise
    return descriptor, path


def check_regular(status: os.stat_result, shown: str) -> None:
    """Raise NotRead if this is no regular file."""
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise NotRead("not_a_file", f"{shown} is {what}", "name a regular file")


class _Walk:
    """Walks from a root to a file; every part is opened as what it was seen to be."""

    def __init__(self, roots: tuple[str, ...], shown: str) -> None:
        self._roots = (*roots, *(str(Path(root).resolve()) for root in roots))
        self._shown = shown
        self._folders: list[int] = []
        self._names: list[str] = []
        self._links = 0

    def open(self, place: Place) -> tuple[int, str]:
        """Return the descriptor of the file and its path."""
        try:
            self._start(place.root)
            return self._walk(list(place.parts))
        finally:
            self._close()

    def _start(self, root: str) -> None:
        self._close()
        self._folders = [os.open(root, _ROOT)]
        self._names = [root]

    def _close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def _walk(self, parts: list[str]) -> tuple[int, str]:
        while parts:
            part = parts.pop(0)
            if part in {"", "."}:
                continue
            if part == "..":
                self._up()
                continue
            status = os.stat(part, dir_fd=self._folders[-1], follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                parts = self._followed(part) + parts
            elif stat.S_ISDIR(status.st_mode):
                self._folders.append(os.open(part, _FOLDER, dir_fd=self._folders[-1]))
                self._names.append(part)
            elif any(part not in {"", "."} for part in parts):
                raise NotADirectoryError(part)
            else:
                check_regular(status, self._shown)
                descriptor = os.open(part, _FILE, dir_fd=self._folders[-1])
                return descriptor, "/".join((*self._names, part))
        raise NotRead("not_a_file", f"{self._shown} is a folder", "name a regular file")

    def _up(self) -> None:
        if len(self._folders) == 1:
            raise self._outside()
        os.close(self._folders.pop())
        self._names.pop()

    def _followed(self, link: str) -> list[str]:
        """Return the parts that a link stands for; an absolute one begins at a root again."""
        self._links += 1
        if self._links > MAX_LINKS:
            raise NotRead("not_found", f"{self._shown} is a circle of links", "name its target")
        target = os.readlink(link, dir_fd=self._folders[-1])
        if not target.startswith("/"):
            return target.split("/")
        places = fileops.resolve(target, self._roots)
        if isinstance(places, Refusal):
            raise self._outside()
        self._start(places[0].root)
        return list(places[0].parts)

    def _outside(self) -> NotRead:
        what = f"{self._shown} is a link out of the roots"
        return NotRead("outside_roots", what, "name a file that is itself under a root")


def open_by_path(place: Place, roots: tuple[str, ...], shown: str) -> tuple[int, str]:
    """Open a file by its real path. Raises NotRead and OSError."""
    path = Path(place.root, *place.parts).resolve(strict=True)
    _check_inside(path, roots, shown)
    seen = path.stat()
    check_regular(seen, shown)
    descriptor = os.open(path, _FILE)
    opened = os.fstat(descriptor)
    still = path.resolve(strict=True) == path
    if not still or (opened.st_dev, opened.st_ino) != (seen.st_dev, seen.st_ino):
        os.close(descriptor)
        raise FileNotFoundError(path)
    return descriptor, str(path)


def _check_inside(path: Path, roots: tuple[str, ...], shown: str) -> None:
    real = tuple(str(Path(root).resolve()) for root in roots)
    if isinstance(fileops.resolve(str(path), real, windows=WINDOWS), Refusal):
        what = f"{shown} is a link out of the roots"
        raise NotRead("outside_roots", what, "name a file that is itself under a root")
