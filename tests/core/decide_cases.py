"""Shared starting points for tests of decisions."""

from osiris.core.commands import Command, Plan
from osiris.core.decide import decide
from osiris.core.decision import Decision, Facts, Payload
from osiris.core.events import Stamped
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState, apply

FACTS = Facts(now_ms=1_000, agent="ana", nonce="n1", project="p1", host="whole", task="7c3f90d1")
OBJECTIVE = "fix PowerShell profile bug"
EMPTY = TaskState()


def after(state: TaskState, decision: Decision, facts: Facts = FACTS) -> TaskState:
    """Return the state once the decision's events are applied."""
    for event in decision.events:
        state = apply(state, Stamped(facts.now_ms, facts.agent, event))
    return state


def done(state: TaskState, command: Command, facts: Facts = FACTS) -> tuple[TaskState, Reply]:
    """Decide, apply, and return the state and the reply, which must be no refusal."""
    decision = decide(state, command, facts)
    assert isinstance(decision.reply, Reply), decision.reply
    return after(state, decision, facts), decision.reply


STARTED = done(EMPTY, Plan("start", objective=OBJECTIVE, steps=("look", "mend")))[0]


def payload(tokens: int, door: str = "path", sha256: str = "ab" * 32) -> Payload:
    """Return a payload of so many tokens, four characters each."""
    size = tokens * 4
    return Payload(
        sha256=sha256,
        size=size,
        characters=size,
        tokens=tokens,
        method="exact",
        stub="STUB",
        door=door,
        text="TEXT",
    )
