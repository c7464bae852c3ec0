"""Files under the roots of a connection, as payloads.

Rule 1: what is opened is looked at through its descriptor: a regular file, not too large, however
        much it grows while it is read.
Rule 2: a payload is UTF-8 text; anything else is refused with how to get at it.
Rule 3: hash and size are of the raw bytes.
"""

import hashlib
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio
from msgspec import Struct

from osiris.core import fileops, plain
from osiris.core.errors import Refusal
from osiris.core.fileops import Place
from osiris_actors.file_walk import WINDOWS, NotRead, check_regular, open_file

LIMIT_BYTES = 10 << 20
_CHUNK = 1 << 20
_NULS = 4
_NUL_SHARE = 100
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class FileRead(Struct, frozen=True):
    """A file as it was read: where it is, its UTF-8 bytes, and what names this version of it."""

    path: str
    data: bytes
    mtime_ns: int
    size: int
    sha256: str

    @property
    def text(self) -> str:
        return self.data.decode()


# how blocking work is done: in a thread, or in a simulation in place
Run = Callable[[Callable[[], FileRead | Refusal]], Awaitable[FileRead | Refusal]]


class Files:
    """Reads files away from the event loop."""

    def __init__(self, run: Run = trio.to_thread.run_sync, limit_bytes: int = LIMIT_BYTES) -> None:
        self._run = run
        self._limit_bytes = limit_bytes

    async def read(self, path: str, roots: Sequence[str]) -> FileRead | Refusal:
        """Return the file that `path` means under `roots`, or why it is not read."""
        return await self._run(partial(read_file, path, tuple(roots), self._limit_bytes))


def read_file(path: str, roots: tuple[str, ...], limit_bytes: int) -> FileRead | Refusal:
    """Read a file; blocks."""
    places = fileops.resolve(path, roots, windows=WINDOWS)
    if isinstance(places, Refusal):
        return places
    shown = plain.quoted(path, 200)
    missing = Refusal("not_found", f"{shown} does not exist", "list the folder it should be in")
    for place in places:
        try:
            return _read(place, roots, limit_bytes, shown)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except NotRead as refused:
            return refused.refusal
        except OSError as fault:
            reason = fault.strerror or type(fault).__name__
            return Refusal("not_found", f"{shown}: {reason}", "check its permissions and path")
    return missing


def _read(place: Place, roots: tuple[str, ...], limit_bytes: int, shown: str) -> FileRead:
    descriptor, path = open_file(place, roots, shown)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        before = _checked(os.fstat(descriptor), limit_bytes, shown)
        data = _bytes(file.read, limit_bytes, shown)
        after = os.fstat(descriptor)
        if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            file.seek(0)
            data = _bytes(file.read, limit_bytes, shown)
    _check_text(data, shown)
    return FileRead(path, data, after.st_mtime_ns, len(data), hashlib.sha256(data).hexdigest())


def _checked(status: os.stat_result, limit_bytes: int, shown: str) -> os.stat_result:
    check_regular(status, shown)
    if status.st_size > limit_bytes:
        raise _too_large(shown, limit_bytes)
    return status


def _too_large(shown: str, limit_bytes: int) -> NotRead:
    what = f"{shown} is larger than {limit_bytes:,} bytes"
    return NotRead("payload_too_large", what, "cut it first, or observe the part you need")


def _bytes(read: Callable[[int], bytes | None], limit_bytes: int, shown: str) -> bytes:
    """Read to the end, however much the file's size says."""
    data = bytearray()
    while chunk := read(_CHUNK):
        data += chunk
        if len(data) > limit_bytes:
            raise _too_large(shown, limit_bytes)
    return bytes(data)


def _check_text(data: bytes, shown: str) -> None:
    fix = "observe what a tool says about it (strings, file, hexdump)"
    if data.startswith(_UTF16):
        fix = "convert it first: iconv -f UTF-16 -t UTF-8"
    nuls = data.count(0)
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        what = f"{shown} is no UTF-8 text at byte {fault.start:,}"
        raise NotRead("binary_file", what, fix) from fault
    if nuls > _NULS and nuls * _NUL_SHARE > len(data):
        raise NotRead("binary_file", f"{shown} holds {nuls:,} NUL bytes", fix)
