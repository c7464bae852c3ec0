"""A project full of things that must not be read, a task to misuse, and raw lines to do it with."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from subprocess import PIPE
from typing import Any

import pytest
import trio

from osiris.config import project_id
from tests.e2e.real_home import RealHome, end
from tests.server.raw_client import INITIALIZE, RawClient, notification, request

ANSWER_S = 30.0

_ids = count(1)


class Stage:
    """One task in one project of a home with a real owner."""

    def __init__(self, home: RealHome) -> None:
        self.home = home
        self.project = home.project("project")
        self.task = ""

    def lay_out(self) -> None:
        outside = self.home.folder / "outside"
        outside.mkdir()
        (outside / "secret.txt").write_text("nobody may see this\n")
        (self.project / "plain.txt").write_text("one\ntwo\n")
        (self.project / "image.bin").write_bytes(bytes(range(256)) * 16)
        (self.project / "utf16.txt").write_bytes("text".encode("utf-16"))
        (self.project / "nuls.txt").write_bytes(b"\0" * 100)
        (self.project / "large.txt").write_bytes(b"a line, ten\n" * 1_000_000)
        (self.project / "out.txt").symlink_to(outside / "secret.txt")
        (self.project / "out").symlink_to(outside)
        (self.project / "dangling").symlink_to(outside / "not-there.txt")
        (self.project / "ring").symlink_to("ring")
        os.mkfifo(self.project / "pipe")

    async def begin(self) -> None:
        """Start the owner and the task."""
        async with self.shaken() as client:
            result = await call(client, "osiris_plan", mode="start", objective="be misused")
        self.task = text_of(result).partition("task=")[2][:8]

    @asynccontextmanager
    async def shaken(self, roots: str = "@project") -> AsyncGenerator[RawClient]:
        """Yield a client of a bridge that has shaken hands."""
        async with self.silent(roots) as client:
            await client.send(request("hands", "initialize", INITIALIZE))
            assert (await client.reply(ANSWER_S))["id"] == "hands"
            await client.send(notification("notifications/initialized"))
            yield client

    @asynccontextmanager
    async def silent(self, roots: str = "@project") -> AsyncGenerator[RawClient]:
        """Yield a client that has said nothing yet; its bridge must leave in order, unasked."""
        command = self.home.command(roots)
        process = await trio.lowlevel.open_process(
            command, stdin=PIPE, stdout=PIPE, cwd=self.project
        )
        assert process.stdin is not None
        assert process.stdout is not None
        client = RawClient(trio.StapledStream(process.stdin, process.stdout))
        try:
            yield client
            await process.stdin.aclose()
            with pytest.raises(EOFError):
                await _only_refused(client)
            with trio.fail_after(ANSWER_S):
                assert await process.wait() == 0
        finally:
            await end(process)
            await client.leave()

    def stored(self) -> dict[str, Any]:
        """Return all that a call could have left behind, costs apart."""
        project = project_id(os.path.realpath(self.project))
        streams = (f"task/{self.task}", f"project/{project}", "agent/raw-client", "global")
        audit = self.home.ask("audit")
        return {
            "tasks": [task["task"] for task in self.home.ask("tasks")["tasks"]],
            "blobs": (audit["ok"], audit["items_externalized"]),
            **{stream: self.home.events(stream) for stream in streams},
        }


def named(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a tools/call."""
    return {"name": tool, "arguments": arguments}


async def ask(client: RawClient, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request under an id of its own and return its reply, which must be the next line."""
    ident = next(_ids)
    await client.send(request(ident, method, params))
    reply = await client.reply(ANSWER_S)
    assert reply["id"] == ident
    return reply


async def call(client: RawClient, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool in the handshake era and return its result."""
    result: dict[str, Any] = (await ask(client, "tools/call", named(tool, arguments)))["result"]
    return result


def text_of(result: dict[str, Any]) -> str:
    """Return the one text of a tool's result, which must hold nothing else."""
    [part] = result["content"]
    assert part == {"type": "text", "text": part["text"]}
    assert "structuredContent" not in result
    text: str = part["text"]
    return text


async def _only_refused(client: RawClient) -> None:
    """Read to the end of what still comes: a cut last line may be refused, nothing else said."""
    while True:
        assert "error" in await client.reply(ANSWER_S)
