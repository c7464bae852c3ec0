"""Polls, retries, ceilings: where time decides."""

import pytest

from osiris.core.loop_rules import Level
from tests.core.loopguard_cases import BUILD_ERROR, bash, call, first, levels, spaced


def test_a_poll_that_never_moves_is_told_to_wait_then_blocked() -> None:
    polls = [
        call("job_status", {"job": 1}, f'{{"state": "queued", "now": "12:00:{n:02}"}}', at_s=2 * n)
        for n in range(30)
    ]
    found = levels(polls)

    assert [first(found, level) for level in ("suggest", "warn", "block")] == [3, 10, 25]


def test_a_patient_poll_is_left_alone() -> None:
    polls = [call("job_status", {"job": 1}, "running", at_s=30 * n) for n in range(25)]

    assert set(levels(polls)) == {"none"}


@pytest.mark.parametrize("every_s", [1, 30])
def test_polling_with_a_changing_result_is_never_blocked(every_s: int) -> None:
    growing = (
        call("ci_status", {"run": 9}, f"running {n / 2:.1f}%", at_s=every_s * n) for n in range(200)
    )
    changing = (call("ci_status", {"run": 9}, f"step {n}", at_s=every_s * n) for n in range(50))

    assert set(levels(growing)) == {"none"}
    assert {"block", "stop"}.isdisjoint(levels(changing))


def test_a_sleep_between_polls_makes_no_cycle() -> None:
    steps = [bash("sleep 30", ""), bash("gh run view 7", "in_progress")] * 8

    assert {"warn", "block", "stop"}.isdisjoint(levels(spaced(steps, 30)))


def test_ten_seconds_between_polls_are_patience_enough() -> None:
    polls = [call("job_status", {"job": 1}, "running", at_s=10 * n) for n in range(10)]

    assert levels(polls) == ["none"] * 9 + ["warn"]


def test_an_absolute_ceiling_holds_whatever_the_output() -> None:
    found = levels(
        call("read_output", {"session": "dbg"}, f"noise {n}", at_s=n) for n in range(101)
    )

    assert (first(found, "warn"), first(found, "block")) == (40, 100)


def test_compaction_does_not_lift_the_ceiling_and_the_user_does() -> None:
    noise = [call("read_output", {}, f"noise {n}", at_s=n) for n in range(40)]

    assert levels([*noise[:-1], "compaction", noise[-1]])[-1] == "warn"
    assert levels([*noise[:-1], "user_message", noise[-1]])[-1] == "none"


@pytest.mark.parametrize(
    ("gaps_s", "expected"),
    [
        ((1, 2, 4, 8), ["none"] * 5),
        ((1, 1, 1, 1, 1, 1), ["none", "none", "suggest", "suggest", "warn", "warn", "block"]),
    ],
    ids=["backoff", "haste"],
)
def test_retries_of_a_passing_error_are_judged_by_their_patience(
    gaps_s: tuple[int, ...], expected: list[Level]
) -> None:
    times = [sum(gaps_s[:n]) for n in range(len(gaps_s) + 1)]
    found = levels(
        call("fetch", {"url": "u"}, "503 Service Unavailable", ok=False, at_s=t) for t in times
    )

    assert found == expected


def test_ignoring_the_wait_a_service_asked_for_blocks_early() -> None:
    limited = "429 Too Many Requests. Retry-After: 60"
    hasty = [call("fetch", {"url": n}, limited, ok=False, at_s=5 * n) for n in range(3)]
    obedient = [call("fetch", {"url": n}, limited, ok=False, at_s=60 * n) for n in range(4)]

    assert levels(hasty) == ["none", "warn", "block"]
    assert set(levels(obedient)) == {"none"}


def test_a_failure_of_half_an_hour_ago_is_forgotten() -> None:
    failed = [bash("make", BUILD_ERROR, ok=False, at_s=1900 * n) for n in range(5)]

    assert set(levels(failed)) == {"none"}


def test_pressing_a_key_often_is_by_design() -> None:
    keys = [call("press_key", {"key": "Down"}, "ok") for _ in range(12)]
    found = levels(keys)

    assert (first(found, "suggest"), first(found, "warn"), first(found, "block")) == (5, 10, 0)
