"""The owner of a home: one process, everything in it, from the lock to the lock.

Rule 1: the lock is taken before anything is bound and released last.
Rule 2: doors.sock answers before the MCP surface is imported.
Rule 3: ruler and redactor are loaded after the sockets answer; tool calls wait for them.
Rule 4: on the way out: accept no more, let calls finish, commit what is pending, then close.
Rule 5: a store that may not be written is read, and its owner says why.
"""

import importlib
import logging
import signal
import sys
from collections.abc import Callable
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from socket import socket
from typing import Any

import trio

from osiris import __version__, config
from osiris.doors.desk_server import serve_desk
from osiris.endpoints import Endpoints, is_own_user
from osiris.groups import leaves
from osiris.home import Home, HomeError
from osiris.lock import OwnerLock
from osiris.parts import Parts
from osiris_actors import auditing
from osiris_actors.desk import RuntimeDesk
from osiris_actors.gateway import Gateway
from osiris_actors.presence import Presence
from osiris_actors.store.contract import Delta, StoreTooNew, StoreUnavailable, Unit
from osiris_actors.store.failures import StoreMoved
from osiris_actors.system import System
from osiris_actors.writer import WriterStuck

LOG_BYTES = 4 * 1024 * 1024
LOG_FILES = 3
GRACE_S = 8.0
NO_HOME = 4  # as the command line has it

log = logging.getLogger(__name__)


def serve(home: Home) -> int:
    """Own `home` until told to stop or idle. Another owner is no error: it is there.

    Return 0, 1 when the store cannot be kept, 4 when there is no home to own.
    """
    lock = OwnerLock(home.lock_path)
    try:
        home.make()
        if not lock.acquire():
            sys.stderr.write("osiris: this home has an owner already\n")
            return 0
    except (HomeError, OSError) as error:
        sys.stderr.write(f"osiris: {error}\n")
        return NO_HOME
    try:
        return _own(home, lock)
    finally:
        lock.release()


def _own(home: Home, lock: OwnerLock) -> int:
    loaded = config.load(home)
    _log_to(Path(home.log_dir), loaded.settings.log_level)
    for problem in loaded.problems:
        log.warning(problem.text())
    ended = ""
    try:
        trio.run(_Owner(home, lock, loaded.settings).run)
    except* (StoreMoved, StoreTooNew, StoreUnavailable, WriterStuck) as group:
        ended = str(next(leaves(group)))
        log.critical("the owner ends: %s", ended)
        sys.stderr.write(f"osiris: {ended}\n")
    return 1 if ended else 0


class _Owner:
    """One life of an owner."""

    def __init__(self, home: Home, lock: OwnerLock, settings: config.Settings) -> None:
        self._home = home
        self._settings = settings
        self._endpoints = Endpoints(home, lock, settings.transport)
        self._parts = Parts(home, settings)

    async def run(self) -> None:
        """Live until told to stop or idle."""
        self._presence, self._stopping = Presence(self._settings.idle_exit_s), trio.Event()
        doors, mcp = self._endpoints.listen("doors"), self._endpoints.listen("mcp")
        self._endpoints.publish(__version__)
        try:
            async with self._parts.running(reports=Path(self._home.reports_dir)) as system:
                await _count(system, auditing.STARTS)
                await self._serve(system, doors, mcp)
                await _count(system, auditing.STOPS)
        finally:
            self._endpoints.withdraw()

    async def _serve(self, system: System, doors: socket, mcp: socket) -> None:
        gateway = Gateway(system)
        desk = self._parts.desk(gateway)
        async with trio.open_nursery() as clients:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._stop_on_signal)
                await self._open_doors(nursery, clients, doors, desk)
                await self._open_mcp(clients, mcp, gateway)
                nursery.start_soon(self._parts.load, system.ingest)
                nursery.start_soon(self._presence.leave_when_idle, self._stopping)
                await self._stopping.wait()
                nursery.cancel_scope.cancel()
            clients.cancel_scope.deadline = trio.current_time() + GRACE_S

    async def _open_doors(
        self, nursery: trio.Nursery, clients: trio.Nursery, sock: socket, desk: RuntimeDesk
    ) -> None:
        async def handle(stream: trio.SocketStream) -> None:
            if self._admits(stream):
                with self._presence.here():
                    await serve_desk(stream, desk, self._accepts(), self._stopping)

        sock.setblocking(False)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
        serve = partial(trio.serve_listeners, handler_nursery=clients)
        await nursery.start(serve, handle, [listener])

    async def _open_mcp(self, clients: trio.Nursery, sock: socket, gateway: Gateway) -> None:
        surface = await self._parts.env.run_sync(_import_surface)
        host = surface.Host(
            service=gateway,
            settings=self._settings,
            new_nonce=self._parts.env.token,
            stopping=self._stopping,
            accepts=self._accepts(),
        )

        async def handle(stream: trio.SocketStream) -> None:
            if self._admits(stream):
                peer = surface.Peer(principal="owner", is_own_user=True)
                with self._presence.here():
                    await surface.Connection(stream, host, peer).run()

        await clients.start(partial(surface.serve_socket, sock, handle, self._stopping))

    def _admits(self, stream: trio.SocketStream) -> bool:
        return self._accepts() is not None or is_own_user(stream.socket)

    def _accepts(self) -> Callable[[str | None], bool] | None:
        """Return what judges tokens; None on Unix sockets, which keep strangers out."""
        return self._endpoints.accepts if self._endpoints.is_tcp else None

    async def _stop_on_signal(self) -> None:
        names = ("SIGTERM", "SIGINT")
        with trio.open_signal_receiver(*(getattr(signal, name) for name in names)) as signals:
            async for _ in signals:
                self._stopping.set()


async def _count(system: System, counter: str) -> None:
    """Count a start or an orderly stop of an owner."""
    await system.store.commit(Unit(deltas=(Delta(counter, 1),), reserve=True))


def _import_surface() -> Any:
    return importlib.import_module("osiris.server.surface")


def _log_to(folder: Path, level: str) -> None:
    handler = RotatingFileHandler(
        folder / "osiris.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8"
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    # the SDK logs exceptions whose text may quote arguments
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
