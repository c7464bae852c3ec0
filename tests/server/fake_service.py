"""A service with the real interface that remembers what it was asked."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from osiris.service import Answer, Ask, Caller, Turn

Reply = Callable[[Ask], Awaitable[Answer]]


async def ok(ask: Ask) -> Answer:
    return Answer(f"ok {ask.tool}")


class FakeService:
    """Answers by `reply`, after the call's turn came and its mailbox (a list) took it."""

    def __init__(self, reply: Reply = ok) -> None:
        self._reply = reply
        self.calls: list[tuple[Caller, Ask]] = []
        self.reads: list[str] = []
        self.listings: list[tuple[Caller, str, str]] = []

    @property
    def arguments(self) -> list[dict[str, Any]]:
        return [dict(ask.arguments) for _, ask in self.calls]

    async def call(self, caller: Caller, ask: Ask, turn: Turn) -> Answer:
        await turn.wait()
        self.calls.append((caller, ask))
        turn.done()
        return await self._reply(ask)

    async def read_resource(self, caller: Caller, uri: str) -> Answer:
        self.reads.append(uri)
        await trio.lowlevel.checkpoint()
        if uri.endswith("unknown"):
            return Answer("error unknown_ref: no such ref | fix: use a ref of this task", True)
        return Answer(f"content of {uri} for {caller.client}")

    def clean(self, text: str) -> str:
        return text.replace("hunter2", "[[secret]]")

    def listed(self, caller: Caller, schemas: str, instructions: str) -> None:
        self.listings.append((caller, schemas, instructions))
