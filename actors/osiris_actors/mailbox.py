"""A bounded mailbox: ask with a deadline, never wait to enter, never lose an answer.

Rule 1: a full mailbox answers `busy` at once; nothing was done.
Rule 2: an ask ends with an answer, a refusal or its deadline; past it the outcome is what the
        same key says later.
Rule 3: `Cancelled` never crosses a mailbox: the asker's stops the asker, the actor's makes it
        answer everyone who waits.
"""

from typing import Generic, TypeVar

import trio

from osiris.core.errors import Refusal

M = TypeVar("M")
R = TypeVar("R")

SIZE = 256
ASK_S = 30.0

BUSY = Refusal("busy", "the queue is full; nothing was done", "call again in 200 ms")
LATE = Refusal(
    "timeout", "no answer in time", "send the same call again: its key knows the outcome"
)
DIED = Refusal("actor_died", "the actor stopped before it answered", "call again")


class Envelope(Generic[M, R]):
    """A message, its deadline, and the place for its answer."""

    __slots__ = ("_answer", "_answered", "deadline", "message")

    def __init__(self, message: M, deadline: float) -> None:
        self.message = message
        self.deadline = deadline
        self._answered = trio.Event()
        self._answer: R | Refusal = DIED

    def answer(self, value: R | Refusal) -> None:
        """Give the answer; the first one counts."""
        if not self._answered.is_set():
            self._answer = value
            self._answered.set()

    async def wait(self) -> R | Refusal:
        """Return the answer, or that it is late."""
        with trio.move_on_at(self.deadline):
            await self._answered.wait()
            return self._answer
        return LATE


class Mailbox(Generic[M, R]):
    """The way into one actor."""

    def __init__(self, size: int = SIZE) -> None:
        self._send, self._receive = trio.open_memory_channel[Envelope[M, R]](size)
        self._closed: Refusal | None = None

    def post(self, message: M, *, within_s: float = ASK_S) -> Envelope[M, R]:
        """Put `message` in without waiting; the envelope already says `busy` when it is full."""
        envelope = Envelope[M, R](message, trio.current_time() + within_s)
        if self._closed is not None:
            envelope.answer(self._closed)
            return envelope
        try:
            self._send.send_nowait(envelope)
        except trio.WouldBlock:
            envelope.answer(BUSY)
        return envelope

    async def ask(self, message: M, *, within_s: float = ASK_S) -> R | Refusal:
        """Return the answer to `message`, or why there is none."""
        return await self.post(message, within_s=within_s).wait()

    async def receive(self) -> Envelope[M, R]:
        """Return the next envelope that is still worth handling."""
        while True:
            envelope = await self._receive.receive()
            if envelope.deadline > trio.current_time():
                return envelope
            envelope.answer(LATE)

    @property
    def depth(self) -> int:
        return self._receive.statistics().current_buffer_used

    def close(self, why: Refusal = DIED) -> None:
        """Answer everyone who waits, and whoever asks from now on, with `why`."""
        self._closed = why
        while True:
            try:
                self._receive.receive_nowait().answer(why)
            except trio.WouldBlock:
                return
