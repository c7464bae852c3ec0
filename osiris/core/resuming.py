"""What an agent gets when it takes a task up again: manifest, plan, pinned texts, refs, failures.

Rule 1: the plan and the pinned texts stand inside one data block, oldest first.
Rule 2: at most PAGE characters of texts; the rest is named with the recall that reads it.
"""

from osiris.core import events as ev
from osiris.core import failures, plain, refs
from osiris.core.decision import Decision, Facts, refuse
from osiris.core.manifest import manifest
from osiris.core.replies import Block, Reply
from osiris.core.task_state import TaskState, apply

PAGE = 1_800
ENTRY = 400
FAILURES = 3


def resume(state: TaskState, facts: Facts) -> Decision:
    events = (ev.TaskResumed(facts.nonce),)
    after = apply(state, ev.Stamped(facts.now_ms, facts.agent, events[0]))
    lines = (*_steps(state), *_pinned(facts), *_refs(state), *_failures(state))
    shown, left = _page(lines)
    pairs = (("task", state.task), ("status", state.status), ("holder", facts.agent))
    notes = (f"more={left} read them with recall op=memory",) if left else ()
    block = Block(f"task {state.task}", shown) if shown else None
    return Decision(events, Reply(pairs, notes, manifest=manifest(after), block=block))


def snapshot(state: TaskState, item: str | None) -> Decision:
    """Name this point of the task."""
    if item is not None and not item.isprintable():
        return refuse("bad_argument", "checkpoint id: hidden characters", "use letters and digits")
    name = item or f"s{state.version + 1}"
    pairs = (("task", state.task), ("snapshot", name), ("version", str(state.version + 1)))
    return Decision((ev.SnapshotTaken(name, state.seal),), Reply(pairs, manifest=manifest(state)))


def _steps(state: TaskState) -> tuple[str, ...]:
    return tuple(
        f"step {number} [{'x' if step.done else ' '}] {plain.one_line(step.text, ENTRY)}"
        for number, step in enumerate(state.steps, 1)
    )


def _pinned(facts: Facts) -> tuple[str, ...]:
    return tuple(
        f"{entry.kind} {entry.id}: {plain.one_line(entry.text, ENTRY)}" for entry in facts.memory
    )


def _refs(state: TaskState) -> tuple[str, ...]:
    return tuple(
        f"ref {refs.short(ref.sha256)} {ref.tokens} tokens {plain.one_line(ref.tool, 40)}"
        for ref in state.recent_refs[-5:]
    )


def _failures(state: TaskState) -> tuple[str, ...]:
    latest = state.failures[-FAILURES:]
    return tuple(f"failure {failure.id} {failures.told(failure)}" for failure in latest)


def _page(lines: tuple[str, ...]) -> tuple[str, int]:
    """Return the lines that fit into PAGE characters and how many do not."""
    size = 0
    for shown, line in enumerate(lines):
        size += len(line) + 1
        if size > PAGE:
            return "\n".join(lines[:shown]), len(lines) - shown
    return "\n".join(lines), 0
