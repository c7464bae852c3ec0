"""Who is here: an owner leaves by itself when nobody has been for a while.

Rule 1: a client that is connected keeps the owner; so does one that left less than `idle_s` ago,
        and a hook that called less than `hook_idle_s` ago: its host may be busy for long.
Rule 2: so does everything that `is_busy` knows of, such as a lease.
Rule 3: `idle_s` of zero means never.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import trio

HOOK_IDLE_S = 7_200.0
LOOK_S = 30.0


class Presence:
    """Counts clients on monotonic time."""

    def __init__(
        self,
        idle_s: float,
        *,
        hook_idle_s: float = HOOK_IDLE_S,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self.clients = 0
        self._idle_s = idle_s
        self._hook_idle_s = hook_idle_s
        self._is_busy = is_busy
        self._kept_until = 0.0

    @contextmanager
    def here(self) -> Generator[None]:
        """Be a client for the length of the body."""
        self.clients += 1
        try:
            yield
        finally:
            self.clients -= 1
            self._keep(self._idle_s)

    def hooked(self) -> None:
        """Note that a hook called."""
        self._keep(self._hook_idle_s)

    def _keep(self, for_s: float) -> None:
        self._kept_until = max(self._kept_until, trio.current_time() + for_s)

    async def leave_when_idle(self, stopping: trio.Event) -> None:
        """Set `stopping` once nothing has kept the owner, from now on, for its time."""
        self._keep(self._idle_s)
        while self._idle_s:
            if self.clients or self._is_busy():
                await trio.sleep(min(self._idle_s, LOOK_S))
            elif trio.current_time() < self._kept_until:
                await trio.sleep_until(self._kept_until)
            else:
                stopping.set()
                return
