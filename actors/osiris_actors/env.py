"""Time, ids and threads, injected once, so that a seed can replace all three."""

import secrets
import time
from collections.abc import Callable
from typing import Protocol, TypeVar, TypeVarTuple

import trio

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Env(Protocol):
    """The world as the runtime may see it."""

    def now_ms(self) -> int:
        """Wall clock, milliseconds since 1970. For records and display, never for order."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that does not jump: deadlines, leases, restarts."""
        ...

    def token(self) -> str:
        """32 hex digits nobody can guess."""
        ...

    async def run_sync(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """Run blocking work away from the event loop."""
        ...


class RealEnv:
    """The machine's clock, entropy and threads."""

    def __init__(self, *, threads: int = 4) -> None:
        self._limiter = trio.CapacityLimiter(threads)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return trio.current_time()

    def token(self) -> str:
        return secrets.token_hex(16)

    async def run_sync(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        return await trio.to_thread.run_sync(function, *args, limiter=self._limiter)
