"""The order of one connection's calls.

The SDK starts handlers in any order; a ticket, numbered when the line was read, restores it.

Rule 1: tickets are admitted in the order of their numbers, at most RUNNING at a time.
Rule 2: a ticket's turn comes when every earlier one is done (it reached its mailbox) or ended.
Rule 3: the lowest ticket that is not done is always admitted and always has its turn, so slots
        and turns cannot wait for each other.
Rule 4: a ticket ends once, by its handler or, if it never had one, when its request is settled.
"""

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import trio

RUNNING = 32


class TurnstileStatistics(msgspec.Struct, frozen=True):
    """`waiting` tickets have no slot yet; `undone` ones hold up the turns of later ones."""

    running: int
    waiting: int
    undone: int


class Turnstile:
    """Admits the calls of one connection."""

    def __init__(self, running: int = RUNNING) -> None:
        self._free = running
        self._running = 0
        self._waiting: deque[Ticket] = deque()
        self._undone: deque[Ticket] = deque()

    def ticket(self) -> "Ticket":
        """Give the call that was just read its number."""
        ticket = Ticket(self)
        self._undone.append(ticket)
        self._waiting.append(ticket)
        self._admit()
        return ticket

    def statistics(self) -> TurnstileStatistics:
        waiting = sum(not ticket.is_ended for ticket in self._waiting)
        return TurnstileStatistics(self._running, waiting, len(self._undone))

    def _admit(self) -> None:
        while self._waiting and (self._running < self._free or self._waiting[0].is_ended):
            ticket = self._waiting.popleft()
            if not ticket.is_ended:
                self._running += 1
                ticket.admit()

    def is_first(self, ticket: "Ticket") -> bool:
        return bool(self._undone) and self._undone[0] is ticket

    def drop_done(self) -> None:
        """Give the next ticket its turn."""
        while self._undone and self._undone[0].is_done:
            self._undone.popleft()
        if self._undone:
            self._undone[0].call()

    def leave(self, *, admitted: bool) -> None:
        """Free the slot of an ended ticket."""
        if admitted:
            self._running -= 1
        self._admit()


class Ticket:
    """One call's number. It is the `Turn` that the service waits for."""

    __slots__ = ("_admitted", "_called", "_turnstile", "is_admitted", "is_done", "is_ended")

    def __init__(self, turnstile: Turnstile) -> None:
        self._turnstile = turnstile
        self._admitted: trio.Event | None = None
        self._called: trio.Event | None = None
        self.is_admitted = False
        self.is_done = False
        self.is_ended = False

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Hold a slot for the body; wait for one first. The ticket ends with the body."""
        try:
            if not self.is_admitted:
                self._admitted = trio.Event()
                await self._admitted.wait()
            yield
        finally:
            self.end()

    async def wait(self) -> None:
        """Return when every earlier call of the connection has reached its mailbox or ended."""
        if not self._turnstile.is_first(self) and not self.is_done:
            if self._called is None:
                self._called = trio.Event()
            await self._called.wait()

    def done(self) -> None:
        """Let the next call through. Safe to call twice."""
        if not self.is_done:
            self.is_done = True
            self._turnstile.drop_done()

    def end(self) -> None:
        """Give back slot and turn. Safe to call twice."""
        if not self.is_ended:
            self.is_ended = True
            self.done()
            self._turnstile.leave(admitted=self.is_admitted)

    def admit(self) -> None:
        self.is_admitted = True
        if self._admitted is not None:
            self._admitted.set()

    def call(self) -> None:
        if self._called is not None:
            self._called.set()


class FreeTurn:
    """The `Turn` of a call that waits for nobody and holds up nobody."""

    async def wait(self) -> None:
        return

    def done(self) -> None:
        return
