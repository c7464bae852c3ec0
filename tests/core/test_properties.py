"""Properties of the core over random commands."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import events as ev
from osiris.core import index, ledger, prefix, tokens
from osiris.core.commands import (
    Checkpoint,
    CheckpointMode,
    Command,
    Observe,
    ObserveKind,
    Plan,
    Precheck,
)
from osiris.core.decide import decide
from osiris.core.manifest import manifest
from osiris.core.replies import text
from osiris.core.task_state import TaskState, apply, from_snapshot, to_snapshot
from tests.core.decide_cases import EMPTY, FACTS, payload

TEXT = st.text(max_size=60)
SOME = st.text(min_size=1, max_size=60)
STARTS = st.builds(Plan, st.just("start"), objective=SOME, steps=st.lists(TEXT).map(tuple))
COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.builds(
        Plan,
        st.just("update"),
        steps=st.none() | st.lists(TEXT, max_size=4).map(tuple),
        constraints=st.none() | st.lists(TEXT, max_size=3).map(tuple),
        pinned=st.none() | st.lists(TEXT, max_size=3).map(tuple),
        step=st.none() | st.integers(1, 5),
        done=st.none() | st.just(False),
    ),
    st.builds(Plan, st.sampled_from(["resume", "status"])),
    st.builds(
        Observe,
        st.sampled_from(get_args(ObserveKind)),
        tool=st.none() | TEXT,
        path=st.none() | TEXT,
        args=st.none() | st.dictionaries(st.sampled_from(["input", "cache_read"]), st.integers(-1)),
        text=st.none() | TEXT,
        id=st.none() | st.sampled_from(["a", "b"]),
        ok=st.none() | st.booleans(),
    ),
    st.builds(Precheck, TEXT),
    st.builds(Checkpoint, st.sampled_from(get_args(CheckpointMode)), id=st.none() | TEXT),
)
CALLS = st.lists(st.tuples(COMMANDS, st.none() | st.integers(0, 30_000)), max_size=30)


def run(start: Plan, calls: list[tuple[Command, int | None]]) -> list[tuple[TaskState, bytes]]:
    """Return (state after, stored bytes) of every event of a task's life."""
    lived: list[tuple[TaskState, bytes]] = []
    state, pins = EMPTY, dict[str, str]()
    for command, size in [(start, None), *calls]:
        facts = msgspec.structs.replace(
            FACTS, pins=pins, payload=None if size is None else payload(size)
        )
        for event in decide(state, command, facts).events:
            stamped = ev.Stamped(FACTS.now_ms, FACTS.agent, event)
            state = apply(state, stamped)
            lived.append((state, ev.encode(stamped)))
            if isinstance(event, ev.DecisionPinned | ev.ConstraintAdded):
                pins = {**pins, event.id: prefix.pinned_hash(event.text)}
    return lived


@given(STARTS, CALLS)
def test_replay_equals_live_from_every_snapshot(
    start: Plan, calls: list[tuple[Command, int | None]]
) -> None:
    lived = run(start, calls)
    final = lived[-1][0] if lived else EMPTY
    for at in range(len(lived)):
        state = from_snapshot(to_snapshot(lived[at][0]))
        assert state is not None
        assert state == lived[at][0]
        for _, raw in lived[at + 1 :]:
            state = apply(state, ev.decode(raw))
        assert state == final


@given(STARTS, CALLS)
def test_every_posting_balances_and_every_index_entry_is_repeatable(
    start: Plan, calls: list[tuple[Command, int | None]]
) -> None:
    for version, (state, raw) in enumerate(run(start, calls), 1):
        stamped = ev.decode(raw)
        assert sum(ledger.postings(stamped.event).values()) == 0
        once = index.puts("task/7c3f90d1", version, stamped, state)
        assert once == index.puts("task/7c3f90d1", version, stamped, state)


@pytest.mark.promise("S2-append")
@given(STARTS, CALLS)
def test_an_append_moves_the_tail_alone(
    start: Plan, calls: list[tuple[Command, int | None]]
) -> None:
    before = EMPTY
    for state, raw in run(start, calls):
        grown = isinstance(ev.decode(raw).event, ev.ConstraintAdded | ev.DecisionPinned)
        assert grown == (state.tail != before.tail)
        assert not grown or state.steps == before.steps
        before = state


@pytest.mark.promise("S2-manifest")
@given(STARTS, CALLS)
def test_a_manifest_is_three_lines_and_within_its_budget(
    start: Plan, calls: list[tuple[Command, int | None]]
) -> None:
    lived = run(start, calls)
    if lived:
        shown = manifest(lived[-1][0])
        assert len(shown.split("\n")) == 3
        assert shown.isprintable() or shown.replace("\n", "").isprintable()
        assert tokens.estimate(shown).low <= 120


@given(STARTS, CALLS, COMMANDS)
def test_no_reply_has_a_line_that_hides_or_overflows(
    start: Plan, calls: list[tuple[Command, int | None]], last: Command
) -> None:
    lived = run(start, calls)
    reply = decide(lived[-1][0] if lived else EMPTY, last, FACTS).reply

    assert all(len(line) <= 2_000 for line in text(reply).split("\n"))
