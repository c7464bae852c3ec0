"""The SDK's own client over one of our connections."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import anyio.abc
import trio
from mcp.client.client import Client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from trio.testing import memory_stream_pair

from osiris.server.connection import Connection, Host
from tests.server.raw_client import OWN


class _Streams(anyio.abc.AsyncResource):
    """Both streams the SDK's client wants, over lines; written against the SDK alone."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._messages = self._read()

    async def _read(self) -> AsyncIterator[SessionMessage | Exception]:
        held = b""
        while chunk := await self._stream.receive_some(65_536):
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                yield SessionMessage(message)

    async def send(self, item: SessionMessage, /) -> None:
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        await self._stream.send_all(line.encode() + b"\n")

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await anext(self._messages)

    async def receive(self) -> SessionMessage | Exception:
        return await anext(self._messages)

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def sdk_client(host: Host, mode: str) -> AsyncGenerator[Client]:
    """Yield a connected client; `mode` is "legacy" or a protocol version without handshake."""
    theirs, ours = memory_stream_pair()

    @asynccontextmanager
    async def transport() -> AsyncGenerator[tuple[_Streams, _Streams]]:
        streams = _Streams(theirs)
        yield streams, streams

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Connection(ours, host, OWN).run)
        async with Client(transport(), mode=mode) as client:
            yield client
        nursery.cancel_scope.deadline = trio.current_time() + 5
