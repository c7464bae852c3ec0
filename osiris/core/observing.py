"""osiris_observe: what the agent did, learned, kept and dropped.

Rule 1: a drop counts as declared, once per session, agent and ref, only if the text was shown.
Rule 2: pinned texts never change under their id.
Rule 3: whatever is observed under an unknown seal is recorded, and answered with the manifest.
Rule 4: a declared state is what an agent says; the project keeps who said it and when.
Rule 5: a call that a rule forbids and that was made anyway is recorded, and answered with the rule.
"""

import re
from typing import assert_never

from msgspec.structs import replace

from osiris.core import (
    delivering,
    drift,
    failures,
    filing,
    heads,
    ledger,
    noting,
    planning,
    prefill,
    prefix,
    refs,
    tokens,
    usage,
)
from osiris.core import events as ev
from osiris.core.commands import Observe
from osiris.core.decision import Decision, Facts, Payload, refuse
from osiris.core.invariant_ruling import changed, with_finding
from osiris.core.loop_call import Call, see
from osiris.core.loop_window import Seen
from osiris.core.loopguard import Verdict, judge
from osiris.core.manifest import manifest
from osiris.core.memory import ScopeState
from osiris.core.modes import mode_of
from osiris.core.replies import Block, Reply
from osiris.core.task_state import TaskState

NEVER_SHOWN = ("path", "head", "contract", "check")
_STATE = re.compile(r"[A-Za-z][\w.-]{0,63}")


def observe(state: TaskState, command: Observe, facts: Facts) -> Decision:
    if state.status != "open" and command.kind != "dropped":
        return refuse("task_closed", f"task {state.task} is {state.status}", "start a new task")
    decision = _decided(state, command, facts)
    reply = decision.reply
    if not drift.is_unknown(facts) or not isinstance(reply, Reply) or reply.manifest:
        return decision
    shown = manifest(planning.fold(state, decision.events, facts))
    return replace(decision, reply=replace(reply, manifest=shown))


def _decided(state: TaskState, command: Observe, facts: Facts) -> Decision:
    match command.kind:
        case "action":
            return _action(state, command, facts)
        case "decision" | "constraint":
            return _pin(state, command, facts)
        case "dropped":
            return _dropped(state, command, facts)
        case "head" | "contract":
            return heads.observe(state, command, facts)
        case "file":
            return filing.observe(state, command, facts)
        case "usage":
            return usage.observe(state, command, facts)
        case "state":
            return _state(state, command, facts)
        case "lesson" | "fact" | "note":
            return noting.note(state, command, facts)
        case _:
            assert_never(command.kind)


def observe_scope(state: ScopeState, command: Observe, facts: Facts) -> Decision:
    """Note a thing in a scope that is no task, or keep a payload that came by pipe."""
    if facts.payload is not None:
        return _piped(command.tool or "put", facts.payload, facts)
    return noting.note_outside(state, command, facts)


def _piped(tool: str, payload: Payload, facts: Facts) -> Decision:
    name = refs.short(payload.sha256)
    known = () if facts.ref is None else (("known", "yes"),)
    pairs = (("ok", ""), ("ref", name), ("tokens", str(payload.tokens)), *known)
    events = delivering.stored(tool, payload, facts)
    if delivering.is_verbatim(payload, mode_of((payload.tokens,))):
        reply = Reply(pairs, block=Block(name, payload.text))
        return Decision(events, reply, delivered=payload.tokens)
    return Decision(events, Reply(pairs, stub=payload.stub))


def _action(state: TaskState, command: Observe, facts: Facts) -> Decision:
    if command.tool is None:
        return refuse("missing_argument", "observe action needs 'tool'", "name the tool you called")
    payload = facts.payload
    sizes = state.payloads if payload is None else (*state.payloads, payload.tokens)
    mode = mode_of(sizes)
    seen = _seen(command.tool, command, facts)
    verdict = judge(state.loop, seen)
    event = ev.ActionObserved(
        seen, command.ok, 0 if payload is None else payload.tokens, facts.project
    )
    stored = () if payload is None else delivering.stored(command.tool, payload, facts)
    ruling = facts.ruling
    failed = (_failure(seen, payload),) if seen.fault else ()
    events = (event, *stored, *failed, *_state_changes(facts))
    states = planning.states(state, events, facts)
    reply = delivering.answer(states[-1], mode, facts)
    if ruling.changes:
        reply = replace(reply, pairs=(*reply.pairs, *changed(ruling)))
    if ruling.blocks or (ruling.warns and verdict.level == "none"):
        reply = with_finding(reply, ruling)
    else:
        reply = with_verdict(reply, verdict)
    delivered = payload.tokens if payload is not None and reply.block is not None else 0
    return Decision(events, reply, delivered=delivered, states=states)


def _state_changes(facts: Facts) -> tuple[ev.Event, ...]:
    return tuple(
        ev.StateChanged(change.state, change.ok, change.by, facts.ruling.project)
        for change in facts.ruling.changes
    )


def _failure(seen: Seen, payload: Payload | None) -> ev.FailureSeen:
    return failures.seen(seen, "" if payload is None else payload.text or payload.stub)


def _seen(tool: str, command: Observe, facts: Facts) -> Seen:
    """Return what the loop guard keeps of this call; with a payload, ingest has looked at it."""
    payload = facts.payload
    if payload is not None and payload.seen is not None:
        return replace(payload.seen, at_ms=facts.now_ms, ref=payload.sha256)
    ref = payload.sha256 if payload is not None else ""
    ref = ref or ("" if facts.ref is None else facts.ref.sha256)
    batch = command.batch or ""
    return see(Call(tool, command.args or {}, None, command.ok, facts.now_ms, batch=batch, ref=ref))


def with_verdict(reply: Reply, verdict: Verdict) -> Reply:
    """Return `reply` with what the loop guard says, if it says anything."""
    if verdict.level == "none":
        return reply
    action = (("required_action", verdict.required_action),) if verdict.required_action else ()
    pairs = (*reply.pairs, ("verdict", verdict.word), ("pattern", verdict.rule), *action)
    notes = (f"evidence: {verdict.evidence}", f"instead: {verdict.alternative}")
    return replace(reply, pairs=pairs, notes=(*notes[: 2 - bool(action)], *reply.notes))


def _pin(state: TaskState, command: Observe, facts: Facts) -> Decision:
    if command.text is None:
        return noting.needs_text(command)
    if command.scope not in (None, "task"):
        return refuse("bad_argument", f"a {command.kind} belongs to its task", "leave out 'scope'")
    item = pin_id(state, command)
    known = facts.pins.get(item)
    pairs = (("ok", ""), ("id", item), *drift.pairs(state, facts))
    if known is not None and known != prefix.pinned_hash(command.text):
        return Decision((), planning.pinned_rewrite(item))
    if known is not None:
        return Decision((), Reply((*pairs, ("known", "yes"))))
    event = ev.DecisionPinned if command.kind == "decision" else ev.ConstraintAdded
    events = (event(item, command.text),)
    after = planning.fold(state, events, facts)
    cost = prefill.appended(state, max(1, tokens.estimate(command.text).n), facts)
    verdict = (("verdict", "normal_growth"), *prefill.pairs(cost))
    grown = (*pairs, *verdict, ("seal", after.seal))
    return Decision(events, Reply(grown))


def pin_id(state: TaskState, command: Observe) -> str:
    """Return the id a decision or constraint is pinned under."""
    number = state.decisions if command.kind == "decision" else state.constraints
    return command.id or f"{command.kind[0]}{number + 1}"


def _dropped(state: TaskState, command: Observe, facts: Facts) -> Decision:
    if (command.ref or command.result) is None:
        return refuse("missing_argument", "observe dropped needs 'ref'", "send the ref you dropped")
    ref = facts.ref
    if ref is None:
        return refuse("unknown_ref", "this task has no such ref", "use a ref that a reply gave you")
    name = refs.short(ref.sha256)
    if ref.door in NEVER_SHOWN:
        return Decision(
            (), Reply((("ok", ""), ("ref", name), ("booked", "0"), ("why", "never_shown")))
        )
    if facts.dropped_before:
        return Decision((), Reply((("ok", ""), ("ref", name), ("booked", "0"), ("why", "known"))))
    tokens = ledger.shown_anyway(ref.tokens, ref.size, facts.host, ref.tool)
    kept = ev.KeptOut(ref.sha256, "declared", ledger.source(ref.tool), tokens, facts.nonce)
    pairs = (("ok", ""), ("ref", name), ("booked", str(tokens)), ("proof", "declared"))
    return Decision((kept,), Reply((*pairs, *drift.pairs(state, facts))))


def _state(state: TaskState, command: Observe, facts: Facts) -> Decision:
    if command.text is None or command.ok is None:
        fix = "send text=NAME ok=true, or ok=false when it no longer holds"
        return refuse("missing_argument", "observe state needs 'text' and 'ok'", fix)
    if _STATE.fullmatch(command.text) is None:
        fix = "name it as the project's invariants do, such as tests_passed"
        return refuse("bad_argument", "observe state: text is no name", fix)
    event = ev.StateDeclared(command.text, command.ok, state.project)
    said = "yes" if command.ok else "no"
    pairs = (("ok", ""), ("state", command.text), ("holds", said), ("how", "declared"))
    return Decision((event,), Reply((*pairs, *drift.pairs(state, facts))))
