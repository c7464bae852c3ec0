import tracemalloc
from typing import Any

import pytest
import trio
from trio.testing import MockClock, lockstep_stream_pair, wait_all_tasks_blocked

from osiris.server.connection import Connection
from osiris.server.open_requests import OPEN, OpenRequests
from osiris.server.turnstile import Turnstile
from osiris.service import Answer, Ask
from tests.server.fake_service import FakeService, ok
from tests.server.raw_client import (
    INITIALIZE,
    OWN,
    connected,
    connected_by_socket,
    initialized,
    new_host,
    notification,
    request,
    tool_call,
)


class Gate:
    """A reply that waits until it is opened."""

    def __init__(self) -> None:
        self.opened = trio.Event()
        self.waiting = 0
        self.cancelled = 0

    async def __call__(self, ask: Ask) -> Answer:
        self.waiting += 1
        try:
            await self.opened.wait()
        except trio.Cancelled:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        return await ok(ask)


async def test_pipelined_calls_reach_the_service_in_the_order_of_their_lines() -> None:
    service = FakeService()
    async with initialized(service) as client:
        await client.send(*(tool_call(i, n=i) for i in range(1000, 1200)))
        replies = [await client.reply() for _ in range(200)]

    assert [arguments["n"] for arguments in service.arguments] == list(range(1000, 1200))
    assert sorted(reply["id"] for reply in replies) == list(range(1000, 1200))


async def test_at_most_32_calls_run_and_a_flood_is_left_unread() -> None:
    gate = Gate()
    service = FakeService(gate)
    async with initialized(service) as client:
        await client.send(*(tool_call(i, n=i) for i in range(1000, 2000)))
        await wait_all_tasks_blocked()

        assert gate.waiting == 32
        assert len(service.calls) == 32
        gate.opened.set()
        ids = {(await client.reply())["id"] for _ in range(1000)}

    assert ids == set(range(1000, 2000))
    assert len(service.calls) == 1000


async def test_a_client_that_does_not_read_is_not_read_from(autojump_clock: MockClock) -> None:
    async def reply(_ask: Ask) -> Answer:
        await trio.lowlevel.checkpoint()
        return Answer("x" * 16_384)

    service = FakeService(reply)
    theirs, ours = lockstep_stream_pair()
    host = new_host(service)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Connection(ours, host, OWN).run)
        await theirs.send_all(request(0, "initialize", INITIALIZE) + b"\n")
        await theirs.receive_some(10_000)
        sent = 0
        with trio.move_on_after(20):
            for i in range(1, 2 * OPEN):
                await theirs.send_all(tool_call(i) + b"\n")
                sent = i
        assert OPEN <= sent <= OPEN + 8
        assert len(service.calls) <= OPEN + 8
        await theirs.aclose()
    assert autojump_clock.autojump_threshold == 0


async def test_a_client_that_takes_nothing_for_30_seconds_is_cut_off(
    autojump_clock: MockClock,
) -> None:
    theirs, ours = lockstep_stream_pair()
    host = new_host(FakeService())
    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Connection(ours, host, OWN).run)
        await theirs.send_all(request(0, "initialize", INITIALIZE) + b"\n")

    assert trio.current_time() - started == pytest.approx(30)
    assert autojump_clock.autojump_threshold == 0


async def test_a_cancelled_call_gets_no_reply_and_frees_its_place() -> None:
    gate = Gate()
    service = FakeService(gate)
    async with initialized(service) as client:
        await client.send(*(tool_call(i) for i in range(1000, 1040)))
        await wait_all_tasks_blocked()
        await client.send(
            notification("notifications/cancelled", {"requestId": 1000}),
            notification("notifications/cancelled", {"requestId": 1039}),
        )
        await wait_all_tasks_blocked()

        assert (gate.cancelled, gate.waiting) == (1, 32)
        assert len(service.calls) == 33
        gate.opened.set()
        ids = {(await client.reply())["id"] for _ in range(38)}
        assert (await client.ask("ping"))["result"] == {}

    assert ids == set(range(1001, 1039))


async def test_a_call_the_sdk_refuses_holds_nobody_up() -> None:
    async with connected(new_host(FakeService())) as client:
        await client.send(
            tool_call(100),
            request(101, "initialize", INITIALIZE),
            tool_call(102),
            request(
                103, "tools/call", {"name": "x", "arguments": {}, "_meta": {"progressToken": []}}
            ),
            tool_call(104),
        )
        replies = {reply["id"]: reply for reply in [await client.reply() for _ in range(5)]}

    assert replies[100]["error"]["code"] == -32602
    assert replies[102]["result"]["content"][0]["text"] == "ok observe"
    assert replies[103]["error"]["code"] == -32602
    assert replies[104]["result"]["content"][0]["text"] == "ok observe"


async def test_a_repeated_id_is_answered_as_often_as_it_was_sent() -> None:
    service = FakeService()
    async with initialized(service) as client:
        await client.send(tool_call(7, n=1), tool_call(7, n=2), tool_call("7", n=3))
        replies = [await client.reply() for _ in range(3)]
        await client.call("osiris_observe", n=4)

    assert sorted(str(reply["id"]) + type(reply["id"]).__name__ for reply in replies) == [
        "7int",
        "7int",
        "7str",
    ]
    assert [arguments["n"] for arguments in service.arguments] == [1, 2, 3, 4]
    assert [ask.request_id for _, ask in service.calls][:3] == ["i:7", "i:7", "s:7"]


async def test_calls_under_way_are_answered_after_the_client_said_its_last() -> None:
    gate = Gate()
    async with initialized(FakeService(gate)) as client:
        await client.send_bytes(tool_call(1000) + b"\n" + tool_call(1001))
        await client.end()
        await wait_all_tasks_blocked()

        assert gate.waiting == 2
        gate.opened.set()
        ids = {(await client.reply())["id"] for _ in range(2)}
        with pytest.raises(EOFError):
            await client.reply()

    assert ids == {1000, 1001}


async def test_a_cancelled_call_is_not_waited_for_at_the_end(autojump_clock: MockClock) -> None:
    started = trio.current_time()
    async with initialized(FakeService(Gate())) as client:
        await client.send(
            tool_call(1000), notification("notifications/cancelled", {"requestId": 1000})
        )
        await client.end()
        with pytest.raises(EOFError):
            await client.reply()

    assert trio.current_time() == started
    assert autojump_clock.autojump_threshold == 0


def test_a_response_settles_the_request_of_its_id_that_is_through() -> None:
    turnstile, requests = Turnstile(), OpenRequests()
    running, through = turnstile.ticket(), turnstile.ticket()
    requests.add(7, 100, running)
    requests.add(7, 100, through)
    through.end()

    requests.settle(7)
    requests.settle("7")

    assert len(requests) == 1
    assert not running.is_ended


async def test_half_a_line_at_the_end_is_answered() -> None:
    async with initialized(FakeService()) as client:
        await client.send_bytes(b'{"jsonrpc":"2.0","id":9,"method":"tools/ca')
        await client.end()
        reply = await client.reply()

    assert (reply["id"], reply["error"]["code"]) == (9, -32700)


async def test_a_call_that_outlives_its_client_is_ended(autojump_clock: MockClock) -> None:
    gate = Gate()
    started = trio.current_time()
    async with initialized(FakeService(gate)) as client:
        await client.send(tool_call(1000))
        await client.end()
        reply = await client.reply()

    assert reply["error"]["code"] == -32000
    assert gate.cancelled == 1
    assert trio.current_time() - started == pytest.approx(1.5)
    assert autojump_clock.autojump_threshold == 0


async def test_a_closed_pipe_ends_the_connection_at_once(autojump_clock: MockClock) -> None:
    gate = Gate()
    async with connected_by_socket(new_host(FakeService(gate))) as client:
        await client.initialize()
        await client.send(tool_call(1), tool_call(2))
        client.close_reading()
        await client.send(request(3, "ping"))
        await wait_all_tasks_blocked()

        assert gate.cancelled == 2
    assert autojump_clock.autojump_threshold == 0


async def test_a_line_without_end_takes_bounded_memory_and_is_answered() -> None:
    async with connected_by_socket(new_host(FakeService())) as client:
        await client.initialize()
        tracemalloc.start()
        await client.send_bytes(b'{"jsonrpc":"2.0","id":55,"method":"x","params":{"a":"')
        piece = b"x" * 65_536
        for _ in range(200 * 16):
            await client.send_bytes(piece)
        await client.send_bytes(b'"}}\n')
        reply = await client.reply()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        pong = await client.ask("ping")

    assert reply["id"] == 55
    assert reply["error"]["message"].startswith("error line_too_long: 209,715,")
    assert pong["result"] == {}
    assert peak < 16 * 1024 * 1024


async def test_long_lines_are_parsed_elsewhere_and_keep_their_order() -> None:
    threads: list[int] = []

    async def offload(parse: Any, line: bytes) -> Any:
        threads.append(len(line))
        return await trio.to_thread.run_sync(parse, line)

    service = FakeService()
    async with connected(new_host(service, offload=offload)) as client:
        await client.initialize()
        await client.send(tool_call(10, n=1, text="x" * 300_000), tool_call(11, n=2))
        replies = {(await client.reply())["id"] for _ in range(2)}

    assert replies == {10, 11}
    assert [arguments["n"] for arguments in service.arguments] == [1, 2]
    assert len(threads) == 1
