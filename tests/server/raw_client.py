"""A client that writes raw lines, over a memory stream, to a real connection."""

import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, get_args

import trio
from trio.testing import memory_stream_pair

from osiris.config import Hello, Settings
from osiris.server.connection import Connection, Host, Peer
from osiris.server.tools import Flavour
from osiris.service import Service

NONCE = "ab" * 16
OWN = Peer("uid:1000", is_own_user=True)
SETTINGS = Settings(home="/nowhere")
FLAVOURS: tuple[Flavour, ...] = get_args(Flavour)

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw client", "version": "1"},
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "modern client", "version": "1"},
}


class RawClient:
    """Sends lines and reads lines; asks by method with ids of its own."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._buffer = b""
        self._ids = count(1)

    async def send(self, *lines: bytes) -> None:
        await self._stream.send_all(b"".join(line + b"\n" for line in lines))

    async def send_bytes(self, data: bytes) -> None:
        await self._stream.send_all(data)

    async def reply(self, within_s: float = 5) -> dict[str, Any]:
        """Return the next line. Raises EOFError when the server has closed."""
        with trio.fail_after(within_s):
            while b"\n" not in self._buffer:
                chunk = await self._stream.receive_some(65_536)
                if not chunk:
                    raise EOFError
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its reply, which must be the next line."""
        request_id = next(self._ids)
        await self.send(request(request_id, method, params))
        reply = await self.reply()
        assert reply["id"] == request_id
        return reply

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool in the handshake era; return the result."""
        result: dict[str, Any] = (
            await self.ask("tools/call", {"name": tool, "arguments": arguments})
        )["result"]
        return result

    async def initialize(self) -> dict[str, Any]:
        reply = await self.ask("initialize", INITIALIZE)
        await self.send(notification("notifications/initialized"))
        return reply

    async def end(self) -> None:
        """Say no more; replies can still be read."""
        assert isinstance(self._stream, trio.abc.HalfCloseableStream)
        await self._stream.send_eof()

    def close_reading(self) -> None:
        """Take no more replies, like a client whose reading end broke."""
        assert isinstance(self._stream, trio.SocketStream)
        self._stream.socket.shutdown(socket.SHUT_RD)

    async def leave(self) -> None:
        await self._stream.aclose()


def request(request_id: Any, method: str, params: dict[str, Any] | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


def tool_call(request_id: Any, tool: str = "osiris_observe", **arguments: Any) -> bytes:
    return request(request_id, "tools/call", {"name": tool, "arguments": arguments})


def new_host(service: Service, settings: Settings = SETTINGS, **more: Any) -> Host:
    return Host(service, settings, lambda: NONCE, trio.Event(), **more)


def settings_of(flavour: Flavour) -> Settings:
    names = "portable" if flavour == "dispatch" else flavour
    return Settings(SETTINGS.home, dispatch_only=flavour == "dispatch", tool_names=names)


@asynccontextmanager
async def connected(
    host: Host, peer: Peer = OWN, hello: Hello | None = None
) -> AsyncGenerator[RawClient]:
    """Yield a client of one connection; the connection must end soon after the client left."""
    theirs, ours = memory_stream_pair()
    client = RawClient(theirs)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Connection(ours, host, peer, hello).run)
        yield client
        await client.leave()
        nursery.cancel_scope.deadline = trio.current_time() + 5


@asynccontextmanager
async def connected_by_socket(host: Host) -> AsyncGenerator[RawClient]:
    """Yield a client over a socket pair, which unlike memory holds only so much."""
    ours, theirs = (
        trio.SocketStream(trio.socket.from_stdlib_socket(end)) for end in socket.socketpair()
    )
    client = RawClient(theirs)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Connection(ours, host, OWN).run)
        yield client
        await client.leave()
        nursery.cancel_scope.deadline = trio.current_time() + 5


@asynccontextmanager
async def initialized(service: Service, settings: Settings = SETTINGS) -> AsyncGenerator[RawClient]:
    """Yield a client that has shaken hands."""
    async with connected(new_host(service, settings)) as client:
        await client.initialize()
        yield client
