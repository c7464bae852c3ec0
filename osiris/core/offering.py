"""Offering work, and what is delivered to whoever accepts it.

Rule 1: an offer holds its budget before anyone sees it.
Rule 2: accepting opens the child's stream and raises the fence in the same unit.
Rule 3: what is delivered is at most 160 tokens; the rest is a recall away.
"""

from osiris.core import canon, handoff, plain, policy, refs
from osiris.core import events as ev
from osiris.core.commands import Handoff
from osiris.core.decision import Decision, Facts, Opening, refuse
from osiris.core.errors import Refusal
from osiris.core.handoff import Ancestor, Contract
from osiris.core.manifest import manifest
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState, apply

SHOWN_REFS = 3


def offer(state: TaskState, command: Handoff, facts: Facts) -> Decision:
    goal, to = command.goal, command.to
    if state.status != "open":
        return refuse("task_closed", f"task {state.task} is {state.status}", "start a new task")
    if goal is None or to is None:
        return refuse("missing_argument", "handoff offer needs 'goal' and 'to'", "name both")
    if plain.looks_like_manifest(goal):
        return refuse("bad_argument", "handoff goal imitates a manifest", "say it in plain words")
    if facts.missing_input:
        what = f"no ref {facts.missing_input[:40]} in reach of this task"
        return refuse("unknown_ref", what, "give refs that replies of this task gave you")
    depth = len(state.ancestors) + 1
    wrong = handoff.refusal_of_offer(goal, to, state.ancestors, depth)
    wrong = wrong or handoff.refusal_of_checks(command.checks or ())
    held = policy.hold(state, command.budget, facts)
    if wrong is not None:
        return Decision((), wrong)
    if isinstance(held, Refusal):
        return Decision((), held)
    schema = "" if command.schema is None else canon.canonical_json(command.schema).decode()
    contract = handoff.contract_id(state.task, facts.key)
    event = ev.HandoffOffered(
        contract=contract,
        to=to,
        goal=goal,
        inputs=tuple(entry.sha256 for entry in facts.inputs),
        budget=held.amounts,
        checks=command.checks or (),
        schema=schema,
        depth=depth,
        lease_s=facts.lease_s,
        holds=held.holds,
    )
    pairs = (("ok", ""), ("contract", contract), ("to", to), ("status", "offered"))
    note = f"they call osiris_handoff op=accept contract={contract}"
    return Decision((event,), Reply(pairs, (note,)), held.reservations)


def accept(state: TaskState, contract: Contract, _: Handoff, facts: Facts) -> Decision:
    child = handoff.child_id(contract.id, facts.key)
    attempt = contract.attempt + 1
    above = Ancestor(contract.id, attempt, handoff.goal_hash(contract.goal), contract.to)
    opened = ev.ChildOpened(
        contract=contract.id,
        issuer=state.task,
        ancestors=tuple(
            (a.contract, a.fence, a.goal_hash, a.to) for a in (*state.ancestors, above)
        ),
        refs=tuple((e.sha256, e.size, e.tokens, e.tool) for e in facts.inputs),
        budget=contract.budget,
    )
    first = (ev.TaskStarted(child, contract.goal, state.project), opened, ev.Bound(facts.nonce))
    events = (ev.HandoffAccepted(contract.id, attempt, child, contract.lease_s),)
    return Decision(
        events,
        _delivered(contract, child, attempt, first, facts),
        opens=Opening(child, first),
        bumps=((contract.id, attempt),),
    )


def _delivered(
    contract: Contract, child: str, attempt: int, first: tuple[ev.Event, ...], facts: Facts
) -> Reply:
    state = TaskState()
    for event in first:
        state = apply(state, ev.Stamped(facts.now_ms, facts.agent, event))
    names = [f"{refs.short(e.sha256)} ({e.tokens} tokens)" for e in facts.inputs[:SHOWN_REFS]]
    more = len(facts.inputs) - len(names)
    pairs = (
        ("ok", ""),
        ("contract", contract.id),
        ("task", child),
        ("attempt", str(attempt)),
        ("lease_s", str(contract.lease_s)),
        *((("result", "json_schema"),) if contract.schema else ()),
    )
    notes = [f"goal: {plain.quoted(contract.goal, 200)}"]
    if names:
        notes.append("inputs: " + ", ".join(names) + (f", +{more}" if more else ""))
    if contract.checks:
        notes.append("checks: " + ", ".join(c[:40] for c in contract.checks[:SHOWN_REFS]))
    return Reply(pairs, tuple(notes), manifest=manifest(state))
