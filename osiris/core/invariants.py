"""Invariants: what the rules of a project say to a call, and what a finished call does to states.

| the rule requires | and the state | finding                           |
| nothing           | -             | the rule's verdict                |
| a state           | holds         | none                              |
| a state           | does not, is stale, was never set | the rule's verdict |

Rule 1: an approval by a person lifts one rule for one task until its time is over.
Rule 2: the rules decide alone: no clock, no file; what they need comes as facts.
Rule 3: every glob is matched by RE2 and every list is limited, so the time is linear in the call,
        times the number of rules.
"""

from collections.abc import Mapping

from msgspec import Struct

from osiris.core import plain
from osiris.core.invariant_calls import Deed, ToolCall, deed_of
from osiris.core.invariant_file import parse
from osiris.core.invariant_rules import UNREAD, Example, Match, Rule, Rules, Verdict, match
from osiris.core.invariant_states import Newest, Standing, StateChange, changes, failing

__all__ = [
    "Approval",
    "Finding",
    "RuleFacts",
    "Tried",
    "explain",
    "judge",
    "observe_states",
    "parse",
    "required_states",
    "try_examples",
]

_SHOWN = 120


class Approval(Struct, frozen=True, array_like=True):
    """A person's leave to do what `rule` forbids, in `task`, before `until_ms`."""

    rule: str
    task: str
    until_ms: int


class RuleFacts(Struct, frozen=True):
    """What was looked up: `newest` per required state, see `required_states`."""

    task: str = ""
    now_ms: int = 0
    newest: Mapping[str, Newest] = {}
    approvals: tuple[Approval, ...] = ()


class Finding(Struct, frozen=True):
    """A rule that a call breaks: why, and what to do instead."""

    rule: str
    verdict: Verdict
    message: str
    evidence: str
    action: str


class Tried(Struct, frozen=True):
    """What came of an example: `got` is the strongest verdict, `rules` are those that said it."""

    number: int
    example: Example
    got: str
    rules: tuple[str, ...]

    @property
    def ok(self) -> bool:
        said_by = self.example.rule
        return self.got == self.example.expect and (not said_by or said_by in self.rules)


def judge(
    rules: Rules,
    call: ToolCall,
    states: Mapping[str, Standing],
    facts: RuleFacts,
    deed: Deed | None = None,
) -> tuple[Finding, ...]:
    """Return what the rules say against a call, in their order; empty if nothing.

    `deed` is that of the call, for who has it already: to make it costs most.
    """
    deed = deed or deed_of(call)
    found: list[Finding] = []
    for rule in rules.invariants:
        matched = match(rule, call, deed)
        if matched is None or _is_approved(rule, facts):
            continue
        reasons = _reasons(rule, rules, states, facts)
        if reasons or not rule.states:
            found.append(_finding(rule, rules, matched, reasons, facts))
    return tuple(found)


def required_states(rules: Rules, call: ToolCall, deed: Deed | None = None) -> tuple[str, ...]:
    """Return the states whose files must be looked up before `judge`."""
    deed = deed or deed_of(call)
    required = (
        state
        for rule in rules.invariants
        if rule.states and match(rule, call, deed)
        for state in rule.states
    )
    return tuple(dict.fromkeys(required))


def observe_states(
    rules: Rules, call: ToolCall, *, ok: bool | None, deed: Deed | None = None
) -> tuple[StateChange, ...]:
    """Return what a call that was made does to the states; `ok` None: not reported."""
    return changes(rules.states, deed or deed_of(call), ok=ok)


def explain(rules: Rules, call: ToolCall) -> tuple[str, ...]:
    """Return in words how a call is read and which rules it would meet."""
    deed = deed_of(call)
    lines = list(_reading(deed))
    for rule in rules.invariants:
        matched = match(rule, call, deed)
        if matched is not None:
            unless = f" unless {' and '.join(rule.states)}" if rule.states else ""
            why = plain.one_line(matched.text() or "its arguments", _SHOWN)
            lines.append(f"{rule.verdict}{unless}: {rule.id} ({why})")
            lines += [f"  {rule.message}"] if rule.message else []
    fires = any(line.startswith(("warn", "block")) for line in lines)
    lines += [] if fires else ["allow: no rule is for this call"]
    sets = changes(rules.states, deed, ok=True)
    return (*lines, *(f"if it succeeds: {_change(change)}" for change in sets))


def try_examples(rules: Rules, roots: tuple[str, ...] = ()) -> tuple[Tried, ...]:
    """Return what comes of each example of the file."""
    return tuple(
        _tried(number, example, rules, roots) for number, example in enumerate(rules.examples, 1)
    )


def _is_approved(rule: Rule, facts: RuleFacts) -> bool:
    return rule.approvable and any(
        one.rule == rule.id and one.task == facts.task and facts.now_ms < one.until_ms
        for one in facts.approvals
    )


def _reasons(
    rule: Rule, rules: Rules, states: Mapping[str, Standing], facts: RuleFacts
) -> list[tuple[str, str]]:
    """Return the required states that do not hold, and why."""
    reasons = (
        (name, failing(rules.states[name], states.get(name), facts.newest.get(name)))
        for name in rule.states
    )
    return [(name, why) for name, why in reasons if why]


def _finding(
    rule: Rule, rules: Rules, matched: Match, reasons: list[tuple[str, str]], facts: RuleFacts
) -> Finding:
    why = "; ".join(reason for _, reason in reasons)
    if matched.name == UNREAD:
        why = UNREAD
    elif not why:
        why = f"the rule is for {matched.text() or 'such calls'}"
    return Finding(
        rule=rule.id,
        verdict=rule.verdict,
        message=rule.message or f"denied by {rule.id}",
        evidence=plain.one_line(why, 2 * _SHOWN),
        action=_action(rule, rules, matched, [name for name, _ in reasons], facts.task),
    )


def _action(rule: Rule, rules: Rules, matched: Match, failed: list[str], task: str) -> str:
    if matched.name == UNREAD:
        return "make it shorter, or put it into a script"
    if failed:
        return rules.states[failed[0]].remedy
    if not rule.approvable:
        return "leave it to a person"
    return f"ask a person to allow it: osiris approve {rule.id} --task {task or 'TASK'} --for 10m"


def _reading(deed: Deed) -> list[str]:
    lines: list[str] = []
    for step in deed.steps:
        status = "" if step.reports else ", exit status not reported"
        dry = ", runs nothing" if step.is_dry else ""
        changed = f", changes {', '.join(step.changed)}" if step.changed else ""
        said = f"read as {', '.join(step.names)}{changed}{status}{dry}"
        lines.append(plain.one_line(said, 2 * _SHOWN))
    return [*lines, *([] if deed.is_whole else ["too long to be read whole: taken for the worst"])]


def _change(change: StateChange) -> str:
    return f"{change.state} holds" if change.ok else f"{change.state} is cleared ({change.by})"


def _tried(number: int, example: Example, rules: Rules, roots: tuple[str, ...]) -> Tried:
    call = ToolCall(example.call.tool, example.call.args, example.call.agent, roots)
    standing = {name: Standing(1, ok=True) for name in example.states}
    facts = RuleFacts(newest={name: Newest() for name in example.states})
    findings = judge(rules, call, standing, facts)
    verdicts = {finding.verdict for finding in findings}
    got = next((verdict for verdict in ("block", "warn") if verdict in verdicts), "allow")
    said_by = tuple(finding.rule for finding in findings if finding.verdict == got)
    return Tried(number, example, got, said_by)
