"""What calls cost, pending until a unit takes it."""

from itertools import pairwise

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from osiris.core import tokens
from osiris.core.tokens import Count
from osiris_actors.charges import FLUSH_S, MOST_OWED, OWED, SLICE, Charges, Pending


def counted(text: str) -> Count:
    return tokens.exact(len(text))


async def test_what_is_owed_is_counted_when_it_is_taken_by_kind_and_call() -> None:
    asked: list[str] = []

    def count(text: str) -> Count:
        asked.append(text)
        return counted(text)

    charges = Charges(count)
    charges.add("task/a", {"stub": 7})
    charges.owe("task/a", {"arguments": "four", "reply": "yes"})
    charges.owe("task/a", {"arguments": "two", "reply": "no"})
    charges.owe("task/b", {"reply": "other"})
    assert asked == []

    taken = charges.take("task/a")

    assert taken is not None
    assert (taken.tokens, taken.calls) == ({"stub": 7, "arguments": 7, "reply": 5}, 3)
    assert charges.take("task/a") is None
    assert charges.streams() == ("task/b",)


async def test_what_was_taken_and_not_committed_is_taken_again_as_it_was() -> None:
    charges = Charges(counted)
    charges.owe("task/a", {"reply": "four"})
    taken = charges.take("task/a")

    charges.put_back("task/a", taken)
    charges.owe("task/a", {"reply": "one"})

    again = charges.take("task/a")
    assert isinstance(again, Pending)
    assert (again.tokens, again.calls) == ({"reply": 7}, 2)


async def test_more_texts_than_are_kept_are_counted_at_once() -> None:
    asked: list[str] = []

    def count(text: str) -> Count:
        asked.append(text)
        return counted(text)

    charges = Charges(count)
    for _ in range(MOST_OWED):
        charges.owe("task/a", {"reply": "x"})

    assert len(asked) == MOST_OWED
    taken = charges.take("task/a")
    assert taken is not None
    assert (taken.tokens, taken.calls) == ({"reply": MOST_OWED}, MOST_OWED)


async def test_much_that_is_owed_is_counted_along_in_slices() -> None:
    asked: list[str] = []
    at: list[int] = []

    def count(text: str) -> Count:
        asked.append(text)
        return counted(text)

    async def look() -> None:
        while len(asked) < OWED:
            await trio.lowlevel.checkpoint()
            at.append(len(asked))

    charges = Charges(count)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(charges.count_along)
        for number in range(OWED - 1):
            charges.owe(f"task/{number % 4}", {"reply": "x"})
        await trio.testing.wait_all_tasks_blocked()
        assert asked == []
        charges.owe("task/0", {"reply": "x"})
        await look()
        nursery.cancel_scope.cancel()

    assert max(after - before for before, after in pairwise((0, *at))) <= 2 * SLICE
    assert sum(taken(charges, f"task/{number}") for number in range(4)) == OWED


def taken(charges: Charges, stream: str) -> int:
    pending = charges.take(stream)
    assert pending is not None
    return pending.tokens["reply"]


async def test_a_long_text_is_a_slice_of_its_own() -> None:
    asked: list[str] = []

    def count(text: str) -> Count:
        asked.append(text)
        return counted(text)

    charges = Charges(count)
    for _ in range(OWED):
        charges.owe("task/a", {"reply": "x" * 4_096})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(charges.count_along)
        while not asked:
            await trio.lowlevel.checkpoint()
        assert len(asked) <= 2
        nursery.cancel_scope.cancel()


async def test_what_is_pending_is_due_a_second_after_it_came_however_late_that_is(
    autojump_clock: MockClock,
) -> None:
    charges = Charges(counted)
    charges.add("task/a", {"reply": 1})
    await trio.sleep(FLUSH_S / 2)
    charges.add("task/b", {"reply": 1})

    found: list[tuple[float, tuple[str, ...]]] = []
    for _ in range(2):
        await charges.wait()
        due = charges.due(trio.current_time())
        found.append((trio.current_time(), due))
        for stream in due:
            charges.take(stream)

    assert [streams for _, streams in found] == [("task/a",), ("task/b",)]
    assert found[1][0] - found[0][0] == pytest.approx(FLUSH_S / 2)
