"""osiris_precheck: may this action go ahead, and was it done already.

| finding                                     | allow | verdict             |
| unknown seal                                | no    | block               |
| budget over                                 | no    | block               |
| the same read was answered in this task     | yes   | suggest_alternative |
| another agent of the project has the answer | yes   | suggest_alternative |

Rule 1: it changes nothing and is no history.
Rule 2: a duplicate is offered for read-only tools alone, and not after a later write.
"""

from osiris.core import plain, refs
from osiris.core.commands import Precheck
from osiris.core.decision import Decision, Facts
from osiris.core.drift import is_unknown
from osiris.core.drift import pairs as drift_pairs
from osiris.core.loop_identity import call_key
from osiris.core.manifest import budget_word, manifest
from osiris.core.replies import Reply
from osiris.core.task_state import SeenCall, TaskState

READ_ONLY = frozenset(
    {
        "read",
        "grep",
        "glob",
        "ls",
        "cat",
        "view",
        "search",
        "find",
        "webfetch",
        "websearch",
        "fetch",
    }
)


def precheck(state: TaskState, command: Precheck, facts: Facts) -> Decision:
    if is_unknown(facts):
        return _denied("unknown_seal", "carry the manifest of this reply", manifest(state))
    if budget_word(state) == "over":
        return _denied("budget_exceeded", "ask for a larger budget with plan update budget=", "")
    allowed = (("allow", "yes"), *drift_pairs(state, facts))
    found = _earlier(state, command)
    if found is not None:
        return _alternative(allowed, found.ref, "this task", f"seq={found.version}")
    if facts.seen is not None and _is_read(command.tool):
        by = plain.one_line(facts.seen.by, 40)
        return _alternative(allowed, facts.seen.ref, by, f"task={facts.seen.task}")
    return Decision((), Reply((*allowed, ("verdict", "none"))))


def _earlier(state: TaskState, command: Precheck) -> SeenCall | None:
    if not _is_read(command.tool):
        return None
    key = call_key(command.tool, command.args or {})
    for seen in reversed(state.recent):
        if seen.call == key and seen.ok is not False:
            return seen
        if not _is_read(seen.tool):
            return None
    return None


def _is_read(tool: str) -> bool:
    return tool.lower() in READ_ONLY


def _alternative(allowed: tuple[tuple[str, str], ...], ref: str, by: str, where: str) -> Decision:
    pairs = (*allowed, ("verdict", "suggest_alternative"))
    known = f"seen: the same call by {by}, {where}"
    use = f"use: recall ref={refs.short(ref)}" if ref else "use: the answer you have"
    return Decision((), Reply(pairs, (known, use)))


def _denied(code: str, action: str, shown: str) -> Decision:
    pairs = (("allow", "no"), ("verdict", "block"), ("code", code), ("required_action", action))
    return Decision((), Reply(pairs, manifest=shown))
