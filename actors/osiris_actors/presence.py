"""Who is here: an owner leaves by itself when nobody has been for a while.

Rule 1: a client that is connected keeps the owner; so does one that left less than `idle_s` ago.
Rule 2: `idle_s` of zero means never.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Presence:
    """Counts clients on monotonic time."""

    def __init__(self) -> None:
        self.clients = 0
        self._left = trio.current_time()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Be a client for the length of the body."""
        self.clients += 1
        try:
            yield
        finally:
            self.clients -= 1
            self._left = trio.current_time()

    async def leave_when_idle(self, idle_s: float, stopping: trio.Event) -> None:
        """Set `stopping` once nobody has been here for `idle_s`."""
        while idle_s:
            await trio.sleep_until(self._left + idle_s)
            if not self.clients and trio.current_time() >= self._left + idle_s:
                stopping.set()
                return
            if self.clients:
                await trio.sleep(idle_s)
