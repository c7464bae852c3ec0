"""The one pattern: what a command comes to, given the state and the facts.

Rule 1: `decide` may refuse; it never fails and looks nothing up.
Rule 2: a command for a task that was never started is refused here, not by its absence.
"""

from typing import assert_never

from osiris.core import (
    checkpointing,
    handing,
    observing,
    planning,
    prechecking,
    reporting,
    resuming,
)
from osiris.core.commands import Checkpoint, Command, Handoff, Observe, Plan, Precheck, Recall
from osiris.core.decision import Decision, Facts, refuse
from osiris.core.memory import ScopeState
from osiris.core.task_state import TaskState


def decide(state: TaskState, command: Command, facts: Facts) -> Decision:
    """Return the events and the reply of `command` on a task."""
    if not state.task and not (isinstance(command, Plan) and command.mode == "start"):
        return refuse("unknown_task", "no such task", "start one with plan mode=start")
    match command:
        case Plan():
            return planning.plan(state, command, facts)
        case Precheck():
            return prechecking.precheck(state, command, facts)
        case Observe():
            return observing.observe(state, command, facts)
        case Checkpoint():
            return _checkpoint(state, command, facts)
        case Handoff():
            return handing.hand(state, command, facts)
        case Recall():
            return refuse("bad_request", "recall is a query, not a command", "call osiris_recall")
        case _:
            assert_never(command)


def decide_scope(state: ScopeState, command: Observe, facts: Facts) -> Decision:
    """Return the events and the reply of a command on a project, agent or global scope."""
    return observing.observe_scope(state, command, facts)


def _checkpoint(state: TaskState, command: Checkpoint, facts: Facts) -> Decision:
    match command.mode:
        case "snapshot":
            return resuming.snapshot(state, command.id)
        case "resume":
            return resuming.resume(state, facts)
        case "report":
            return reporting.report(state)
        case "compact" | "trim" | "clear":
            return checkpointing.prepare(state, command.mode, command.id, facts)
        case _:
            assert_never(command.mode)
