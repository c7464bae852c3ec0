"""Other people's clients, each in a process of its own that does as it is told."""

import json
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from tests.e2e.real_home import end
from tests.e2e.session_script import Reply
from tests.server.raw_client import RawClient

ANSWER_S = 60.0
LEAVE_S = 20.0


class Puppet:
    """A `Stranger` at the other end of two pipes."""

    def __init__(self, pipes: RawClient) -> None:
        self.version = ""
        self._pipes = pipes

    async def begin(self) -> None:
        self.version = (await self._pipes.reply(ANSWER_S))["version"]

    async def names(self) -> list[str]:
        names: list[str] = (await self._ask({}))["names"]
        return names

    async def call(self, name: str, arguments: dict[str, Any]) -> Reply:
        said = await self._ask({"call": name, "arguments": arguments})
        return Reply(said["text"], said["is_error"], tuple(said["shape"]))

    async def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        await self._pipes.send(json.dumps(question).encode())
        return await self._pipes.reply(ANSWER_S)


@asynccontextmanager
async def on_strings(player: Sequence[str], settings: dict[str, Any]) -> AsyncGenerator[Puppet]:
    """Yield a connected client that `player` runs; it must leave in order."""
    process = await trio.lowlevel.open_process(
        [*player, json.dumps(settings)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    puppet = Puppet(RawClient(trio.StapledStream(process.stdin, process.stdout)))
    try:
        await puppet.begin()
        yield puppet
        await process.stdin.aclose()
        with trio.fail_after(LEAVE_S):
            assert await process.wait() == 0
    finally:
        await end(process)
        await trio.aclose_forcefully(process.stdin)
        await trio.aclose_forcefully(process.stdout)
