"""Compact, trim and clear: what may leave the prompt, when it pays, and back again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from osiris.core import checkpointing, index
from osiris.core import events as ev
from osiris.core.checkpointing import Preparing, advice, items_of
from osiris.core.commands import Checkpoint, Observe, Plan
from osiris.core.decide import decide
from osiris.core.decision import Facts
from osiris.core.manifest import manifest
from osiris.core.prices import Price, Prices
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState, apply, from_snapshot, to_snapshot
from tests.core.decide_cases import FACTS, STARTED, after, done, payload

MODEL = "claude-opus-5-5"
PRICES = Prices(
    "2026-11",
    {MODEL: Price(MODEL, input=4.0, output=20.0, cache_read=0.2, cache_write=5, cache_write_1h=8)},
)
PRICED = replace(FACTS, prices=PRICES)
MODES: tuple[Preparing, ...] = ("compact", "trim", "clear")


def shown(state: TaskState, number: int, size: int, door: str = "result") -> TaskState:
    """Return the state after a result of `size` tokens."""
    given = replace(FACTS, payload=payload(size, door, f"{number:064x}"))
    return done(state, Observe("action", tool="bash", args={"n": number}), given)[0]


def grown() -> TaskState:
    """Return a task with three results of a finished step and two of the one at work."""
    state = STARTED
    for number in range(3):
        state = shown(state, number, 30_000)
    state, _ = done(state, Plan("update", step=1))
    return shown(shown(state, 3, 20_000), 4, 10_000)


def staged(state: TaskState, mode: Preparing, facts: Facts = PRICED) -> ev.CompactionStaged:
    event = decide(state, Checkpoint(mode), facts).events[0]
    assert isinstance(event, ev.CompactionStaged)
    return event


def timeless(state: TaskState) -> TaskState:
    """Return a state without what a TaskResumed alone changes."""
    return replace(state, version=0, holder="")


@pytest.mark.promise("S3-compaction")
@pytest.mark.parametrize("mode", MODES)
def test_resume_after_a_preparation_brings_the_task_back_byte_for_byte(mode: Preparing) -> None:
    before = grown()

    prepared, reply = done(before, Checkpoint(mode, id="cut"), PRICED)
    resumed, again = done(prepared, Plan("resume"), PRICED)

    assert to_snapshot(timeless(resumed)) == to_snapshot(timeless(before))
    assert reply.manifest == again.manifest == manifest(before)


@pytest.mark.promise("S3-compaction")
def test_a_preparation_names_the_point_and_keeps_its_plan() -> None:
    before = grown()

    decision = decide(before, Checkpoint("compact", id="cut"), PRICED)

    assert decision.events[1] == ev.SnapshotTaken("cut", before.seal)
    key, raw = index.puts("task/7c3f90d1", 9, ev.Stamped(5, "ana", decision.events[0]), before)[0]
    assert key == "staged/7c3f90d1"
    assert raw is not None
    assert index.staged_entry(raw).refs == staged(before, "compact").staged


@pytest.mark.promise("S6-cache-ttl")
def test_compact_cuts_nothing_in_a_living_cache_and_says_when_it_pays() -> None:
    found = staged(grown(), "compact")

    assert found.now == ()
    assert len(found.staged) == 5
    assert found.moments == ("hook", "resume", "slow_tool")


@pytest.mark.promise("S6-modes")
def test_trim_takes_results_of_finished_steps_alone() -> None:
    found = staged(grown(), "trim")

    assert set(found.now + found.staged) == {f"{number:064x}" for number in range(3)}


def test_clear_takes_all_that_pays_at_once() -> None:
    assert len(staged(grown(), "clear").now) == 5


@pytest.mark.promise("S6-net-savings")
def test_results_no_larger_than_a_stub_stay() -> None:
    state = STARTED
    for number in range(5):
        state = shown(state, number, checkpointing.STUB_TOKENS)

    found = staged(state, "clear")

    assert (found.now, found.staged, found.freed) == ((), (), 0)


def test_what_osiris_kept_out_or_the_agent_dropped_is_not_in_the_prompt() -> None:
    state = shown(shown(STARTED, 1, 30_000, door="path"), 2, 30_000)
    gone = ev.KeptOut(f"{2:064x}", "declared", "shell", 30_000, "n1")

    state = apply(state, ev.Stamped(1, "ana", gone))

    assert tuple(items_of(state)) == ()
    assert state.shown == 0


def test_what_follows_a_result_is_behind_it() -> None:
    assert [item.behind for item in items_of(grown())] == [90_000, 60_000, 30_000, 10_000, 0]


def test_a_full_prompt_is_advised_to_compact_and_a_small_one_is_not() -> None:
    freed = staged(grown(), "compact").freed

    assert advice(grown(), PRICED) == f"prune: checkpoint compact frees {freed}"
    assert advice(shown(STARTED, 1, 9_000), PRICED) == ""


def test_the_advice_stands_in_mode_full_with_the_manifest_that_is_due() -> None:
    state = STARTED
    notes: list[bool] = []
    for number in range(5):
        given = replace(PRICED, payload=payload(20_000, "result", f"{number:064x}"))
        state, reply = done(state, Observe("action", tool="bash", args={"n": number}), given)
        notes.append(any(note.startswith("prune:") for note in reply.notes))

    assert notes == [False, False, False, False, True]


@pytest.mark.promise("S6-modes")
def test_near_the_end_of_a_window_what_must_go_goes_now_in_every_mode() -> None:
    used = ev.UsageDeclared(MODEL, "", 300, 0, 190_000, 1_000, 0, 0, window=200_000)
    state = apply(grown(), ev.Stamped(1_000, "ana", used))

    plans = [staged(state, mode) for mode in MODES]

    assert all(len(plan.now) * 30_000 >= 191_000 - 160_000 for plan in plans)


def test_a_pause_ahead_is_bridged_as_the_prices_of_the_model_say() -> None:
    used = ev.UsageDeclared(MODEL, "", 300, 0, 90_000, 10_000, 0, 0)
    state = apply(grown(), ev.Stamped(1_000, "ana", used))

    reply = decide(state, Checkpoint("compact"), PRICED).reply

    assert isinstance(reply, Reply)
    assert reply.block is not None
    assert "idle over 5 min ahead: write at 1 h" in reply.block.text


def test_a_model_without_a_price_is_reckoned_with_assumed_rates_and_says_so() -> None:
    used = ev.UsageDeclared(MODEL, "", 300, 0, 90_000, 10_000, 0, 0)
    priced = apply(grown(), ev.Stamped(1_000, "ana", used))

    replies = [decide(state, Checkpoint("clear"), PRICED).reply for state in (grown(), priced)]

    said = [isinstance(r, Reply) and ("rates", "assumed") in r.pairs for r in replies]
    assert said == [True, False]


def test_a_point_with_hidden_characters_in_its_name_is_refused() -> None:
    assert decide(grown(), Checkpoint("clear", id="a\u202eb"), PRICED).events == ()


@given(
    st.lists(st.tuples(st.integers(0, 60_000), st.sampled_from(["result", "path"])), max_size=30),
    st.sampled_from(MODES),
)
def test_no_preparation_names_a_ref_that_is_not_stored_or_loses_one(
    results: list[tuple[int, str]], mode: Preparing
) -> None:
    state, stored = STARTED, set[str]()
    for number, (size, door) in enumerate(results):
        state = shown(state, number, size, door)
        stored.add(f"{number:064x}")

    decision = decide(state, Checkpoint(mode), PRICED)
    plan = decision.events[0]

    assert isinstance(plan, ev.CompactionStaged)
    cut = (*plan.now, *plan.staged)
    assert set(cut) <= stored
    assert len(set(cut)) == len(cut)
    prepared = after(state, decision)
    assert prepared.recent_refs == state.recent_refs
    assert from_snapshot(to_snapshot(prepared)) == prepared
