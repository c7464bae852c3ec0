"""The open contracts of an issuer, folded from its events.

Rule 1: a contract leaves the fold when it ends; the index keeps it.
Rule 2: an event for a contract that is not open changes nothing.
"""

from typing import Any

from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core.handoff import ACTIVE, Contract

Contracts = dict[str, Contract]


def offered(contracts: Contracts, task: str, event: ev.HandoffOffered) -> Contracts:
    contract = Contract(
        id=event.contract,
        task=task,
        to=event.to,
        goal=event.goal,
        inputs=event.inputs,
        budget=event.budget,
        checks=event.checks,
        schema=event.schema,
        depth=event.depth,
        lease_s=event.lease_s,
        holds=event.holds,
    )
    return {**contracts, contract.id: contract}


def accepted(contracts: Contracts, event: ev.HandoffAccepted, by: str) -> Contracts:
    return _with(
        contracts,
        event.contract,
        status="running",
        attempt=event.attempt,
        child=event.child,
        holder=by,
        why="",
    )


def moved(contracts: Contracts, event: ev.HandoffMoved) -> Contracts:
    if event.status not in ACTIVE:
        return {name: c for name, c in contracts.items() if name != event.contract}
    return _with(
        contracts,
        event.contract,
        status=event.status,
        attempt=event.attempt,
        why=event.why,
        result=event.ref,
    )


def after(contract: Contract, event: ev.HandoffMoved) -> Contract:
    """Return a contract as it stands after its move, ended or not."""
    return replace(
        contract,
        status=event.status,
        attempt=event.attempt,
        why=event.why,
        result=event.ref or contract.result,
    )


def _with(contracts: Contracts, name: str, **changes: Any) -> Contracts:
    known = contracts.get(name)
    if known is None:
        return contracts
    return {**contracts, name: replace(known, **changes)}
