import socket

import pytest
import trio
from trio.testing import MockClock, lockstep_stream_pair, wait_all_tasks_blocked

from osiris.server.outbox import BUFFER_BYTES, Outbox


class SlowStream(trio.abc.SendStream):
    """Takes a write when it is told to, and remembers how the bytes were cut."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self._tokens, self._take = trio.open_memory_channel[None](1000)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._take.receive()
        self.writes.append(bytes(data))

    def take(self, count: int = 1) -> None:
        for _ in range(count):
            self._tokens.send_nowait(None)

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


def nothing() -> None:
    pass


async def test_lines_that_meet_on_the_way_out_leave_together_and_in_order() -> None:
    stream = SlowStream()
    outbox = Outbox(stream, nothing)
    async with trio.open_nursery() as nursery:
        for line in (b"1\n", b"2\n", b"3\n"):
            nursery.start_soon(outbox.put, line)
            await wait_all_tasks_blocked()
        stream.take(2)

    assert stream.writes == [b"1\n", b"2\n3\n"]


async def test_a_line_under_way_survives_the_cancellation_of_its_call() -> None:
    ours, theirs = (
        trio.SocketStream(trio.socket.from_stdlib_socket(end)) for end in socket.socketpair()
    )
    outbox = Outbox(ours, nothing)
    line = b"x" * 4_000_000 + b"\n"
    left = len(line)
    call = trio.CancelScope()

    async def put() -> None:
        with call:
            await outbox.put(line)

    with trio.fail_after(5):
        async with ours, theirs, trio.open_nursery() as nursery:
            nursery.start_soon(put)
            await wait_all_tasks_blocked()
            call.cancel()
            while left:
                left -= len(await theirs.receive_some(65_536))

    assert not outbox.is_broken


async def test_putters_wait_while_too_much_is_held_back() -> None:
    stream = SlowStream()
    outbox = Outbox(stream, nothing)
    through: list[int] = []

    async def put(number: int) -> None:
        await outbox.put(b"x" * BUFFER_BYTES)
        through.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(put, number)
            await wait_all_tasks_blocked()
        assert through == [1]
        stream.take()
        await wait_all_tasks_blocked()
        assert through == [1, 2]
        stream.take()

    assert through == [1, 2, 0]
    assert [len(write) for write in stream.writes] == [BUFFER_BYTES, 2 * BUFFER_BYTES]


async def test_a_client_in_a_hurry_is_given_up_sooner(autojump_clock: MockClock) -> None:
    broken: list[float] = []
    outbox = Outbox(SlowStream(), lambda: broken.append(trio.current_time()))
    started = trio.current_time()
    async with trio.open_nursery() as nursery:

        async def put() -> None:
            with pytest.raises(trio.BrokenResourceError):
                await outbox.put(b"line\n")

        nursery.start_soon(put)
        await trio.sleep(5)
        outbox.hurry(1)

    assert broken == [pytest.approx(started + 6)]
    assert autojump_clock.autojump_threshold == 0


async def test_after_a_break_every_put_fails() -> None:
    ours, theirs = lockstep_stream_pair()
    await theirs.aclose()
    breaks: list[None] = []
    outbox = Outbox(ours, lambda: breaks.append(None))

    for _ in range(2):
        with pytest.raises(trio.BrokenResourceError):
            await outbox.put(b"line\n")

    assert breaks == [None]
