"""Who would wait if the owner paused: open requests of all connections, and who asks the desk."""

from collections.abc import Mapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from osiris.life import Attended
from osiris.server.connection import Connection
from osiris.server.open_requests import OpenRequests
from osiris.service import Answer, Ask, Traffic
from osiris_actors.presence import Presence
from tests.server.fake_service import FakeService, ok
from tests.server.raw_client import OWN, connected, new_host, tool_call

NOTHING: Mapping[str, Any] = {}


@pytest.fixture
def traffic() -> Traffic:
    return Traffic()


def opened(traffic: Traffic, *ids: int) -> OpenRequests:
    requests = OpenRequests(traffic)
    for request_id in ids:
        requests.add(request_id, 100, None)
    return requests


def test_a_request_counts_until_it_is_settled(traffic: Traffic) -> None:
    requests = opened(traffic, 1, 2, 2)
    assert traffic.under_way == 3

    requests.settle(2)
    assert traffic.under_way == 2
    requests.settle(1)
    requests.settle(1)
    assert traffic.under_way == 1


async def test_a_request_that_the_sdk_does_not_answer_counts_no_more(traffic: Traffic) -> None:
    requests = opened(traffic, 1)

    await requests.settle_unanswered(1)

    assert traffic.under_way == 0


def test_who_leaves_takes_out_its_own_and_what_settles_late_does_not_count_twice(
    traffic: Traffic,
) -> None:
    other, requests = opened(traffic, 1), opened(traffic, 1, 2)
    requests.leave()
    assert traffic.under_way == 1

    requests.settle(1)
    requests.leave()
    assert traffic.under_way == 1
    other.leave()
    assert traffic.under_way == 0


class Gate:
    """Replies when it is opened."""

    def __init__(self) -> None:
        self.opened = trio.Event()

    async def __call__(self, ask: Ask) -> Answer:
        await self.opened.wait()
        return await ok(ask)


async def test_the_calls_of_two_connections_count_together_until_they_are_answered(
    traffic: Traffic,
) -> None:
    gate = Gate()
    host = new_host(FakeService(gate), traffic=traffic)
    async with connected(host) as one, connected(host) as other:
        for client in (one, other):
            await client.initialize()
        await wait_all_tasks_blocked()
        assert traffic.under_way == 0

        await one.send(tool_call(100), tool_call(101))
        await other.send(tool_call(100))
        await wait_all_tasks_blocked()
        assert traffic.under_way == 3

        gate.opened.set()
        for client in (one, one, other):
            await client.reply()
        await wait_all_tasks_blocked()
        assert traffic.under_way == 0


@pytest.mark.parametrize("who", ["client", "owner"])
async def test_a_connection_that_ends_with_calls_under_way_leaves_none_behind(
    traffic: Traffic, autojump_clock: MockClock, who: str
) -> None:
    host = new_host(FakeService(Gate()), traffic=traffic)
    async with connected(host) as client:
        await client.initialize()
        await client.send(tool_call(100), tool_call(101))
        await wait_all_tasks_blocked()
        assert traffic.under_way == 2
        if who == "owner":
            host.stopping.set()
            with pytest.raises(EOFError):
                await client.reply(host.grace_s + 1)

    assert traffic.under_way == 0


async def test_a_request_that_nobody_answers_counts_until_its_connection_ends(
    traffic: Traffic, autojump_clock: MockClock
) -> None:
    theirs, ours = memory_stream_pair()
    connection = Connection(ours, new_host(FakeService(), traffic=traffic), OWN)
    connection._transport.requests.add(7, 100, None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        await wait_all_tasks_blocked()
        assert traffic.under_way == 1
        await theirs.aclose()

    assert traffic.under_way == 0


class Desk:
    """Answers when it is let, with an error if it has one, and notes how many were asking."""

    def __init__(self, traffic: Traffic) -> None:
        self.let = trio.Event()
        self.error: Exception | None = None
        self.asking: list[int] = []
        self._traffic = traffic

    async def ask(
        self, op: str, args: Mapping[str, Any], body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        self.asking.append(self._traffic.under_way)
        await self.let.wait()
        if self.error is not None:
            raise self.error
        return {"op": op}, body


@pytest.fixture
def desk(traffic: Traffic) -> Desk:
    return Desk(traffic)


@pytest.fixture
def attended(desk: Desk, traffic: Traffic) -> Attended:
    return Attended(desk, Presence(60), traffic)


@pytest.mark.parametrize("op", ["hook", "health"])
async def test_who_asks_the_desk_counts_while_it_is_asked_and_not_after(
    desk: Desk, attended: Attended, traffic: Traffic, op: str
) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(attended.ask, op, NOTHING, b"")
        await wait_all_tasks_blocked()
        assert desk.asking == [1, 2]
        assert traffic.under_way == 2
        desk.let.set()

    assert traffic.under_way == 0


async def test_a_desk_that_raises_does_not_count_after_it(
    desk: Desk, attended: Attended, traffic: Traffic
) -> None:
    desk.error = LookupError("no such task")
    desk.let.set()

    with pytest.raises(LookupError):
        await attended.ask("show", NOTHING, b"")

    assert (desk.asking, traffic.under_way) == ([1], 0)


async def test_who_is_cancelled_at_the_desk_does_not_count_after_it(
    desk: Desk, attended: Attended, traffic: Traffic, nursery: trio.Nursery
) -> None:
    nursery.start_soon(attended.ask, "health", NOTHING, b"")
    await wait_all_tasks_blocked()
    nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True):
        await wait_all_tasks_blocked()

    assert (desk.asking, traffic.under_way) == ([1], 0)
