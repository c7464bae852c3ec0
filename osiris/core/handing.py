"""osiris_handoff: offer, accept, decline, beat, input, return, verify, reject, cancel.

Rule 1: every move is decided on the issuer's task; the assignee's state comes as facts.
Rule 2: a return after the end is kept as a late result and changes nothing else.
Rule 3: only the very result that the checks were run on is verified.
"""

from collections.abc import Callable

from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core import handoff, offering, plain, policy, refs
from osiris.core.commands import Handoff
from osiris.core.decision import Decision, Facts, refuse
from osiris.core.errors import Refusal
from osiris.core.handoff import HELD, MOVES, Contract, Side
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState

ANYONE = ("any", "anyone", "*")
SHOWN_OUTPUTS = 3

Moving = Callable[[TaskState, Contract, Handoff, Facts], Decision]


def hand(state: TaskState, command: Handoff, facts: Facts) -> Decision:
    """Decide a handoff on the issuer's task."""
    if command.op == "offer":
        return offering.offer(state, command, facts)
    contract = facts.contract
    if contract is None:
        return refuse("unknown_contract", "no such contract", "see osiris_handoff op=list")
    if command.op == "beat":
        return _beat(contract, facts)
    name = _move_of(command, contract, facts)
    if command.op == "return" and contract.status not in handoff.ACTIVE:
        return _late(contract, facts)
    if command.op == "verify" and contract.status in ("expired", "cancelled") and contract.late:
        return _adopt(contract, facts)
    if command.attempt is not None and command.attempt != contract.attempt:
        what = f"attempt {command.attempt} of {contract.id} is over; it is {contract.attempt} now"
        return refuse("contract_closed", what, "stop: another holder has this work")
    wrong = handoff.refusal_of_move(name, contract, _side(name, contract, facts))
    if wrong is not None:
        return _known_return(contract, command, facts) or Decision((), wrong)
    return _MOVINGS[name](state, contract, command, facts)


def _beat(contract: Contract, facts: Facts) -> Decision:
    """Say that the holder is alive; whoever names the child's task renews its lease anyway."""
    if contract.status not in HELD:
        what = f"contract {contract.id} is {contract.status}"
        return refuse("contract_state", what, "stop: this work is over")
    if facts.acting != contract.child:
        return refuse("not_holder", "beat is for the holder", "name the child's task with task=")
    pairs = (("ok", ""), ("contract", contract.id), ("lease_s", str(contract.lease_s)))
    return Decision((), Reply(pairs))


def _decline(_: TaskState, contract: Contract, command: Handoff, facts: Facts) -> Decision:
    return _moved(contract, "decline", facts, why=_said(command))


def _ask(_: TaskState, contract: Contract, command: Handoff, facts: Facts) -> Decision:
    return _moved(contract, "ask", facts, why=_said(command))


def _answer(_: TaskState, contract: Contract, command: Handoff, facts: Facts) -> Decision:
    return _moved(contract, "answer", facts, why=_said(command))


def _return(_: TaskState, contract: Contract, __: Handoff, facts: Facts) -> Decision:
    payload = facts.payload
    if payload is None:
        return refuse("missing_argument", "handoff return needs 'result'", "send the result")
    if facts.schema_errors:
        what = "; ".join(facts.schema_errors)[:300]
        return refuse("schema_mismatch", what, "mend the result and return it again")
    moved = _moved(contract, "return", facts, ref=payload.sha256)
    return Decision((*_stored(facts), *moved.events), moved.reply, bumps=moved.bumps)


def _verify(_: TaskState, contract: Contract, __: Handoff, facts: Facts) -> Decision:
    failed = _failed(contract, contract.result, facts)
    if failed is not None:
        return failed
    moved = _moved(contract, "verify", facts, ref=contract.result)
    assert isinstance(moved.reply, Reply)
    reply = replace(moved.reply, notes=_outputs(facts))
    return replace(moved, events=(*_kept_outputs(facts), *moved.events), reply=reply)


def _reject(_: TaskState, contract: Contract, command: Handoff, facts: Facts) -> Decision:
    return _moved(contract, "reject", facts, why=_said(command))


def _cancel(_: TaskState, contract: Contract, command: Handoff, facts: Facts) -> Decision:
    return _moved(contract, "cancel", facts, why=_said(command))


def expire(contract: Contract | None, facts: Facts) -> Decision:
    """End a lease nobody renewed; the child must still stand where it was seen."""
    if contract is None or contract.status not in HELD:
        return refuse("contract_state", "no lease runs", "nothing to do")
    moved = _moved(contract, "expire", facts, why="lease")
    assert facts.child is not None
    holds = ((f"task/{contract.child}", facts.child.version),)
    return Decision(moved.events, moved.reply, moved.reservations, bumps=moved.bumps, holds=holds)


def cancel_all(state: TaskState, facts: Facts) -> tuple[Decision, ...]:
    """Return the moves that end every open contract of a task that closes."""
    return tuple(
        _moved(contract, "cancel", facts, why="issuer closed")
        for contract in state.contracts.values()
    )


def _moved(
    contract: Contract, name: str, facts: Facts, *, why: str = "", ref: str = ""
) -> Decision:
    move = MOVES[name]
    attempt = contract.attempt + move.raises_fence
    is_over = move.ends not in handoff.ACTIVE
    spent = facts.child.spent if is_over and facts.child is not None else {}
    event = ev.HandoffMoved(contract.id, move.ends, attempt, plain.one_line(why, 500), ref, spent)
    pairs = (("ok", ""), ("contract", contract.id), ("status", move.ends))
    result = (("result", refs.short(ref)),) if ref else ()
    return Decision(
        (event,),
        Reply((*pairs, *result)),
        policy.release(contract, spent) if is_over else (),
        bumps=((contract.id, attempt),) if move.raises_fence else (),
    )


def _late(contract: Contract, facts: Facts) -> Decision:
    """Keep a result that came after the end."""
    if facts.payload is None:
        return refuse("missing_argument", "handoff return needs 'result'", "send the result")
    if contract.status == "verified":
        what = f"contract {contract.id} is verified"
        return refuse("contract_state", what, "nothing more is awaited")
    sha256 = facts.payload.sha256
    events = (*_stored(facts), ev.LateResult(contract.id, sha256))
    pairs = (("ok", ""), ("contract", contract.id), ("status", contract.status))
    kept = (("late", refs.short(sha256)),)
    return Decision(
        events, Reply((*pairs, *kept), ("kept, not applied: its issuer may verify it",))
    )


def _adopt(contract: Contract, facts: Facts) -> Decision:
    """Verify a late result after all."""
    if facts.acting != contract.task:
        return refuse("not_holder", "verify is for the issuer", "name the issuer's task with task=")
    failed = _failed(contract, contract.late, facts)
    if failed is not None:
        return failed
    event = ev.HandoffMoved(contract.id, "verified", contract.attempt, "adopted", contract.late)
    pairs = (("ok", ""), ("contract", contract.id), ("status", "verified"), ("adopted", "late"))
    return Decision((*_kept_outputs(facts), event), Reply(pairs, _outputs(facts)))


def _known_return(contract: Contract, command: Handoff, facts: Facts) -> Decision | None:
    """Return the answer to the same result returned twice."""
    again = command.op == "return" and contract.status == "returned" and facts.payload is not None
    if again and facts.payload and facts.payload.sha256 == contract.result:
        pairs = (("ok", ""), ("contract", contract.id), ("status", "returned"), ("known", "yes"))
        return Decision((), Reply(pairs))
    return None


def _failed(contract: Contract, result: str, facts: Facts) -> Decision | None:
    """Return the answer to a result that did not pass; what commands printed is kept."""
    ran = [c.check for c in facts.checks if c.result == result]
    if ran != list(contract.checks):
        what = f"contract {contract.id} moved while its checks ran"
        return refuse("conflict", what, "call verify again")
    failed = [c for c in facts.checks if not c.ok]
    if not failed:
        return None
    what = "; ".join(f"{c.check[:60]}: {c.why}" for c in failed)[:400]
    refused = Refusal("checks_failed", what, "reject it, so that it can be done again")
    if not _outputs(facts):
        return Decision((), refused)
    reply = Reply(((refused.text(), ""),), _outputs(facts), is_error=True)
    return Decision(_kept_outputs(facts), reply)


def _outputs(facts: Facts) -> tuple[str, ...]:
    """Return a line for what each command printed."""
    return tuple(
        f"{c.check} printed {refs.short(c.output.sha256)} ({c.output.tokens} tokens)"
        for c in facts.checks[:SHOWN_OUTPUTS]
        if c.output is not None
    )


def _kept_outputs(facts: Facts) -> tuple[ev.Event, ...]:
    kept = [(c.check, c.output) for c in facts.checks if c.output is not None]
    return tuple(
        ev.RefStored(p.sha256, p.size, p.tokens, p.method, check, "check", p.redacted)
        for check, p in kept
    )


def _stored(facts: Facts) -> tuple[ev.Event, ...]:
    payload = facts.payload
    if payload is None or facts.ref is not None:
        return ()
    return (
        ev.RefStored(
            payload.sha256,
            payload.size,
            payload.tokens,
            payload.method,
            "handoff",
            "result",
            payload.redacted,
        ),
    )


def _move_of(command: Handoff, contract: Contract, facts: Facts) -> str:
    if command.op == "input":
        return "answer" if facts.acting == contract.task else "ask"
    return command.op


def _side(name: str, contract: Contract, facts: Facts) -> Side:
    """Return which side the caller is on; a name counts only where a name is asked for."""
    if MOVES[name].by == "named":
        return "named" if contract.to in ANYONE or contract.to == facts.agent else "holder"
    if facts.acting == contract.task:
        return "issuer"
    return "holder" if contract.child and facts.acting == contract.child else "named"


def _said(command: Handoff) -> str:
    return command.result or command.goal or ""


_MOVINGS: dict[str, Moving] = {
    "accept": offering.accept,
    "decline": _decline,
    "ask": _ask,
    "answer": _answer,
    "return": _return,
    "verify": _verify,
    "reject": _reject,
    "cancel": _cancel,
}
