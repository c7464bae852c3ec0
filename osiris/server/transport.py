"""Newline JSON-RPC over one trio stream: the two seams the MCP SDK reads from and writes to.

Rule 1: a line that cannot be a message is answered here and never reaches the SDK.
Rule 2: while too many requests are open nothing is read, so a client that does not take its
        replies stops itself and nobody else.
Rule 3: tool calls get their ticket here, where their order is still known.
Rule 4: when the client has said its last, open requests get `drain_s` to be answered.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Self, cast

import anyio
import anyio.abc
import msgspec
import trio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from osiris.server.line_id import recover_cut_id
from osiris.server.lines import MAX_LINE_BYTES, LineError, line_error, parse_line
from osiris.server.open_requests import OpenRequests
from osiris.server.outbox import Outbox
from osiris.server.splitter import CutLine, LineSplitter
from osiris.server.turnstile import Ticket, Turnstile
from osiris.service import Traffic

DRAIN_S = 1.5
READ_BYTES = 64 * 1024
THREAD_BYTES = 256 * 1024  # longer lines are parsed in a thread: 8 MiB take a tenth of a second

Parsed = dict[str, Any] | LineError
Offload = Callable[[Callable[[bytes], Parsed], bytes], Awaitable[Parsed]]
Clean = Callable[[str], str]
Seat = Callable[[Ticket | None], object]

_encode = msgspec.json.Encoder().encode


class _Seam(anyio.abc.AsyncResource):
    """What the SDK expects of a stream besides its one verb."""

    async def aclose(self) -> None:
        """Do nothing: whoever opened the stream closes it."""


class LineReader(_Seam):
    """The read seam. `seat` makes what handlers find in `ctx.request`."""

    def __init__(
        self,
        stream: trio.abc.ReceiveStream,
        outbox: Outbox,
        requests: OpenRequests,
        seat: Seat,
        offload: Offload,
    ) -> None:
        self._stream = stream
        self._outbox = outbox
        self._requests = requests
        self._seat = seat
        self._offload = offload
        self._turnstile = Turnstile()
        self._splitter = LineSplitter()
        self._lines: deque[bytes | CutLine] = deque()
        self._receiving = trio.CancelScope()
        self._is_ended = False
        self._drain_s = DRAIN_S

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while (line := await self.next_line()) is not None:
            message = await self._message(line)
            if message is not None:
                return message
        with trio.move_on_after(self._drain_s):
            await self._requests.none()
        raise StopAsyncIteration

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Raises anyio.EndOfStream after the last."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def next_line(self) -> bytes | CutLine | None:
        """Return the next line that is not blank, or None after the last."""
        while True:
            while self._lines:
                line = self._lines.popleft()
                if isinstance(line, CutLine) or not (line == b"" or line.isspace()):
                    return line
            if self._is_ended:
                return None
            await self._receive_lines()

    def unread(self, line: bytes | CutLine) -> None:
        """Put back a line that `next_line` returned."""
        self._lines.appendleft(line)

    def stop(self, drain_s: float) -> None:
        """Read no more; open requests get `drain_s`. Lines not yet read are not answered."""
        self._lines.clear()
        self._is_ended = True
        self._drain_s = drain_s
        self._receiving.cancel()

    async def _receive_lines(self) -> None:
        chunk: bytes | bytearray = b""
        with trio.CancelScope() as self._receiving:
            try:
                chunk = await self._stream.receive_some(READ_BYTES)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._requests.abandon()
        if chunk:
            self._lines.extend(self._splitter.feed(bytes(chunk)))
        elif not self._is_ended:
            self._lines.extend(self._splitter.finish())
            self._is_ended = True

    async def _message(self, line: bytes | CutLine) -> SessionMessage | None:
        """Return what the SDK should see of `line`; answer a line that it should not see."""
        if isinstance(line, CutLine):
            await self.refuse(_too_long(line))
            return None
        is_long = len(line) > THREAD_BYTES
        parsed = await self._offload(parse_line, line) if is_long else parse_line(line)
        if isinstance(parsed, LineError):
            await self.refuse(parsed)
            return None
        if "method" in parsed and "id" in parsed:
            return await self._request(parsed, len(line))
        return _other(parsed)

    async def refuse(self, error: LineError) -> None:
        reply = {"code": error.code, "message": error.text}
        line = _encode({"jsonrpc": "2.0", "id": error.id, "error": reply}) + b"\n"
        try:
            await self._outbox.put(line)
        except trio.BrokenResourceError:
            self._lines.clear()
            self._is_ended = True

    async def _request(self, message: dict[str, Any], size_bytes: int) -> SessionMessage:
        await self._requests.room(size_bytes)
        request = JSONRPCRequest(
            jsonrpc="2.0",
            id=message["id"],
            method=message["method"],
            params=message.get("params"),
        )
        ticket = self._turnstile.ticket() if request.method == "tools/call" else None
        self._requests.add(request.id, size_bytes, ticket)
        metadata = ServerMessageMetadata(
            request_context=self._seat(ticket),
            on_request_unanswered=partial(self._requests.settle_unanswered, request.id),
        )
        return SessionMessage(request, metadata)


class LineWriter(_Seam):
    """The write seam. A response settles its request, sent or not.

    The SDK's errors quote what was sent: `clean` takes the secrets out of them.
    """

    def __init__(self, outbox: Outbox, requests: OpenRequests, clean: Clean) -> None:
        self._outbox = outbox
        self._requests = requests
        self._clean = clean

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message. Raises anyio.BrokenResourceError, which the SDK swallows."""
        message = item.message
        if isinstance(message, JSONRPCError):
            message = _cleaned(message, self._clean)
        try:
            await self._outbox.put(_line(message))
        except trio.BrokenResourceError:
            raise anyio.BrokenResourceError from None
        finally:
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                self._requests.settle(message.id)


class LineTransport:
    """Both seams over one stream. `seat` makes what handlers find in `ctx.request`."""

    def __init__(
        self,
        stream: trio.abc.Stream,
        seat: Seat,
        *,
        offload: Offload | None = None,
        clean: Clean = str,
        traffic: Traffic | None = None,
    ) -> None:
        self.requests = OpenRequests(traffic)
        self._outbox = Outbox(stream, self._give_up)
        self.reader = LineReader(stream, self._outbox, self.requests, seat, offload or _in_thread)
        self.writer = LineWriter(self._outbox, self.requests, clean)

    def stop(self, drain_s: float) -> None:
        """Read no more; give open requests `drain_s` to be answered."""
        self.reader.stop(drain_s)

    def hurry(self, stall_s: float = 1.0) -> None:
        """Give a client that takes nothing only `stall_s` from now on."""
        self._outbox.hurry(stall_s)

    def _give_up(self) -> None:
        self.requests.abandon()
        self.reader.stop(0)


async def _in_thread(parse: Callable[[bytes], Parsed], line: bytes) -> Parsed:
    return await trio.to_thread.run_sync(parse, line)


def _too_long(line: CutLine) -> LineError:
    what = f"{line.size_bytes:,} bytes, at most {MAX_LINE_BYTES:,} fit"
    return line_error("line_too_long", what, recover_cut_id(line.head, line.tail))


def _line(message: JSONRPCMessage) -> bytes:
    if isinstance(message, JSONRPCResponse):
        return _encode({"jsonrpc": "2.0", "id": message.id, "result": message.result}) + b"\n"
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _cleaned(error: JSONRPCError, clean: Clean) -> JSONRPCError:
    """Return an error whose texts are clean; the data of one are a text or a flat object."""
    said = error.error
    data: object = said.data
    if isinstance(data, str):
        data = clean(data)
    elif isinstance(data, dict):
        flat = cast("dict[str, object]", data)
        data = {key: clean(text) if isinstance(text, str) else text for key, text in flat.items()}
    update = {"message": clean(said.message), "data": data}
    return error.model_copy(update={"error": said.model_copy(update=update)})


def _other(message: dict[str, Any]) -> SessionMessage | None:
    """Return a notification or a response; a response the SDK cannot read is dropped."""
    if "method" in message:
        params = message.get("params")
        notification = JSONRPCNotification(jsonrpc="2.0", method=message["method"], params=params)
        return SessionMessage(notification)
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
    except ValidationError:
        return None
