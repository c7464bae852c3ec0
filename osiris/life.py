"""One life of an owner: what it opens, whom it serves, when and how it ends.

Rule 1: a socket is bound when the store is open, and doors.sock answers before the MCP surface is
        imported: an owner that takes connections answers.
Rule 2: ruler and redactor are loaded after the sockets answer; tool calls wait for them.
Rule 3: it ends when told to, when idle, and for a newer version. One with a guest, a client of
        this very process, ends with the guest or when told to.
Rule 4: on the way out: accept no more, let calls finish, commit what is pending, then close.
Rule 5: who owns a home that was left to a newer version leaves it only to one newer still: the
        first has not come.
"""

import importlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import socket
from typing import Any

import trio
from msgspec import Struct

from osiris import __version__, succession
from osiris.config import Settings
from osiris.doors.desk_server import serve_desk
from osiris.endpoints import Endpoints, is_own_user
from osiris.home import Home
from osiris.lock import OwnerLock
from osiris.parts import Parts
from osiris.service import Desk, Traffic
from osiris_actors import auditing
from osiris_actors.gateway import Gateway
from osiris_actors.presence import HOOK_IDLE_S, Presence
from osiris_actors.store.contract import Delta, Unit
from osiris_actors.system import System

GRACE_S = 5.0
HOOKS = frozenset({"hook"})  # operations of doors.sock that a hook asks for
_LINGER_S = 3.0  # what is cut off after the grace gets this long to end

log = logging.getLogger(__name__)


class Terms(Struct, frozen=True):
    """How one life differs from another.

    `guest` serves a client of this process; it is given the Host that all connections share.
    `grace_s` is what calls under way get at the end.
    """

    settings: Settings
    version: str = __version__
    guest: Callable[[Any], Awaitable[None]] | None = None
    grace_s: float = GRACE_S
    hook_idle_s: float = HOOK_IDLE_S


class Life:
    """Owns `home`, whose lock is held, while `run` runs."""

    def __init__(self, home: Home, lock: OwnerLock, terms: Terms) -> None:
        self._home = home
        self._terms = terms
        self._endpoints = Endpoints(home, lock, terms.settings.transport)
        self._traffic = Traffic()
        self._parts = Parts(home, terms.settings, ends=_end_at_once, traffic=self._traffic)
        self._leaves_to = succession.newest(terms.version, succession.take_heir(home))

    async def run(self) -> None:
        """Return when the life is over.

        Raises, in groups, what the store raises when it opens or fails, and HomeError.
        """
        self._stopping = trio.Event()
        try:
            async with trio.open_nursery() as told:
                await told.start(self._stop_on_signal)
                async with self._parts.running(reports=Path(self._home.reports_dir)) as system:
                    await _count(system, auditing.STARTS)
                    await self._serve(system)
                    await system.leave()
                    await _count(system, auditing.STOPS)
                told.cancel_scope.cancel()
        finally:
            self._endpoints.withdraw()

    async def _serve(self, system: System) -> None:
        self._presence = Presence(
            idle_s(self._terms.settings),
            hook_idle_s=self._terms.hook_idle_s,
            is_busy=lambda: system.clock.running > 0,
        )
        gateway = Gateway(system)
        doors, mcp = self._endpoints.listen("doors"), self._endpoints.listen("mcp")
        self._endpoints.publish(self._terms.version)
        async with trio.open_nursery() as loading:
            async with trio.open_nursery() as clients:
                async with trio.open_nursery() as nursery:
                    await self._open_doors(
                        nursery, clients, doors, self._parts.desk(gateway, owners=1)
                    )
                    await self._open_mcp(clients, mcp, gateway)
                    loading.start_soon(self._parts.load, system.ingest)
                    nursery.start_soon(self._presence.leave_when_idle, self._stopping)
                    await self._stopping.wait()
                    gateway.handoffs.leave()
                    nursery.cancel_scope.cancel()
                linger_s = self._terms.grace_s + _LINGER_S
                clients.cancel_scope.deadline = trio.current_time() + linger_s
            loading.cancel_scope.cancel()  # calls under way alone still needed it

    async def _open_doors(
        self, nursery: trio.Nursery, clients: trio.Nursery, sock: socket, desk: Desk
    ) -> None:
        attended = Attended(desk, self._presence, self._traffic)

        async def handle(stream: trio.SocketStream) -> None:
            if self._admits(stream):
                with self._presence.here():
                    await serve_desk(stream, attended, self._accepts(), self._stopping)

        sock.setblocking(False)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
        serve = partial(trio.serve_listeners, handler_nursery=clients)
        await nursery.start(serve, handle, [listener])

    async def _open_mcp(self, clients: trio.Nursery, sock: socket, gateway: Gateway) -> None:
        surface = await self._parts.env.run_sync(_import_surface)
        host = surface.Host(
            service=gateway,
            settings=self._terms.settings,
            new_nonce=self._parts.env.token,
            stopping=self._stopping,
            accepts=self._accepts(),
            meets=self._meet,
            grace_s=self._terms.grace_s,
            traffic=self._traffic,
        )

        async def handle(stream: trio.SocketStream) -> None:
            if self._admits(stream):
                peer = surface.Peer(principal="owner", is_own_user=True)
                with self._presence.here():
                    await surface.Connection(stream, host, peer).run()

        linger_s = self._terms.grace_s + _LINGER_S
        serve = partial(surface.serve_socket, sock, handle, self._stopping, grace_s=linger_s)
        await clients.start(serve)
        if self._terms.guest is not None:
            clients.start_soon(self._entertain, partial(self._terms.guest, host))

    async def _entertain(self, guest: Callable[[], Awaitable[None]]) -> None:
        try:
            with self._presence.here():
                await guest()
        finally:
            self._stopping.set()

    def _admits(self, stream: trio.SocketStream) -> bool:
        return self._accepts() is not None or is_own_user(stream.socket)

    def _accepts(self) -> Callable[[str | None], bool] | None:
        """Return what judges tokens; None on Unix sockets, which keep strangers out."""
        return self._endpoints.accepts if self._endpoints.is_tcp else None

    def _meet(self, version: str) -> None:
        """Leave the home to the version of a bridge, if that is a newer one (rules 3 and 5)."""
        is_heir = succession.is_newer(version, self._leaves_to) and self._terms.guest is None
        if is_heir and not self._stopping.is_set():
            log.info("this owner (%s) leaves to version %.32r", self._terms.version, version)
            with suppress(OSError):  # then the two race for the home
                succession.name_heir(self._home, version)
            self._stopping.set()

    async def _stop_on_signal(
        self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        names = ("SIGTERM", "SIGINT", "SIGHUP")
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        with trio.open_signal_receiver(*numbers) as signals:
            task_status.started()
            async for _ in signals:
                self._stopping.set()


class Attended:
    """A desk that notes when hooks ask, and counts who is asking."""

    def __init__(self, desk: Desk, presence: Presence, traffic: Traffic) -> None:
        self._desk = desk
        self._presence = presence
        self._traffic = traffic

    async def ask(
        self, op: str, args: Mapping[str, Any], body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        if op in HOOKS:
            self._presence.hooked()
        self._traffic.under_way += 1
        try:
            return await self._desk.ask(op, args, body)
        finally:
            self._traffic.under_way -= 1


def idle_s(settings: Settings) -> int:
    """Return after how many seconds without clients an owner leaves; 0 is never.

    An owner whose address was given to others is expected there.
    """
    return 0 if settings.tcp or settings.http or settings.metrics else settings.idle_exit_s


def _end_at_once(why: str) -> None:
    """End this process with nobody answered: a bridge asks the next owner the same once more."""
    log.critical("the owner ends at once: %s", why)
    logging.shutdown()
    sys.stderr.write(f"error storage_error: {why} | fix: call again\n")
    sys.stderr.flush()
    os._exit(1)


async def _count(system: System, counter: str) -> None:
    """Count a start or an orderly stop of an owner."""
    await system.store.commit(Unit(deltas=(Delta(counter, 1),), reserve=True))


def _import_surface() -> Any:
    return importlib.import_module("osiris.server.surface")
