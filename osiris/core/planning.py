"""osiris_plan: start, update, resume and status of a task.

| change | verdict | cost in the reply |
| plan texts | minor_drift | `rewrites`: from the first changed step to the end of the prompt |
| constraint or decision added | normal_growth | `new`: the new tokens alone |
| pinned id with another text | critical_drift, refused (pinned_rewrite) | none |
| objective | refused (objective_immutable) | none |
"""

import re
from itertools import takewhile

from osiris.core import (
    canon,
    drift,
    handing,
    plain,
    policy,
    prefill,
    prefix,
    resuming,
    status,
    tokens,
)
from osiris.core import events as ev
from osiris.core.commands import Plan
from osiris.core.decision import Decision, Facts, refuse
from osiris.core.errors import Refusal
from osiris.core.manifest import manifest
from osiris.core.modes import mode_of
from osiris.core.prefill import PrefillPlan
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState, apply

NEXT = 40
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63}):\s+(\S.*)", re.DOTALL)


def plan(state: TaskState, command: Plan, facts: Facts) -> Decision:
    match command.mode:
        case "start":
            return _start(state, command, facts)
        case "update":
            return _update(state, command, facts)
        case "resume":
            return resuming.resume(state, facts)
        case "status":
            return status.status(state, command, facts)


def _start(state: TaskState, command: Plan, facts: Facts) -> Decision:
    if state.task:
        return refuse("key_reused", f"task {state.task} exists", "send another key")
    if command.objective is None:
        return refuse("missing_argument", "plan start needs 'objective'", "say what the task is")
    if plain.looks_like_manifest(command.objective):
        return refuse(
            "bad_argument",
            "plan objective: it imitates a manifest",
            "say in plain words what the task is, without OSIRIS/1 or SEAL lines",
        )
    growth = _growth(state, command, facts)
    budget = policy.reserve(state, command.budget, facts)
    if isinstance(growth, Refusal):
        return Decision((), growth)
    if isinstance(budget, Refusal):
        return Decision((), budget)
    events = (
        ev.TaskStarted(facts.task, command.objective, facts.project),
        ev.Bound(facts.nonce),
        *(() if command.steps is None else (ev.PlanSet(command.steps),)),
        *budget.events,
        *growth,
    )
    after = fold(state, events, facts)
    pairs = (("task", after.task), ("verdict", "started"), *status.next_step(after, NEXT))
    return Decision(events, Reply(pairs, manifest=manifest(after)), budget.reservations)


def _update(state: TaskState, command: Plan, facts: Facts) -> Decision:
    if state.status != "open":
        return refuse("task_closed", f"task {state.task} is {state.status}", "start a new task")
    if command.objective is not None and _differs(state.objective, command.objective):
        return refuse(
            "objective_immutable",
            "a task's objective never changes",
            "finish this task with done=true and start another",
        )
    count = len(state.steps if command.steps is None else command.steps)
    if command.step is not None and command.step > count:
        return refuse("bad_argument", f"plan step: there are {count} steps", "count from 1")
    growth = _growth(state, command, facts)
    closes = bool(command.done) and command.step is None
    budget = policy.reserve(state, None if closes else command.budget, facts)
    if isinstance(growth, Refusal):
        return Decision((), growth)
    if isinstance(budget, Refusal):
        return Decision((), budget)
    closing = policy.close(state, facts.now_ms) if closes else ()
    ends = handing.cancel_all(state, facts) if closes else ()
    ended = tuple(event for end in ends for event in end.events)
    events = (*ended, *_progress(state, command), *growth, *budget.events)
    after = fold(state, events, facts)
    shown = manifest(after) if events and mode_of(state.payloads).manifest_on_plan else ""
    unsaid = (("seal", after.seal),) if after.seal != state.seal and not shown else ()
    pairs = (
        ("task", state.task),
        ("verdict", _verdict(state, after)),
        *unsaid,
        *prefill.pairs(_prefill(state, after, events, facts)),
        *drift.pairs(state, facts),
        *(() if closes else status.next_step(after, NEXT)),
    )
    return Decision(
        events,
        Reply(pairs, manifest=shown),
        (*budget.reservations, *closing, *(r for end in ends for r in end.reservations)),
        bumps=tuple(bump for end in ends for bump in end.bumps),
    )


def _progress(state: TaskState, command: Plan) -> tuple[ev.Event, ...]:
    found: list[ev.Event] = []
    if command.steps is not None and command.steps != tuple(s.text for s in state.steps):
        found.append(ev.PlanSet(command.steps))
    if command.step is not None:
        found.append(ev.StepMarked(command.step, done=command.done is not False))
    elif command.done:
        found.append(ev.TaskClosed())
    return tuple(found)


def _growth(state: TaskState, command: Plan, facts: Facts) -> tuple[ev.Event, ...] | Refusal:
    """Return what is appended to the tail; an id known with the same text adds nothing."""
    found: list[ev.Event] = [
        ev.ConstraintAdded(f"c{n}", text)
        for n, text in enumerate(command.constraints or (), state.constraints + 1)
    ]
    number = state.decisions
    for line in command.pinned or ():
        item, text = split_pinned(line, number + 1)
        known = facts.pins.get(item)
        if known is None:
            number += 1
            found.append(ev.DecisionPinned(item, text))
        elif known != prefix.pinned_hash(text):
            return pinned_rewrite(item)
    return tuple(found)


def split_pinned(line: str, number: int) -> tuple[str, str]:
    """Return (id, text) of `id: text`; a line without an id is d<number>."""
    found = _PINNED.fullmatch(line)
    return (found[1], found[2]) if found else (f"d{number}", line)


def pinned_rewrite(item: str) -> Refusal:
    return Refusal(
        "pinned_rewrite",
        f"verdict=critical_drift semantic_break=true cause=pinned_rewrite id={item}",
        "keep the pinned text; pin the new decision under a new id",
    )


def _verdict(before: TaskState, after: TaskState) -> str:
    if after.status != before.status:
        return after.status
    if tuple(s.text for s in before.steps) != tuple(s.text for s in after.steps):
        return "minor_drift"
    return "normal_growth" if before.tail != after.tail else "none"


def _prefill(
    before: TaskState, after: TaskState, events: tuple[ev.Event, ...], facts: Facts
) -> PrefillPlan | None:
    """Return what the changes of an update make the provider read anew."""
    old, new = (tuple(step.text for step in state.steps) for state in (before, after))
    if old != new:
        pairs = zip(old, new, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        kept = before.head_tokens + before.contract_tokens
        kept += _tokens(before.objective, *new[:same])
        return prefill.rewritten(before, kept, _tokens(*new[same:]), facts)
    added = tuple(e.text for e in events if isinstance(e, ev.ConstraintAdded | ev.DecisionPinned))
    return prefill.appended(before, _tokens(*added), facts) if added else None


def _tokens(*texts: str) -> int:
    return sum(max(1, tokens.estimate(text).n) for text in texts)


def _differs(known: str, said: str) -> bool:
    return canon.meaning(known) != canon.meaning(said)


def fold(state: TaskState, events: tuple[ev.Event, ...], facts: Facts) -> TaskState:
    """Return the state after `events`."""
    return (state, *states(state, events, facts))[-1]


def states(state: TaskState, events: tuple[ev.Event, ...], facts: Facts) -> tuple[TaskState, ...]:
    """Return the state after each of `events`."""
    found: list[TaskState] = []
    for event in events:
        state = apply(state, ev.Stamped(facts.now_ms, facts.agent, event))
        found.append(state)
    return tuple(found)
