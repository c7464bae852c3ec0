"""MCP on this process's own stdin and stdout.

Rule 1: the protocol moves to private descriptors; whatever else prints goes to stderr, whatever
        else reads finds nothing.
Rule 2: EOF, a closed stdout, SIGINT and SIGTERM end the serving, never the process.
Rule 3: a descriptor that was blocking is blocking again afterwards: a terminal is shared with the
        shell that started us.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Generator

import trio

from osiris.config import Hello
from osiris.server.connection import Connection, Host, Peer
from osiris.server.transport import DRAIN_S

_FIRST_PRIVATE_FD = 3


async def serve_stdio(host: Host, peer: Peer, hello: Hello) -> None:
    """Serve one client on stdin and stdout until it leaves or a signal comes.

    `hello` says what a bridge in this process's place would have said.
    """
    with contextlib.ExitStack() as stack:
        try:
            stdin, stdout = stack.enter_context(_private_stdio())
        except OSError:  # started with one of them closed: there is no client
            return
        connection = Connection(_stream(stdin, stdout), host, peer, hello)
        async with trio.open_nursery() as nursery:
            await nursery.start(_stop_on_signal, connection)
            await connection.run()
            nursery.cancel_scope.cancel()


class ThreadReader(trio.abc.ReceiveStream):
    """Reads a descriptor in threads, where the system cannot wait for one."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        try:
            return await trio.to_thread.run_sync(
                os.read, self._fd, max_bytes or 65_536, abandon_on_cancel=True
            )
        except OSError as error:
            raise trio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Leave the descriptor open: a thread may still be reading it."""
        await trio.lowlevel.checkpoint()


class ThreadWriter(trio.abc.SendStream):
    """Writes a descriptor in threads."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        try:
            await trio.to_thread.run_sync(_write_all, self._fd, bytes(data))
        except OSError as error:
            raise trio.BrokenResourceError from error

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._fd)
        await trio.lowlevel.checkpoint()


def _stream(stdin: int, stdout: int) -> trio.abc.Stream:
    if sys.platform == "win32":
        return trio.StapledStream(ThreadWriter(stdout), ThreadReader(stdin))
    return trio.StapledStream(trio.lowlevel.FdStream(stdout), trio.lowlevel.FdStream(stdin))


@contextlib.contextmanager
def _private_stdio() -> Generator[tuple[int, int]]:
    """Yield descriptors of stdin and stdout that nobody else knows; the stream closes them."""
    with _blocking_again(0), _blocking_again(1):
        stdin, stdout = _private(0), _private(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        _divert_stdout(null)
        os.close(null)
        yield stdin, stdout


def _private(fd: int) -> int:
    if sys.platform == "win32":
        return os.dup(fd)
    import fcntl  # noqa: PLC0415  not there on Windows

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE_FD)


def _divert_stdout(null: int) -> None:
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(null, 1)


@contextlib.contextmanager
def _blocking_again(fd: int) -> Generator[None]:
    """Undo the non-blocking mode, which belongs to the open file, not to the descriptor."""
    if sys.platform == "win32":
        yield
        return
    keeper = _private(fd)
    was_blocking = os.get_blocking(keeper)
    try:
        yield
    finally:
        if was_blocking:
            os.set_blocking(keeper, True)
        os.close(keeper)


async def _stop_on_signal(
    connection: Connection, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            connection.stop(DRAIN_S)


def _write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]
