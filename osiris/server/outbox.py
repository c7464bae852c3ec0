"""What is on its way to one client.

Rule 1: lines leave whole and in the order they were put; lines that meet on the way out leave in
        one write.
Rule 2: a line under way is never cut short by the cancellation of the call it answers.
Rule 3: a client that takes nothing for STALL_S is gone; so is one whose end of the pipe is closed.
"""

from collections.abc import Callable

import trio

STALL_S = 30.0
BUFFER_BYTES = 64 * 1024  # what may wait behind the write under way before putters wait too


class Outbox:
    """Writes lines to `stream`; calls `on_break` once when nothing can be sent any more."""

    def __init__(self, stream: trio.abc.SendStream, on_break: Callable[[], None]) -> None:
        self._stream = stream
        self._on_break = on_break
        self._buffer = bytearray()
        self._taken: trio.Event | None = None
        self._flush_scope: trio.CancelScope | None = None
        self._stall_s = STALL_S
        self.is_broken = False

    async def put(self, line: bytes) -> None:
        """Send `line`, which ends in LF, or leave it to the write under way.

        Raises trio.BrokenResourceError when the client is gone.
        """
        self._check()
        self._buffer += line
        if self._flush_scope is None:
            await self._flush()
        elif len(self._buffer) > BUFFER_BYTES:
            if self._taken is None:
                self._taken = trio.Event()
            await self._taken.wait()
        self._check()

    def hurry(self, stall_s: float) -> None:
        """Give the client `stall_s` from now on to take what is under way."""
        self._stall_s = stall_s
        if self._flush_scope is not None:
            deadline = trio.current_time() + stall_s
            self._flush_scope.deadline = min(self._flush_scope.deadline, deadline)

    def _check(self) -> None:
        if self.is_broken:
            raise trio.BrokenResourceError("the client is gone")

    async def _flush(self) -> None:
        try:
            with trio.CancelScope(shield=True) as scope:
                self._flush_scope = scope
                while self._buffer:
                    await self._send_held(scope)
            is_stalled = scope.cancelled_caught
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            is_stalled = True
        finally:
            self._flush_scope = None
        if is_stalled:
            self._break()

    async def _send_held(self, scope: trio.CancelScope) -> None:
        data, self._buffer = self._buffer, bytearray()
        self._wake()
        scope.deadline = trio.current_time() + self._stall_s
        await self._stream.send_all(data)

    def _wake(self) -> None:
        if self._taken is not None:
            self._taken.set()
            self._taken = None

    def _break(self) -> None:
        self.is_broken = True
        self._buffer.clear()
        self._wake()
        self._on_break()
