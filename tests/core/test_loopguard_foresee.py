"""Before a call: what it has earned so far, and how that lifts."""

from collections.abc import Iterable

import pytest

from osiris.core.loop_call import Call, see
from osiris.core.loop_identity import call_key
from osiris.core.loop_rules import Level
from osiris.core.loop_window import Window, push, vetoed
from osiris.core.loopguard import NONE, Verdict, foresee, judge

MAKE = {"command": "make"}
MAKE_KEY = call_key("bash", MAKE)
MINUTE_MS = 60_000


def failed(at_ms: int = 0) -> Call:
    return Call("bash", MAKE, "error: broken", ok=False, at_ms=at_ms)


def read(path: str, at_ms: int = 0) -> Call:
    return Call("read_file", {"path": path}, f"text of {path}", ok=True, at_ms=at_ms)


def after(calls: Iterable[Call]) -> Window:
    window = Window()
    for call in calls:
        window = push(window, see(call))
    return window


@pytest.mark.parametrize(
    ("times", "level"),
    [(0, "none"), (1, "none"), (2, "suggest"), (3, "block"), (6, "stop")],
)
def test_a_call_carries_the_verdict_its_history_has_earned(times: int, level: Level) -> None:
    window = after([failed()] * times)

    assert foresee(window, MAKE_KEY, 0).level == level


def test_a_block_stands_through_harmless_calls_and_lifts_on_a_change() -> None:
    blocked = [failed()] * 3
    harmless = after([*blocked, read("a"), read("b")])
    edited = after([*blocked, Call("edit_file", {"path": "a"}, "ok", ok=True, at_ms=0)])

    assert foresee(harmless, MAKE_KEY, 0).required_action != ""
    assert foresee(edited, MAKE_KEY, 0) == NONE


def test_a_block_lifts_to_a_warning_with_time() -> None:
    window = after([failed()] * 3)

    assert foresee(window, MAKE_KEY, 10 * MINUTE_MS - 1).level == "block"
    assert foresee(window, MAKE_KEY, 10 * MINUTE_MS).level == "warn"


def test_other_calls_are_free_while_one_is_blocked() -> None:
    window = after([failed()] * 6)

    assert foresee(window, call_key("bash", {"command": "make clean"}), 0) == NONE


def test_every_call_of_a_blocked_cycle_is_blocked() -> None:
    window = after([read("a"), read("b"), read("c")] * 5)
    found = {foresee(window, call_key("read_file", {"path": p}), 0).level for p in "abc"}

    assert found == {"block"}


def test_a_known_result_is_offered_before_the_read_is_made_again() -> None:
    stored = Call("read_file", {"path": "a"}, "text", ok=True, at_ms=0, ref="0f" * 32)

    assert foresee(after([stored]), see(stored).call, 0) == Verdict(
        "suggest",
        "exact_duplicate",
        "duplicate",
        1,
        "the same read was made, nothing changed since",
        "use the result you have: recall mem://0f0f0f0f0f0f",
    )


def test_a_command_or_a_poll_is_not_offered_its_old_result() -> None:
    for call in (
        Call("bash", MAKE, "ok", ok=True, at_ms=0),
        Call("job_status", {"job": 1}, "running", ok=True, at_ms=0),
    ):
        assert foresee(after([call]), see(call).call, 0) == NONE


def test_a_twice_denied_call_is_denied_before_it_is_asked_for_a_while() -> None:
    window = vetoed(vetoed(Window(), MAKE_KEY, 0), MAKE_KEY, 1000)

    assert foresee(Window(), MAKE_KEY, 2000) == NONE
    assert foresee(window, MAKE_KEY, 2000).level == "block"
    assert foresee(window, MAKE_KEY, 11 * MINUTE_MS) == NONE


@pytest.mark.parametrize(
    "calls",
    [
        [Call("read_output", {}, f"noise {n}", ok=True, at_ms=1000 * n) for n in range(110)],
        [Call("search", {"q": n}, "nothing", ok=True, at_ms=1000 * n) for n in range(70)],
        [Call("job_status", {}, "running", ok=True, at_ms=1000 * n) for n in range(60)],
        [failed(1000 * n) for n in range(8)],
    ],
    ids=["noise", "nothing found", "polls", "failures"],
)
def test_asking_beforehand_foresees_what_judging_has_said(calls: list[Call]) -> None:
    window = Window()
    for call in calls:
        seen = see(call)
        said = judge(window, seen)
        window = push(window, seen)
        if said.level != "none":
            assert foresee(window, seen.call, seen.at_ms) == said
