"""What LoopGuard leaves out of a verdict, and that leaving it out changes none."""

import operator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import loopguard
from osiris.core.loop_rules import RULES
from osiris.core.loop_window import Seen, Tally, Window, gain_of, idle_after
from osiris.core.loopguard import MEASURES, OF_REPEATS, judge
from tests.core.test_loopguard_window import MANY, SEEN, pushed

ANOTHER = "e" * 16
ALONE = st.builds(msgspec.structs.replace, SEEN, batch=st.just(""))
ROUNDS = st.builds(operator.mul, st.lists(ALONE, min_size=1, max_size=5), st.integers(2, 8))
TALLY = st.builds(Tally, st.just(ANOTHER), st.integers(1, 300), st.just(0), st.just(0))
WINDOWS = st.builds(
    msgspec.structs.replace,
    st.builds(pushed, st.one_of(MANY, ROUNDS)),
    idle=st.one_of(st.integers(0, 70), st.integers(12, 16)),
    tallies=st.tuples(TALLY),
)


def alike(window: Window, seen: Seen) -> list[Seen]:
    """Return `seen`, and calls that the window knows, as they come again."""
    return [seen, *window.seen[:6], *window.seen[-1:]]


def unshortened(window: Window, seen: Seen) -> int:
    return 0 if seen.kind == "poll" else idle_after(window, seen, gain_of(window, seen))


@pytest.mark.parametrize("name", sorted(OF_REPEATS))
@given(window=WINDOWS, seen=SEEN)
def test_a_measure_of_repeats_is_one_at_most_for_a_call_that_is_not_in_the_window(
    name: str, window: Window, seen: Seen
) -> None:
    for one in alike(window, seen):
        first = msgspec.structs.replace(one, call=ANOTHER)

        assert MEASURES[name](window, first) <= 1


@pytest.mark.parametrize("name", sorted(OF_REPEATS))
def test_no_rule_of_repeats_has_a_step_that_one_reaches(name: str) -> None:
    rule = RULES[name]

    assert min(step for step in (rule.suggest, rule.warn, rule.block, rule.stop) if step) > 1


@given(WINDOWS, SEEN)
def test_what_is_left_out_for_a_first_call_changes_no_verdict(window: Window, seen: Seen) -> None:
    for call in alike(window, seen):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loopguard, "OF_REPEATS", frozenset[str]())
            whole = judge(window, call)

        assert judge(window, call) == whole


@given(WINDOWS, SEEN)
def test_idling_below_the_first_step_is_judged_as_if_it_were_counted(
    window: Window, seen: Seen
) -> None:
    for call in alike(window, seen):
        short, whole = loopguard._idle(window, call), unshortened(window, call)

        assert loopguard._level(RULES["idle"], short) == loopguard._level(RULES["idle"], whole)


@given(WINDOWS, SEEN)
def test_idling_from_the_first_step_on_is_counted_in_full(window: Window, seen: Seen) -> None:
    first = RULES["idle"].suggest
    from_first = msgspec.structs.replace(window, idle=max(window.idle, first - 1))

    for call in alike(from_first, seen):
        assert loopguard._idle(from_first, call) == unshortened(from_first, call)
