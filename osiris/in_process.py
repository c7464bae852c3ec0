"""Owner and stdio server in one process: `mcp-osiris --in-process`.

Rule 1: it is an owner like any other: its sockets are open to other clients.
Rule 2: what its client's environment decides holds for that client alone.
Rule 3: it ends with its client: at the end of input, when nobody reads its output, when told to, or
        when its parent is gone. The bridges of others start the next owner.
Rule 4: it leaves fast, because clients kill servers that linger; calls of others that are not done
        by then are said again to the next owner.
"""

import os
import sys
from typing import Any

import trio

from osiris import __version__, config
from osiris.home import Home, connection_settings, owner_environ, working_folder
from osiris.leaving import PARENT_S
from osiris.life import Terms
from osiris.lock import OwnerLock
from osiris.owner import live

GRACE_S = 1.0


def serve(home: Home, lock: OwnerLock, parent: int) -> int | None:
    """Own `home`, whose lock is held, and serve stdin and stdout; return the exit status.

    None: it could not begin, and nothing was read or written. `parent` is the process it follows.
    """
    guest = _Guest(parent)
    loaded = config.load(home, owner_environ(home))
    why = live(home, lock, loaded, Terms(loaded.settings, guest=guest.serve, grace_s=GRACE_S))
    if why is None:
        return 0
    if not guest.has_come:
        return None
    sys.stderr.write(f"{why.text()}\n")
    return 1


class _Guest:
    """The client at the other end of stdin and stdout."""

    def __init__(self, parent: int) -> None:
        self.has_come = False
        self._parent = parent

    async def serve(self, host: Any) -> None:
        """Return when the client has left; `host` is what all connections share."""
        from osiris.server.stdio import serve_stdio  # noqa: PLC0415  heavy, and loaded by now
        from osiris.server.surface import Peer  # noqa: PLC0415  same

        self.has_come = True
        hello = config.Hello(
            version=__version__,
            nonce=host.new_nonce(),
            pid=os.getpid(),
            cwd=working_folder(),
            settings=connection_settings(),
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow_parent, host.stopping)
            await serve_stdio(host, Peer(principal="owner", is_own_user=True), hello)
            nursery.cancel_scope.cancel()

    async def _follow_parent(self, stopping: trio.Event) -> None:
        while True:
            if sys.platform != "win32" and os.getppid() != self._parent:
                stopping.set()
            await trio.sleep(PARENT_S)
