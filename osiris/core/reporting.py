"""The report of a task: the same numbers as a reply, as JSON and as Markdown.

Rule 1: net is `ledger.net` and nothing else; declared and estimated amounts stand beside it.
Rule 2: money is what declared usage cost at the prices of then; none declared, none said.
Rule 3: a text of the task stands on one line of its own, so that it cannot pass for the report.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from osiris.core import budget, ledger, plain, refs
from osiris.core.decision import Decision
from osiris.core.index import RefEntry
from osiris.core.memory import Entry
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState

LISTED = 200  # refs and entries in the Markdown; the JSON has all that it was given
TEXT = 400


class Material(Struct, frozen=True):
    """What a report needs beside the state: remembered texts, and payloads, oldest first."""

    memory: tuple[Entry, ...] = ()
    refs: tuple[RefEntry, ...] = ()


def report(state: TaskState) -> Decision:
    """Return the reply; the runtime writes the files."""
    numbers = figures(state)
    shown = ("steps_done", "steps", "actions", "refs", "kept_out", "overhead", "net")
    pairs = (("task", state.task), ("status", state.status))
    counts = tuple((name, str(numbers[name])) for name in shown)
    money = (("usd", f"{state.microusd / 1e6:.4f}"),) if state.microusd else ()
    reply = Reply((*pairs, *counts, *money), (f"file: reports/{state.task}.md",))
    return Decision((), reply)


def figures(state: TaskState) -> dict[str, Any]:
    """Return the report's numbers: counts, tokens by kind and proof, and the seal."""
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
        "usd": state.microusd / 1e6 if state.microusd else None,
    }


def document(state: TaskState, found: Material) -> dict[str, Any]:
    """Return the whole report as JSON."""
    return {
        **figures(state),
        "holder": state.holder,
        "started_ms": state.started_ms,
        "last_ms": state.touched_ms,
        "budget": state.budget,
        "spent": budget.spent(state),
        "plan": [{"text": step.text, "done": step.done} for step in state.steps],
        "memory": [
            {"kind": e.kind, "id": e.id, "text": e.text, "by": e.by, "at_ms": e.at_ms}
            for e in found.memory
        ],
        "stored": [
            {
                "ref": refs.name(ref.sha256),
                "tool": ref.tool,
                "path": ref.path,
                "size": ref.size,
                "tokens": ref.tokens,
                "by": ref.by,
                "at_ms": ref.at_ms,
            }
            for ref in found.refs
        ],
    }


def markdown(state: TaskState, found: Material) -> str:
    """Return the report for people."""
    head = f"# Task {state.task}: {_text(state.objective, 200)}"
    said = f"Status: {state.status}. Held by {_text(state.holder, 60)}. Seal: `{state.seal}`."
    parts = [head, said, _section("Plan", _plan(state), "No steps.")]
    parts += [_section(title, _entries(found, kinds), "None.") for title, kinds in MEMORY.items()]
    parts += [_section("Work", _work(state), ""), _section("Results kept", _refs(found), "None.")]
    return "\n\n".join([*parts, _section("Tokens", _tokens(state), ""), RULER]) + "\n"


# heading -> kinds of memory under it
MEMORY = {
    "Constraints": ("constraint",),
    "Decisions": ("decision",),
    "Learned": ("lesson", "fact", "note"),
    "Failures": ("failure",),
}
RULER = "Counted on the o200k ruler. Net is what receipts prove less all overhead."


def _section(title: str, lines: Iterator[str], otherwise: str) -> str:
    return f"## {title}\n\n" + ("\n".join(lines) or otherwise)


def _plan(state: TaskState) -> Iterator[str]:
    for step in state.steps:
        yield f"- [{'x' if step.done else ' '}] {_text(step.text, 200)}"


def _entries(found: Material, kinds: tuple[str, ...]) -> Iterator[str]:
    entries = [entry for entry in found.memory if entry.kind in kinds]
    for entry in entries[:LISTED]:
        yield f"- **{_text(entry.id, 64)}** ({_text(entry.by, 40)}): {_text(entry.text, TEXT)}"
    yield from _more(len(entries))


def _work(state: TaskState) -> Iterator[str]:
    rows = (("actions", state.actions), ("files", state.files), ("calls of OSIRIS", state.calls))
    yield from _table("work", rows)
    if state.budget:
        yield ""
        used = budget.spent(state)
        given = state.budget.items()
        spent = ((f"{unit} of {amount:,}", used.get(unit, 0)) for unit, amount in given)
        yield from _table("used of the budget", spent)


def _refs(found: Material) -> Iterator[str]:
    for ref in found.refs[:LISTED]:
        where = f" {_text(ref.path, 120)}" if ref.path else ""
        yield f"- `{refs.short(ref.sha256)}` {_text(ref.tool, 40)}{where}: {ref.tokens:,} tokens"
    yield from _more(len(found.refs))


def _tokens(state: TaskState) -> Iterator[str]:
    kept = ((f"kept out, {proof}", state.kept_out.get(proof, 0)) for proof in ledger.PROOFS)
    overhead = ((f"overhead, {kind}", amount) for kind, amount in sorted(state.charged.items()))
    net = ledger.net(state.kept_out, state.charged)
    yield from _table("tokens", (*kept, *overhead, ("**net**", net)))
    if state.microusd:
        yield ""
        yield f"Declared requests cost ${state.microusd / 1e6:,.4f}."


def _table(name: str, rows: Any) -> Iterator[str]:
    yield f"| {name} | |"
    yield "|---|---:|"
    for label, amount in rows:
        yield f"| {label} | {amount:,} |"


def _more(count: int) -> Iterator[str]:
    if count > LISTED:
        yield f"- and {count - LISTED:,} more, in the JSON"


def _text(text: str, limit: int) -> str:
    return plain.one_line(text, limit).replace("|", "\\|").replace("<", "&lt;")
