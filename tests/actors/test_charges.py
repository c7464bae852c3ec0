"""What calls cost, pending until a unit takes it."""

from osiris.core import tokens
from osiris.core.tokens import Count
from osiris_actors.charges import MOST_OWED, Charges, Pending


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
