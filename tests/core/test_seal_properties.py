"""What must hold of any life of a task: its seal, its pins, and a compaction and its resume."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from osiris.core import canon, index, prefix
from osiris.core import events as ev
from osiris.core.commands import Checkpoint, Observe, Plan, parse
from osiris.core.decide import decide
from osiris.core.errors import Refusal
from osiris.core.manifest import manifest
from osiris.core.stub_json import is_array, is_object
from osiris.core.task_state import TaskState
from tests.core.decide_cases import EMPTY, FACTS, after
from tests.core.test_properties import CALLS, STARTS, run

WORDS = st.text(min_size=1, max_size=20)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
STARTED = st.fixed_dictionaries(
    {"mode": st.just("start"), "objective": WORDS},
    optional={
        "steps": st.lists(WORDS, max_size=4),
        "constraints": st.lists(WORDS, max_size=3),
        "pinned": st.lists(WORDS, max_size=3),
    },
)
ACTED = st.fixed_dictionaries(
    {"kind": st.just("action"), "tool": WORDS, "args": st.dictionaries(WORDS, VALUES, max_size=4)},
    optional={"ok": st.booleans()},
)
PINNED = st.fixed_dictionaries(
    {"kind": st.sampled_from(["decision", "constraint"]), "text": WORDS},
    optional={"id": st.sampled_from(["a", "b"])},
)
MODES = st.sampled_from(["compact", "trim", "clear"])


def shuffled(value: object, random: Random) -> object:
    """Return a JSON value with the keys of every object in another order."""
    if is_object(value):
        items = [(key, shuffled(item, random)) for key, item in value.items()]
        random.shuffle(items)
        return dict(items)
    return [shuffled(item, random) for item in value] if is_array(value) else value


def lived(calls: list[tuple[str, object]]) -> TaskState:
    """Return the state after calls as they come over the wire, refused ones left out."""
    state, pins = EMPTY, dict[str, str]()
    for tool, arguments in calls:
        command = parse(tool, json.loads(json.dumps(arguments)))
        assert not isinstance(command, Refusal), command
        decision = decide(state, command, replace(FACTS, pins=pins))
        state = after(state, decision)
        pins |= {
            event.id: prefix.pinned_hash(event.text)
            for event in decision.events
            if isinstance(event, ev.DecisionPinned | ev.ConstraintAdded)
        }
    return state


@pytest.mark.promise("S2-manifest")
@given(STARTED, st.lists(ACTED | PINNED, max_size=8), st.randoms(use_true_random=False))
def test_the_seal_and_all_that_is_known_of_a_task_ignore_the_order_of_keys(
    start: dict[str, Any], calls: list[dict[str, Any]], random: Random
) -> None:
    named: list[tuple[str, object]] = [("plan", start), *(("observe", call) for call in calls)]
    other = [(tool, shuffled(arguments, random)) for tool, arguments in named]

    one, two = lived(named), lived(other)

    assert one.seal == two.seal
    assert one == two


@pytest.mark.promise("S2-append")
@given(STARTS, CALLS)
def test_an_append_leaves_the_cached_prefix_as_it_was(start: Plan, calls: Any) -> None:
    before = EMPTY
    for state, raw in run(start, calls):
        if isinstance(ev.decode(raw).event, ev.ConstraintAdded | ev.DecisionPinned):
            assert prefix_of(state) == prefix_of(before)
            assert state.tail != before.tail
            assert state.seal != before.seal
        before = state


def prefix_of(state: TaskState) -> str:
    steps = (step.text for step in state.steps)
    return prefix.prefix(state.head, prefix.zone_b(state.objective, steps, state.contract))


@pytest.mark.promise("S2-pinned-rewrite")
@given(STARTS, CALLS, WORDS, WORDS)
def test_another_text_for_a_pinned_id_is_always_seen_and_never_stored(
    start: Plan, calls: Any, first: str, other: str
) -> None:
    lives = run(start, [*calls, (pinned("kept", first), None)])
    pins, texts = known_pins(lives)
    state, facts = lives[-1][0], replace(FACTS, pins=pins)
    assume(canon.meaning(first) and canon.meaning(other))

    assert "kept" in texts
    for item, text in texts.items():
        rewritten = canon.meaning(text) != canon.meaning(other)
        line = Plan("update", pinned=(f"{item}: {canon.meaning(other)}",))
        for command in (pinned(item, other), line):
            decision = decide(state, command, facts)
            code = decision.reply.code if isinstance(decision.reply, Refusal) else ""

            assert decision.events == ()
            assert code == ("pinned_rewrite" if rewritten else "")


def pinned(item: str, text: str) -> Observe:
    return Observe("decision", id=item, text=text)


def known_pins(lives: list[tuple[TaskState, bytes]]) -> tuple[dict[str, str], dict[str, str]]:
    """Return hashes by id as the index has them, and the texts of the pinned decisions."""
    pins: dict[str, str] = {}
    texts: dict[str, str] = {}
    for version, (state, raw) in enumerate(lives, 1):
        stamped = ev.decode(raw)
        for key, value in index.puts("task/7c3f90d1", version, stamped, state):
            if key.startswith("pin/task/7c3f90d1/") and value:
                pins[key.removeprefix("pin/task/7c3f90d1/")] = value.decode()
        if isinstance(stamped.event, ev.DecisionPinned):
            texts[stamped.event.id] = stamped.event.text
    return pins, texts


@pytest.mark.promise("S3-compaction")
@given(STARTS, CALLS, MODES)
def test_a_resume_after_a_compaction_says_what_it_would_have_said_before(
    start: Plan, calls: Any, mode: Any
) -> None:
    state = run(start, [*calls, (Observe("action", tool="cat", ok=True), 3_000)])[-1][0]

    compacted = after(state, decide(state, Checkpoint(mode), FACTS))
    before, behind = (decide(one, Checkpoint("resume"), FACTS) for one in (state, compacted))
    resumed = after(compacted, behind)

    assert behind.reply == before.reply
    assert manifest(resumed) == manifest(after(state, before))
    changes = {"version": 0, "touched_ms": 0}
    assert replace(resumed, **changes) == replace(after(state, before), **changes)
