"""Running one command of a person's: no shell, limits on time and output, nothing left behind.

Rule 1: the words are run as they stand, in a session of their own; whatever is left of it is killed
        at the end, at the limit, and when the caller is cancelled.
Rule 2: of the output the beginning and the end are kept.
"""

import os
import signal
import subprocess
from collections import deque
from contextlib import suppress
from typing import Any, Final

import trio
from msgspec import Struct

HEAD_BYTES: Final = 64 << 10
TAIL_BYTES: Final = 192 << 10
_PIECE: Final = 16 << 10
_LAST_S: Final = 1.0  # for what is still in the pipe when the command has ended
_POSIX: Final = os.name != "nt"


class Ran(Struct, frozen=True):
    """How a command ended: `status` None when it did not end by itself; `why` then says so."""

    status: int | None
    output: bytes = b""
    why: str = ""

    @property
    def ok(self) -> bool:
        return self.status == 0


async def run(words: tuple[str, ...], folder: str, timeout_s: float) -> Ran:
    """Run a command in `folder` and return how it ended. Raises nothing but cancellation."""
    options: dict[str, Any] = {"start_new_session": True} if _POSIX else {}
    try:
        process = await trio.lowlevel.open_process(
            list(words),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **options,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no such words"
        return Ran(None, why=f"it cannot be run: {why}")
    kept = _Output()
    try:
        with trio.move_on_after(timeout_s):
            await _followed(process, kept)
    finally:
        with trio.CancelScope(shield=True):
            await _ended(process)
    if process.returncode is None or kept.is_late:
        return Ran(None, kept.whole(), f"it took longer than {timeout_s:g} s")
    return Ran(process.returncode, kept.whole(), f"exit {process.returncode}")


class _Output:
    """The first HEAD_BYTES and the last TAIL_BYTES; `is_late`: the time was over before the end."""

    def __init__(self) -> None:
        self.is_late = True
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._left_out = 0

    def add(self, piece: bytes) -> None:
        room = HEAD_BYTES - len(self._head)
        self._head += piece[:room]
        rest = piece[room:] if room < len(piece) else b""
        self._tail.append(rest)
        self._tail_bytes += len(rest)
        while self._tail_bytes > TAIL_BYTES:
            gone = len(self._tail.popleft())
            self._tail_bytes -= gone
            self._left_out += gone

    def whole(self) -> bytes:
        left_out = f"\n[{self._left_out:,} bytes left out]\n".encode() if self._left_out else b""
        return bytes(self._head) + left_out + b"".join(self._tail)


async def _followed(process: trio.Process, kept: _Output) -> None:
    """Return when the command has ended and its pipe is empty."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read, process, kept)
        await process.wait()
        nursery.cancel_scope.deadline = trio.current_time() + _LAST_S
    kept.is_late = False


async def _read(process: trio.Process, kept: _Output) -> None:
    assert process.stdout is not None
    async for piece in process.stdout:
        kept.add(bytes(piece))


async def _ended(process: trio.Process) -> None:
    """End what is left of a command, and return when it is gone."""
    with suppress(ProcessLookupError, PermissionError):
        if _POSIX:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()
    if process.stdout is not None:
        await process.stdout.aclose()
