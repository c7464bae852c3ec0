"""The requests of one connection that have no answer yet.

Rule 1: a request is open from the line that asked until its response is written, or until the SDK
        says that it will not be answered (the client cancelled it).
Rule 2: at most OPEN requests of at most OPEN_BYTES in all are open; the next one waits, unread.
Rule 3: ids may repeat; each response settles one request of its id, one whose handler is through
        if there is one.
"""

import msgspec
import trio
from mcp_types import RequestId

from osiris.server.turnstile import RUNNING, Ticket
from osiris.service import Traffic

OPEN = RUNNING + 256
OPEN_BYTES = 64 * 1024 * 1024


class _Open(msgspec.Struct, frozen=True):
    ticket: Ticket | None
    size_bytes: int

    @property
    def is_through(self) -> bool:
        return self.ticket is None or self.ticket.is_ended


class OpenRequests:
    """Counts what is open, also in `traffic`, and ends the tickets of what is settled."""

    def __init__(self, traffic: Traffic | None = None) -> None:
        self._traffic = traffic or Traffic()
        self._open: dict[RequestId, list[_Open]] = {}
        self._count = 0
        self._size_bytes = 0
        self._is_abandoned = False
        self._changed: trio.Event | None = None

    def __len__(self) -> int:
        return self._count

    def add(self, request_id: RequestId, size_bytes: int, ticket: Ticket | None) -> None:
        """Open a request that took `size_bytes` on the wire."""
        self._open.setdefault(request_id, []).append(_Open(ticket, size_bytes))
        self._count += 1
        self._traffic.under_way += 1
        self._size_bytes += size_bytes

    def settle(self, request_id: RequestId) -> None:
        """Close one request of this id; unknown ids are ignored."""
        requests = self._open.get(request_id)
        if not requests:
            return
        through = (i for i, request in enumerate(requests) if request.is_through)
        settled = requests.pop(next(through, 0))
        if not requests:
            del self._open[request_id]
        if settled.ticket:
            settled.ticket.end()
        self._count -= 1
        self._traffic.under_way -= 1
        self._size_bytes -= settled.size_bytes
        self._notify()

    async def settle_unanswered(self, request_id: RequestId) -> None:
        """Close a request that the SDK will not answer; it wants an async callback."""
        self.settle(request_id)

    def leave(self) -> None:
        """Take what is still open out of the traffic: the connection has ended."""
        self._traffic.under_way -= self._count
        self._traffic = Traffic()

    def abandon(self) -> None:
        """Let nobody wait any longer: answers cannot be delivered."""
        self._is_abandoned = True
        self._notify()

    async def room(self, size_bytes: int) -> None:
        """Return when one more request of `size_bytes` may be opened."""
        while self._count >= OPEN or (self._count and self._size_bytes + size_bytes > OPEN_BYTES):
            if self._is_abandoned:
                return
            await self._change()

    async def none(self) -> None:
        """Return when every request is settled, or when they are abandoned."""
        while self._count and not self._is_abandoned:
            await self._change()

    async def _change(self) -> None:
        if self._changed is None:
            self._changed = trio.Event()
        await self._changed.wait()

    def _notify(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None
