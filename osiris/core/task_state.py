"""The state of a task and how each event changes it.

Rule 1: `apply` is total over stored events: it never fails and looks nothing up.
Rule 2: the state is bounded. What grows without end (memory entries, refs, seals, bindings) lives
        in the index; here are counts, hashes and short windows. So loading a task costs the same
        whatever its history.
Rule 3: FOLD is raised when `apply` changes meaning; a snapshot of another fold is replayed.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from osiris.core import canon, contracts, overhead, prefix, prompt_state
from osiris.core import events as ev
from osiris.core.failures import Failures, grown
from osiris.core.handoff import Ancestor, Contract
from osiris.core.loop_window import Window, push, renewed
from osiris.core.prompt_state import LastUsage, RecentRef

FOLD = 3
VERBATIM = 600  # tokens up to which a text that came by path is delivered whole
RECENT_PAYLOADS = 20
NO_RULES = ""  # a declared head holds its rules


class Step(Struct, frozen=True, array_like=True):
    text: str
    done: bool = False


class TaskState(Struct, frozen=True, array_like=True):
    """`version` is the stream's; an empty `task` means nothing was started.

    `shown` are tokens of payloads that the agent had in its prompt and has not dropped, `told` all
    that is known to have been put before the model. `touched_ms` is when the last event came.
    """

    version: int = 0
    task: str = ""
    objective: str = ""
    project: str = ""
    holder: str = ""
    status: str = ""
    started_ms: int = 0
    head: str = prefix.EMPTY_HEAD
    contract: str = ""
    steps: tuple[Step, ...] = ()
    tail: str = prefix.EMPTY_TAIL
    constraints: int = 0
    decisions: int = 0
    notes: int = 0
    refs: int = 0
    actions: int = 0
    files: int = 0
    seal: str = ""
    seals: int = 0
    loop: Window = Window()
    recent_refs: tuple[RecentRef, ...] = ()
    payloads: tuple[int, ...] = ()
    budget: dict[str, int] = {}
    holds: tuple[str, ...] = ()
    charged: dict[str, int] = {}
    calls: int = 0
    kept_out: dict[str, int] = {}
    redacted: int = 0
    contracts: dict[str, Contract] = {}
    parent: str = ""
    issuer: str = ""
    ancestors: tuple[Ancestor, ...] = ()
    children_spent: dict[str, int] = {}
    head_ref: str = ""
    head_tokens: int = 0
    contract_ref: str = ""
    contract_tokens: int = 0
    usage: LastUsage = LastUsage()
    shown: int = 0
    told: int = 0
    microusd: int = 0
    touched_ms: int = 0
    failures: Failures = ()

    @property
    def children_reserved(self) -> dict[str, int]:
        """Return what open contracts hold of this task's own budget, by unit."""
        held: dict[str, int] = {}
        for contract in self.contracts.values():
            if not contract.holds:
                held = add(held, contract.budget)
        return held

    @property
    def steps_done(self) -> int:
        return sum(step.done for step in self.steps)


def apply(state: TaskState, stamped: ev.Stamped) -> TaskState:
    """Return the state after `stamped`, the next event of its stream."""
    changed = _APPLY[type(stamped.event)](state, stamped.event, stamped)
    changed["version"] = state.version + 1
    changed["touched_ms"] = stamped.at_ms
    after = replace(state, **changed)
    return after if _ZONES.isdisjoint(changed) else _seal(state, after)


_ZONES = frozenset({"objective", "steps", "contract", "head", "tail"})


def _seal(before: TaskState, after: TaskState) -> TaskState:
    zone_b = prefix.zone_b(after.objective, (s.text for s in after.steps), after.contract)
    seal = prefix.seal(after.task, after.head, zone_b, after.tail)
    if seal == before.seal:
        return after
    return replace(after, seal=seal, seals=before.seals + 1)


Change = dict[str, Any]


def _started(_: TaskState, event: ev.TaskStarted, at: ev.Stamped) -> Change:
    return {
        "task": event.task,
        "objective": event.objective,
        "project": event.project,
        "holder": at.by,
        "status": "open",
        "started_ms": at.at_ms,
    }


def _held(_: TaskState, __: ev.Bound | ev.TaskResumed, at: ev.Stamped) -> Change:
    return {"holder": at.by}


def _plan(state: TaskState, event: ev.PlanSet, _: ev.Stamped) -> Change:
    done = {step.text for step in state.steps if step.done}
    return {"steps": tuple(Step(text, text in done) for text in event.steps)}


def _step(state: TaskState, event: ev.StepMarked, _: ev.Stamped) -> Change:
    marked = tuple(
        replace(step, done=event.done) if n == event.step else step
        for n, step in enumerate(state.steps, 1)
    )
    if marked == state.steps:
        return {}
    loop = renewed(state.loop, "plan_step") if event.done else state.loop
    return {"steps": marked, "loop": loop}


def _budget(_: TaskState, event: ev.BudgetSet, __: ev.Stamped) -> Change:
    return {"budget": event.amounts, "holds": event.holds}


def _constraint(state: TaskState, event: ev.ConstraintAdded, _: ev.Stamped) -> Change:
    item = prefix.pinned_item(event.id, event.text)
    tail = prefix.extend_tail(state.tail, "constraint", item)
    return {"tail": tail, "constraints": state.constraints + 1}


def _decision(state: TaskState, event: ev.DecisionPinned, _: ev.Stamped) -> Change:
    item = prefix.pinned_item(event.id, event.text)
    tail = prefix.extend_tail(state.tail, "decision", item)
    return {"tail": tail, "decisions": state.decisions + 1}


def _noted(state: TaskState, _: ev.Noted | ev.Promoted, __: ev.Stamped) -> Change:
    return {"notes": state.notes + 1}


def _action(state: TaskState, event: ev.ActionObserved, _: ev.Stamped) -> Change:
    seen = replace(event.seen, version=state.version + 1)
    return {"actions": state.actions + 1, "loop": push(state.loop, seen)}


def _failed(state: TaskState, event: ev.FailureSeen, _: ev.Stamped) -> Change:
    return {"failures": grown(state.failures, event)}


def _ref(state: TaskState, event: ev.RefStored, _: ev.Stamped) -> Change:
    is_told = event.door == prompt_state.ARGUMENT or event.tokens <= VERBATIM
    counts: Change = {"refs": state.refs + 1, "redacted": state.redacted + event.redacted}
    if event.door in prompt_state.NO_RESULTS:
        return counts
    return {
        **counts,
        "shown": state.shown + event.tokens * (event.door == prompt_state.ARGUMENT),
        "told": state.told + event.tokens * is_told,
        "recent_refs": prompt_state.stored(state.recent_refs, event, state.steps_done),
        "payloads": (*state.payloads[-RECENT_PAYLOADS + 1 :], event.tokens),
    }


def _kept(state: TaskState, event: ev.KeptOut, _: ev.Stamped) -> Change:
    kept: Change = {"kept_out": add(state.kept_out, {event.proof: event.tokens})}
    if event.proof != "declared":
        return kept
    recent, gone = prompt_state.dropped(state.recent_refs, event.ref)
    return {**kept, "recent_refs": recent, "shown": max(0, state.shown - gone)}


def with_costs(state: TaskState, event: ev.Charged) -> TaskState:
    """Return `state` with costs that are not committed yet, at the same version."""
    return replace(state, **_costs(state, event))


def _charged(state: TaskState, event: ev.Charged, _: ev.Stamped) -> Change:
    return _costs(state, event)


def _costs(state: TaskState, event: ev.Charged) -> Change:
    charged = overhead.grown(state.charged, event.tokens)
    told = state.told + overhead.shown(event.tokens)
    return {"charged": charged, "calls": state.calls + event.calls, "told": told}


def _nothing(_: TaskState, __: ev.Event, ___: ev.Stamped) -> Change:
    return {}


def _closed(_: TaskState, event: ev.TaskClosed, __: ev.Stamped) -> Change:
    return {"status": event.outcome}


def _offered(state: TaskState, event: ev.HandoffOffered, _: ev.Stamped) -> Change:
    return {"contracts": contracts.offered(state.contracts, state.task, event)}


def _accepted(state: TaskState, event: ev.HandoffAccepted, at: ev.Stamped) -> Change:
    return {"contracts": contracts.accepted(state.contracts, event, at.by)}


def _moved(state: TaskState, event: ev.HandoffMoved, _: ev.Stamped) -> Change:
    spent = add(state.children_spent, event.spent) if event.spent else state.children_spent
    return {"contracts": contracts.moved(state.contracts, event), "children_spent": spent}


def _opened(_: TaskState, event: ev.ChildOpened, __: ev.Stamped) -> Change:
    return {
        "parent": event.contract,
        "issuer": event.issuer,
        "ancestors": tuple(Ancestor(*above) for above in event.ancestors),
        "refs": len(event.refs),
        "budget": event.budget,
    }


def _recorded(_: TaskState, event: ev.PrefixRecorded, __: ev.Stamped) -> Change:
    if event.zone == "head":
        head = canon.hexdigest("head", [event.sha256, NO_RULES])
        return {"head": head, "head_ref": event.sha256, "head_tokens": event.tokens}
    contract = canon.hexdigest("contract", [event.sha256])
    return {
        "contract": contract,
        "contract_ref": event.sha256,
        "contract_tokens": event.tokens,
    }


def _usage(state: TaskState, event: ev.UsageDeclared, at: ev.Stamped) -> Change:
    usage = prompt_state.used(event, at.at_ms, state.told)
    return {"usage": usage, "microusd": state.microusd + event.microusd}


def _file(state: TaskState, event: ev.FileSeen, _: ev.Stamped) -> Change:
    return {"files": state.files + event.is_new}


def add(amounts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Return the sum of two tallies."""
    return {key: amounts.get(key, 0) + more.get(key, 0) for key in {**amounts, **more}}


_APPLY: dict[type[Any], Callable[[TaskState, Any, ev.Stamped], Change]] = {
    ev.TaskStarted: _started,
    ev.Bound: _held,
    ev.PlanSet: _plan,
    ev.StepMarked: _step,
    ev.BudgetSet: _budget,
    ev.ConstraintAdded: _constraint,
    ev.DecisionPinned: _decision,
    ev.Noted: _noted,
    ev.Promoted: _noted,
    ev.FailureSeen: _failed,
    ev.ActionObserved: _action,
    ev.RefStored: _ref,
    ev.KeptOut: _kept,
    ev.Charged: _charged,
    ev.SnapshotTaken: _nothing,
    ev.TaskResumed: _held,
    ev.TaskClosed: _closed,
    ev.HandoffOffered: _offered,
    ev.HandoffAccepted: _accepted,
    ev.HandoffMoved: _moved,
    ev.LateResult: _nothing,
    ev.LeaseRearmed: _nothing,
    ev.ChildOpened: _opened,
    ev.PrefixRecorded: _recorded,
    ev.UsageDeclared: _usage,
    ev.FileSeen: _file,
    ev.StateDeclared: _nothing,
    ev.CompactionStaged: _nothing,
    ev.StateChanged: _nothing,
    ev.RuleApproved: _nothing,
}


class _Snapshot(Struct, frozen=True, array_like=True):
    fold: int
    state: TaskState


_encoder = msgspec.msgpack.Encoder(order="deterministic")
_fold = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])
_state = msgspec.msgpack.Decoder(TaskState)


def to_snapshot(state: TaskState) -> bytes:
    return _encoder.encode(_Snapshot(FOLD, state))


def from_snapshot(raw: bytes) -> TaskState | None:
    """Return the state, or None when another fold wrote it: replay from zero then."""
    fold, body = _fold.decode(raw)
    return _state.decode(body) if fold == FOLD else None
