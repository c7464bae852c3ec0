"""What clients notice of an owner that stops, and of versions that meet."""

import pytest
import trio

from osiris.config import Hello
from osiris.server.connection import Peer
from osiris.service import Answer, Ask
from tests.server.fake_service import FakeService
from tests.server.raw_client import (
    INITIALIZE,
    NONCE,
    OWN,
    connected,
    new_host,
    request,
    tool_call,
)

HELLO = Hello(version="0.2.0", nonce=NONCE)


async def never(_ask: Ask) -> Answer:
    await trio.sleep_forever()
    raise AssertionError


async def test_what_is_not_done_within_the_grace_is_not_answered() -> None:
    host = new_host(FakeService(never), grace_s=0.1)
    async with connected(host) as client:
        await client.initialize()
        await client.send(tool_call("late"), request("ping", "ping"))
        assert (await client.reply())["id"] == "ping"

        host.stopping.set()

        with pytest.raises(EOFError):
            await client.reply()


async def test_what_is_done_within_the_grace_is_answered() -> None:
    finish = trio.Event()

    async def reply(_ask: Ask) -> Answer:
        await finish.wait()
        return Answer("done")

    host = new_host(FakeService(reply), grace_s=5)
    async with connected(host) as client:
        await client.initialize()
        await client.send(tool_call("slow"), request("ping", "ping"))
        assert (await client.reply())["id"] == "ping"

        host.stopping.set()
        finish.set()

        assert (await client.reply())["result"]["content"][0]["text"] == "done"
        with pytest.raises(EOFError):
            await client.reply()


@pytest.mark.parametrize(("peer", "met"), [(OWN, ["0.2.0"]), (Peer("other", False), [])])
async def test_the_owner_is_told_the_version_of_its_own_users_bridges(
    peer: Peer, met: list[str]
) -> None:
    versions: list[str] = []
    host = new_host(FakeService(), meets=versions.append)
    async with connected(host, peer, HELLO) as client:
        await client.initialize()

    assert versions == met


async def test_requests_that_came_with_a_hello_that_ends_the_owner_are_left_unanswered() -> None:
    def end(_version: str) -> None:
        ending.stopping.set()

    living, ending = new_host(FakeService()), new_host(FakeService(), meets=end)
    hello = b'{"osiris": 1, "hello": {"version": "9.0", "nonce": "%s"}}' % NONCE.encode()
    first = request(0, "initialize", INITIALIZE)

    async with connected(living) as client:
        await client.send(hello, first)
        assert (await client.reply())["id"] == 0
    async with connected(ending) as client:
        await client.send(hello, first)
        with pytest.raises(EOFError):
            await client.reply()
