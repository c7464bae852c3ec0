"""The four behaviours, row by row of the design's table."""

from typing import NamedTuple

import pytest

from osiris.core.commands import Observe, Plan
from osiris.core.decide import decide
from osiris.core.decision import Facts, Payload
from osiris.core.manifest import manifest
from osiris.core.modes import MODES, mode_of
from osiris.core.replies import Reply, words
from osiris.core.task_state import TaskState
from tests.core.decide_cases import FACTS, STARTED, after, done

ROUNDS = 20


class Row(NamedTuple):
    """One row of the table: the payload that chooses it, and what is expected of a task in it."""

    name: str
    largest: int
    stub_from: int | None
    lines: int
    on_plan: bool
    every: int


ROWS = (
    Row("bystander", 400, None, 1, on_plan=False, every=0),
    Row("light", 1_200, 601, 1, on_plan=True, every=0),
    Row("standard", 8_000, 601, 2, on_plan=True, every=10),
    Row("full", 8_001, 401, 2, on_plan=True, every=5),
)
NAMES = [row.name for row in ROWS]


def payload(tokens: int, number: int = 0, door: str = "result") -> Payload:
    """Return a payload of so many tokens that is the `number`th of its task."""
    return Payload(
        sha256=f"{number:064x}",
        size=tokens * 4,
        characters=tokens * 4,
        tokens=tokens,
        method="exact",
        stub="STUB",
        door=door,
        text="TEXT",
    )


def observed(
    state: TaskState, tokens: int | None, number: int = 0, door: str = "result"
) -> tuple[TaskState, Reply]:
    """Observe a call with a payload of so many tokens, or with none."""
    given = None if tokens is None else payload(tokens, number, door)
    facts = Facts(
        **{name: getattr(FACTS, name) for name in ("now_ms", "agent", "nonce", "project")},
        host="whole",
        task=FACTS.task,
        payload=given,
    )
    command = Observe("action", tool="bash", args={"command": f"run {number}"}, ok=True)
    decision = decide(state, command, facts)
    assert isinstance(decision.reply, Reply)
    return after(state, decision, facts), decision.reply


def in_mode(row: Row) -> TaskState:
    """Return a task that has shown one payload of the row's largest size."""
    return observed(STARTED, row.largest, 999)[0]


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_the_largest_payload_chooses_the_mode(row: Row) -> None:
    above = [mode.name for mode in MODES][NAMES.index(row.name) :]

    assert mode_of((1, row.largest, 2)).name == row.name
    assert mode_of((row.largest + 1,)).name in above[1:] or row.name == "full"
    assert mode_of(in_mode(row).payloads).name == row.name


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_stub_comes_above_the_modes_threshold_and_never_at_it(row: Row) -> None:
    state = in_mode(row)
    threshold = row.largest + 1 if row.stub_from is None else row.stub_from
    at = observed(state, threshold - 1)[1]
    above = observed(state, threshold)[1]

    assert at.stub == ""
    assert above.stub == ("" if row.stub_from is None else "STUB")


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_reply_has_the_lines_of_its_mode(row: Row) -> None:
    reply = observed(in_mode(row), 100)[1]
    lines = words(reply).splitlines()

    assert len(lines) == row.lines
    assert lines[0] == "ok" if row.name == "bystander" else lines[0].startswith("ok ref=mem://")
    assert lines[1:] == (["next: look"] if row.lines > 1 else [])


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_manifest_comes_with_every_so_many_observes(row: Row) -> None:
    state, shown = STARTED, list[int]()
    for number in range(1, ROUNDS + 1):
        state, reply = observed(state, row.largest, number)
        if reply.manifest:
            assert reply.manifest == manifest(state)
            shown.append(number)

    assert shown == (list(range(row.every, ROUNDS + 1, row.every)) if row.every else [])


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_change_of_plan_brings_the_manifest_or_at_least_the_seal(row: Row) -> None:
    state = in_mode(row)
    changed, reply = done(state, Plan("update", steps=("look", "mend", "test")))
    same = done(changed, Plan("update", steps=("look", "mend", "test")))[1]
    resumed = done(changed, Plan("resume"))[1]

    assert reply.manifest == (manifest(changed) if row.on_plan else "")
    assert dict(reply.pairs).get("seal") == (None if row.on_plan else changed.seal)
    assert same.manifest == ""
    assert resumed.manifest == manifest(changed)


def test_only_full_says_what_may_leave_the_prompt() -> None:
    advised: dict[str, bool] = {}
    for row in ROWS:
        state, said = STARTED, ""
        for number in range(1, ROUNDS + 1):
            state, reply = observed(state, row.largest, number)
            said += words(reply)
        advised[row.name] = "prune" in said or "compact" in said

    assert advised == {"bystander": False, "light": False, "standard": False, "full": True}


def test_small_payloads_again_bring_a_task_back_to_bystander() -> None:
    state = in_mode(ROWS[3])
    for number in range(20):
        state, _ = observed(state, 100, number)

    assert mode_of(state.payloads).name == "bystander"
