"""What a new owner has to hear, decided without any owner."""

import json
from typing import Any

import pytest

from osiris import replay as replays
from osiris.envelope import Id, peek
from osiris.replay import Replay


def line(method: str | None = None, ident: Id | None = None, **fields: Any) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "id": ident, **fields}
    return json.dumps({key: value for key, value in message.items() if value is not None}).encode()


def say(replay: Replay, *lines: bytes) -> None:
    for each in lines:
        replay.said(each, peek(each))


def answer(replay: Replay, ident: Id, **fields: Any) -> bool:
    """Play an owner's reply; return whether the client gets it."""
    envelope = peek(line(None, ident, **(fields or {"result": {}})))
    if replay.swallows(envelope):
        return False
    waiting = replay.answered_by(envelope)
    if waiting is not None:
        replay.settle(waiting, failed=envelope.failed)
    return True


INITIALIZE = line("initialize", 0)
INITIALIZED = line("notifications/initialized")
SUBSCRIBE = line("resources/subscribe", 1, params={"uri": "a"})
CALL = line("tools/call", 2)


@pytest.fixture
def replay() -> Replay:
    return Replay("00")


def test_a_new_session_has_nothing_to_say(replay: Replay) -> None:
    assert replay.lines() == []
    assert not replay.is_due
    assert not replay.has_begun


def test_the_session_comes_before_its_requests_and_without_what_was_answered(
    replay: Replay,
) -> None:
    say(replay, INITIALIZE, INITIALIZED, SUBSCRIBE, CALL, line("tools/call", 3))
    for ident in (0, 1, 3):
        assert answer(replay, ident)

    assert replay.bury() == []
    assert replay.lines() == [INITIALIZE, INITIALIZED, SUBSCRIBE, CALL]
    assert [answer(replay, ident) for ident in (0, 1, 2)] == [False, False, True]
    assert not replay.is_due


def test_a_session_opened_in_one_breath_keeps_its_order(replay: Replay) -> None:
    say(replay, INITIALIZE, INITIALIZED, CALL)

    replay.bury()

    assert replay.lines() == [INITIALIZE, INITIALIZED, CALL]
    assert answer(replay, 0)


def test_a_client_that_uses_one_id_for_everything_gets_its_own_answer(replay: Replay) -> None:
    say(replay, INITIALIZE)
    answer(replay, 0)
    say(replay, line("tools/call", 0))

    replay.bury()
    replay.lines()

    assert [answer(replay, 0), answer(replay, 0)] == [False, True]


def test_a_number_and_the_same_text_are_two_ids(replay: Replay) -> None:
    say(replay, line("a", 1), line("a", "1"))
    answer(replay, "1")

    assert replay.lines() == [line("a", 1)]


def test_a_request_is_given_up_at_its_second_death(replay: Replay) -> None:
    say(replay, CALL)

    lost = [[waiting.id for waiting in replay.bury()] for _ in range(3)]

    assert lost == [[], [2], []]
    assert replay.lines() == []


def test_a_subscription_stream_is_never_given_up_and_never_due(replay: Replay) -> None:
    listen = line("subscriptions/listen", "s")
    say(replay, listen)

    assert [replay.bury() for _ in range(5)] == [[]] * 5
    assert replay.lines() == [listen]
    assert not replay.is_due


@pytest.mark.parametrize(
    "after", [line("resources/unsubscribe", 9, params={"uri": "a"}), None], ids=["undone", "failed"]
)
def test_only_subscriptions_that_hold_are_said_again(replay: Replay, after: bytes | None) -> None:
    say(replay, SUBSCRIBE)
    if after is None:
        answer(replay, 1, error={"code": 1})
    else:
        answer(replay, 1)
        say(replay, after)
        answer(replay, 9)

    assert replay.lines() == []


def test_a_cancelled_request_is_forgotten(replay: Replay) -> None:
    say(replay, CALL, line("notifications/cancelled", params={"requestId": 2}))

    assert replay.lines() == []
    assert not replay.is_due


@pytest.mark.parametrize("params", [None, [], {"requestId": [1]}, {"requestId": "2"}])
def test_a_cancellation_of_nothing_changes_nothing(replay: Replay, params: Any) -> None:
    say(replay, CALL, line("notifications/cancelled", params=params))

    assert replay.lines() == [CALL]


def test_an_initialize_that_was_given_up_is_not_said_again(replay: Replay) -> None:
    say(replay, INITIALIZE)

    assert [waiting.id for waiting in replay.give_up()] == [0]
    assert replay.lines() == []


def test_an_answer_that_comes_late_leaves_the_next_request_of_that_id(replay: Replay) -> None:
    say(replay, CALL)
    first = replay.answered_by(peek(line(None, 2, result={})))
    assert first is not None
    say(replay, CALL)

    replay.settle(first, failed=False)

    assert replay.lines() == [CALL]


def test_what_is_too_much_to_keep_is_given_up_at_the_first_death(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "KEEP_MAX", len(CALL))
    say(replay, CALL, line("tools/call", 3))
    assert [waiting.id for waiting in replay.bury()] == [3]

    answer(replay, 2)
    say(replay, CALL)

    assert replay.lines() == [CALL]


def test_what_was_refused_is_neither_answered_late_nor_said_again(replay: Replay) -> None:
    say(replay, INITIALIZE)
    answer(replay, 0)
    say(replay, CALL, line("tools/call", 3), line("subscriptions/listen", 4))

    late = replay.refuse()

    assert [waiting.id for waiting in late] == [2, 3]
    assert not replay.is_due
    assert not answer(replay, 2)
    assert not answer(replay, 3)
    assert [peek(each).method for each in replay.lines()] == ["initialize", "subscriptions/listen"]
