"""Accept loops.

Rule 1: who may not come in is closed before a byte is read.
Rule 2: a full descriptor table makes accepting wait, not fail; a failing connection fails alone.
Rule 3: stopping: accept no more, let calls under way finish, then end what is left.
"""

from collections.abc import Awaitable, Callable
from socket import socket

import trio

from osiris.server.connection import GRACE_S, Connection, Host, Peer

Admit = Callable[[trio.SocketStream], Peer | None]


async def serve_mcp(
    sock: socket,
    host: Host,
    admit: Admit,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve MCP on a listening socket until `host.stopping`."""

    async def handle(stream: trio.SocketStream) -> None:
        peer = admit(stream)
        if peer is None:
            await trio.aclose_forcefully(stream)
        else:
            await Connection(stream, host, peer).run()

    await serve_socket(sock, handle, host.stopping, task_status=task_status)


async def serve_socket(
    sock: socket,
    handle: Callable[[trio.SocketStream], Awaitable[None]],
    stopping: trio.Event,
    *,
    grace_s: float = GRACE_S,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run `handle` for each client of a listening socket until `stopping`; close the socket.

    After that `handle` has `grace_s` to return by itself.
    """
    sock.setblocking(False)
    listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
    async with trio.open_nursery() as handlers:
        async with listener, trio.open_nursery() as accepting:
            accepting.start_soon(_accept, listener, handle, handlers)
            task_status.started()
            await stopping.wait()
            accepting.cancel_scope.cancel()
        handlers.cancel_scope.deadline = trio.current_time() + grace_s


async def _accept(
    listener: trio.SocketListener,
    handle: Callable[[trio.SocketStream], Awaitable[None]],
    handlers: trio.Nursery,
) -> None:
    await trio.serve_listeners(handle, [listener], handler_nursery=handlers)
