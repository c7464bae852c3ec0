"""The owner's side of doors.sock.

Rule 1: one client asks one thing at a time; several in a row on one connection.
Rule 2: what is no frame is answered once, then the connection closes: its next byte means nothing.
Rule 3: a desk that fails answers `actor_died`; the next question works.
"""

import logging
from collections.abc import Callable
from typing import Any

import trio

from osiris.doors.frames import (
    LENGTH_BYTES,
    PIECE_BYTES,
    FrameError,
    header_length,
    pack,
    parse_header,
    refusal,
    reply,
)
from osiris.service import Desk

FRAME_S = 30.0  # for a frame that has begun, and for a client to take its reply

_log = logging.getLogger(__name__)

Accepts = Callable[[str | None], bool]


async def serve_desk(
    stream: trio.abc.Stream,
    desk: Desk,
    accepts: Accepts | None = None,
    stopping: trio.Event | None = None,
) -> None:
    """Answer one client until it leaves, or until `stopping` finds it idle.

    `accepts` judges the token of each request; None where the socket keeps strangers out.
    Raises nothing but cancellation.
    """
    async with stream:
        try:
            while first := await _first_bytes(stream, stopping):
                if not await _serve_one(stream, desk, accepts, first):
                    return
        except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            return


async def _first_bytes(stream: trio.abc.Stream, stopping: trio.Event | None) -> bytes:
    """Return the first bytes of a frame; none when the client left or the owner stops."""
    first = b""
    async with trio.open_nursery() as race:
        if stopping is not None:
            race.start_soon(_cancel_at, stopping, race.cancel_scope)
        try:
            first = bytes(await stream.receive_some(LENGTH_BYTES))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            first = b""  # out of the nursery it would come as a group that nobody expects
        race.cancel_scope.cancel()
    return first


async def _cancel_at(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


async def _serve_one(
    stream: trio.abc.Stream, desk: Desk, accepts: Accepts | None, first: bytes
) -> bool:
    """Answer the request that begins with `first`; return whether another may follow."""
    try:
        with trio.fail_after(FRAME_S):
            header, body = await _receive_frame(stream, first)
    except FrameError as error:
        await _send(stream, *_refused(error.code, error.what, error.fix))
        return False
    if accepts and not accepts(header.get("token")):
        await _send(stream, *_refused("bad_request", "no valid token", "read run/token"))
        return False
    await _send(stream, *await _answer(desk, header, body))
    return True


async def _answer(desk: Desk, header: dict[str, Any], body: bytes) -> tuple[bytes, bytes]:
    """Return the frame that answers a request; an answer that fits no frame is a failure too."""
    op: object = header.get("op")
    args: dict[str, Any] = header.get("args", {})
    if not isinstance(op, str) or not _is_object(args):
        return _refused("bad_request", "op or args is missing", "send op and an object args")
    try:
        answer, raw = await desk.ask(op, args, body)
        return reply(answer, raw)
    except FrameError as error:
        return _refused(error.code, error.what, error.fix)
    except Exception as error:  # noqa: BLE001  a transport's top: the next question works
        _log.error("the desk failed on %.40r: %s", op, type(error).__name__)
        what = f"{op[:40]!r} failed inside the owner"
        return _refused("actor_died", what, "ask again; the owner's log says more")


def _refused(code: str, what: str, fix: str) -> tuple[bytes, bytes]:
    return pack(refusal(code, what, fix), 0), b""


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


async def _receive_frame(stream: trio.abc.Stream, first: bytes) -> tuple[dict[str, Any], bytes]:
    length = header_length(await _receive(stream, LENGTH_BYTES, first))
    header, body_bytes = parse_header(await _receive(stream, length))
    return header, await _receive(stream, body_bytes)


async def _receive(stream: trio.abc.Stream, size_bytes: int, held: bytes = b"") -> bytes:
    buffer = bytearray(held)
    while len(buffer) < size_bytes:
        piece = await stream.receive_some(min(PIECE_BYTES, size_bytes - len(buffer)))
        if not piece:
            raise trio.BrokenResourceError("the client left in the middle of a frame")
        buffer += piece
    return bytes(buffer)


async def _send(stream: trio.abc.Stream, start: bytes, body: bytes) -> None:
    with trio.fail_after(FRAME_S):
        await stream.send_all(start)
        if body:
            await stream.send_all(body)
