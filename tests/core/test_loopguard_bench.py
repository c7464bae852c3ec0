"""The labelled cases and the real sessions, as the bench scores them."""

from pathlib import Path

import msgspec
import pytest

from bench import loops

SHARED = Path(__file__).parents[2].parent / "shared"
CASES = SHARED / "loops" / "cases.json"

needs_shared = pytest.mark.skipif(not CASES.exists(), reason=f"no {CASES}: nothing to score")


@needs_shared
def test_every_labelled_case_is_right() -> None:
    cases = msgspec.json.decode(CASES.read_bytes(), type=loops.Cases).cases

    assert {case.id: loops.faults_of(case) for case in cases if loops.faults_of(case)} == {}


@needs_shared
def test_real_sessions_are_warned_at_most_three_times_in_a_thousand_calls() -> None:
    found = loops.Replay()
    for path in sorted((SHARED / "transcripts").glob("*.jsonl.gz"))[::4]:
        loops.replay(path, found, user_messages=False)

    assert found.calls > 500
    assert len(found.cries) <= 3 * found.calls / 1000


def case(label: str, expect: loops.Expect, *texts: str) -> loops.Case:
    events = tuple(
        loops.Event(n, "read_file", {"path": "a"}, ok=True, result=text)
        for n, text in enumerate(texts)
    )
    return loops.Case("x", label, events, expect)


@pytest.mark.parametrize(
    ("scored", "faults"),
    [
        (case("legit", loops.Expect(max="suggest"), "a", "a"), []),
        (case("legit", loops.Expect(max="none"), "a", "a"), ["wrongly_flagged"]),
        (case("loop", loops.Expect(min="suggest", earliest=2, latest=2), "a", "a"), []),
        (case("loop", loops.Expect(min="suggest", earliest=2, latest=2), "a", "b"), ["missed"]),
        (case("loop", loops.Expect(min="suggest", earliest=1, latest=1), "a", "a"), ["late"]),
        (
            case("loop", loops.Expect(min="suggest", earliest=3, latest=3), "a", "a", "a"),
            ["wrongly_flagged"],
        ),
        (
            case("loop", loops.Expect("suggest", "stop", 2, 2, {"warn": 3}), "a", "a", "a"),
            ["late"],
        ),
    ],
)
def test_the_bench_tells_right_from_wrong_early_late_and_missed(
    scored: loops.Case, faults: list[str]
) -> None:
    assert loops.faults_of(scored) == faults
