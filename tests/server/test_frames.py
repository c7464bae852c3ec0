import ast
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from osiris.doors import frames
from osiris.doors.desk_server import Accepts, serve_desk
from osiris.doors.frames import FrameError, ask, pack


class FakeDesk:
    """Answers with what it was asked, the body reversed."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], int]] = []

    async def ask(
        self, op: str, args: Mapping[str, Any], body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        await trio.lowlevel.checkpoint()
        self.asked.append((op, dict(args), len(body)))
        match op:
            case "fail":
                raise ValueError("planted-secret")
            case "refuse":
                return {"error": "unknown_ref", "what": "no such ref", "fix": "look again"}, b""
            case "mumble":
                return {"text": b"no JSON"}, b""
            case "flood":
                return {"text": "é" * args["characters"]}, body
            case _:
                return {"op": op, **args}, body[::-1]


@asynccontextmanager
async def desk_socket(
    desk: FakeDesk, accepts: Accepts | None = None
) -> AsyncGenerator[socket.socket]:
    """Yield the blocking end of a served connection."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(5)
    async with trio.open_nursery() as nursery:
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        nursery.start_soon(serve_desk, stream, desk, accepts)
        with theirs:
            yield theirs


async def asked(sock: socket.socket, *request: Any, **more: Any) -> tuple[dict[str, Any], bytes]:
    return await trio.to_thread.run_sync(lambda: ask(sock, *request, **more))


async def sent(data: bytes) -> dict[str, Any]:
    """Return what raw bytes are answered with, which must be the last answer."""
    theirs, ours = memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_desk, ours, FakeDesk())
        await theirs.send_all(data)
        await theirs.send_eof()
        with trio.fail_after(5):
            received = b"".join([piece async for piece in theirs])
    length = int.from_bytes(received[:4], "big")
    header, body_bytes = frames.parse_header(received[4 : 4 + length])
    assert len(received) == 4 + length
    assert body_bytes == 0
    return header


async def test_a_desk_answers_one_client_several_times() -> None:
    desk = FakeDesk()
    body = bytes(range(256)) * 20_000
    async with desk_socket(desk) as sock:
        first = await asked(sock, "put", {"name": "é"}, body)
        second = await asked(sock, "get", {})

    assert first == ({"op": "put", "name": "é", "body_bytes": len(body)}, body[::-1])
    assert second == ({"op": "get", "body_bytes": 0}, b"")
    assert desk.asked == [("put", {"name": "é"}, len(body)), ("get", {}, 0)]


async def test_a_refusal_and_a_failure_are_answers(caplog: pytest.LogCaptureFixture) -> None:
    async with desk_socket(FakeDesk()) as sock:
        refused, _ = await asked(sock, "refuse", {})
        failed, _ = await asked(sock, "fail", {})
        flooded, _ = await asked(sock, "flood", {"characters": frames.MAX_BODY_BYTES // 6})
        crowded, _ = await asked(sock, "flood", {"characters": frames.MAX_HEADER_BYTES}, b"body")
        mumbled, _ = await asked(sock, "mumble", {})
        after, _ = await asked(sock, "get", {})

    assert refused["error"] == "unknown_ref"
    assert (failed["error"], failed["what"]) == ("actor_died", "'fail' failed inside the owner")
    assert flooded["error"] == crowded["error"] == "payload_too_large"
    assert mumbled["error"] == "actor_died"
    assert after["op"] == "get"
    assert "planted-secret" not in caplog.text


HEADERS = [
    pytest.param(b"\x00\x00\x00\x00", "bad_request", id="empty header"),
    pytest.param(b"\x00\x10\x00\x01", "bad_request", id="header over 1 MiB"),
    pytest.param(b"GET / HTTP/1.1\r\n\r\n", "bad_request", id="another protocol"),
    pytest.param(b"\x00\x00\x00\x05{oops", "bad_json", id="no JSON"),
    pytest.param(b"\x00\x00\x00\x02[]", "bad_json", id="no object"),
    pytest.param(b"\x00\x00\x00\x02\xff\xff", "bad_json", id="no UTF-8"),
    pytest.param(b'\x00\x00\x00\x13{"body_bytes":true}', "bad_request", id="length: a boolean"),
    pytest.param(b'\x00\x00\x00\x11{"body_bytes":-1}', "bad_request", id="negative length"),
    pytest.param(b'\x00\x00\x00\x17{"body_bytes":67108865}', "payload_too_large", id="65 MiB"),
]


@pytest.mark.parametrize(("data", "code"), HEADERS)
async def test_what_is_no_frame_is_answered_once(data: bytes, code: str) -> None:
    answer = await sent(data)

    assert answer["error"] == code
    assert answer["what"]
    assert answer["fix"]


@pytest.mark.parametrize("header", [{}, {"op": 5, "args": {}}, {"op": "get", "args": []}])
async def test_a_question_of_the_wrong_shape_is_refused(header: dict[str, Any]) -> None:
    answer = await sent(pack(header, 0))

    assert answer["error"] == "bad_request"


@pytest.mark.parametrize("over", [-64, -1, 0, 1, 1_000_000])
async def test_a_reply_that_is_too_long_for_a_header_arrives_all_the_same(over: int) -> None:
    empty = len('{"text":""}')
    characters = (frames.MAX_HEADER_BYTES - empty + over) // 6
    async with desk_socket(FakeDesk()) as sock:
        answer, body = await asked(sock, "flood", {"characters": characters})
        after, _ = await asked(sock, "get", {})

    assert (answer["text"], body) == ("é" * characters, b"")
    assert after["op"] == "get"


async def test_a_frame_that_does_not_fit_is_not_sent() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(FrameError) as body:
            ask(ours, "put", {}, bytes(frames.MAX_BODY_BYTES + 1))
        with pytest.raises(FrameError) as header:
            ask(ours, "put", {"a": "x" * frames.MAX_HEADER_BYTES})
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(1)

    assert body.value.code == header.value.code == "payload_too_large"


async def test_each_question_over_tcp_carries_the_token() -> None:
    desk = FakeDesk()
    async with desk_socket(desk, lambda token: token == "right") as sock:
        welcome, _ = await asked(sock, "get", {}, token="right")
        refused, _ = await asked(sock, "get", {}, token="wrong")
        with pytest.raises(OSError, match=r"closed|reset|Broken"):
            await asked(sock, "get", {}, token="right")

    assert welcome["op"] == "get"
    assert (refused["error"], len(desk.asked)) == ("bad_request", 1)


async def test_a_stopping_owner_answers_what_it_was_asked_and_lets_idle_clients_go() -> None:
    stopping = trio.Event()
    theirs, ours = memory_stream_pair()
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_desk, ours, FakeDesk(), None, stopping)
            await wait_all_tasks_blocked()
            await theirs.send_all(pack({"op": "get", "args": {}}, 0)[:9])
            await wait_all_tasks_blocked()
            stopping.set()
            await theirs.send_all(pack({"op": "get", "args": {}}, 0)[9:])
            received = b"".join([piece async for piece in theirs])

    assert received.endswith(b'{"op":"get","body_bytes":0}')


async def test_a_client_that_stops_in_the_middle_is_let_go(autojump_clock: MockClock) -> None:
    theirs, ours = memory_stream_pair()
    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_desk, ours, FakeDesk())
        await theirs.send_all(pack({"op": "put", "args": {}}, 10) + b"half")

    assert trio.current_time() - started == pytest.approx(30)
    assert autojump_clock.autojump_threshold == 0


async def test_a_client_that_closes_on_its_unread_answer_harms_nobody() -> None:
    async with desk_socket(FakeDesk()) as theirs:
        theirs.sendall(pack({"op": "get", "args": {}}, 0))
        first = await trio.to_thread.run_sync(theirs.recv, 1)  # the rest makes it a reset

    assert first == b"\0"


def test_an_owner_that_dies_in_the_middle_is_an_error_of_the_connection() -> None:
    ours, theirs = socket.socketpair()

    def die() -> None:
        theirs.recv(65_536)
        theirs.sendall(b"\x00\x00")
        theirs.close()

    dying = threading.Thread(target=die)
    dying.start()
    with ours, pytest.raises(ConnectionError):
        ask(ours, "get", {})
    dying.join()


def test_the_client_half_needs_the_standard_library_alone() -> None:
    tree = ast.parse(Path(frames.__file__).read_text(encoding="utf-8"))
    names = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    assert {str(name).partition(".")[0] for name in names} <= sys.stdlib_module_names
