"""The report of a task: the same numbers as a reply, as JSON and as Markdown.

Rule 1: net is `ledger.net` and nothing else; declared and estimated amounts stand beside it.
"""

from typing import Any

from osiris.core import ledger, plain
from osiris.core.decision import Decision
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState


def report(state: TaskState) -> Decision:
    """Return the reply; the runtime writes the files."""
    numbers = figures(state)
    shown = ("steps_done", "steps", "actions", "refs", "kept_out", "overhead", "net")
    pairs = (("task", state.task), ("status", state.status))
    counts = tuple((name, str(numbers[name])) for name in shown)
    return Decision((), Reply((*pairs, *counts), (f"file: reports/{state.task}.md",)))


def figures(state: TaskState) -> dict[str, Any]:
    """Return the report as JSON: counts, tokens by kind and proof, and the seal."""
    return {
        "task": state.task,
        "objective": state.objective,
        "status": state.status,
        "seal": state.seal,
        "version": state.version,
        "steps": len(state.steps),
        "steps_done": state.steps_done,
        "constraints": state.constraints,
        "decisions": state.decisions,
        "notes": state.notes,
        "actions": state.actions,
        "refs": state.refs,
        "calls": state.calls,
        "redacted_items": state.redacted,
        "kept_out": state.kept_out.get("receipt", 0),
        "kept_out_declared": state.kept_out.get("declared", 0),
        "overhead": sum(state.charged.values()),
        "overhead_by_kind": dict(sorted(state.charged.items())),
        "net": ledger.net(state.kept_out, state.charged),
    }


def markdown(state: TaskState) -> str:
    """Return the report for people."""
    numbers = figures(state)
    steps = "\n".join(
        f"- [{'x' if step.done else ' '}] {plain.one_line(step.text, 200)}" for step in state.steps
    )
    rows = "\n".join(
        f"| {name.replace('_', ' ')} | {numbers[name]:,} |"
        for name in ("actions", "refs", "calls", "kept_out", "overhead", "net")
    )
    return (
        f"# Task {state.task}: {plain.one_line(state.objective, 200)}\n\n"
        f"Status: {state.status}. Seal: `{state.seal}`. Tokens on the o200k ruler.\n\n"
        f"| figure | value |\n|---|---:|\n{rows}\n\n## Plan\n\n{steps or 'No steps.'}\n"
    )
