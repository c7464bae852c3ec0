"""What must be true of contracts, whatever happened.

Rule 1: of each attempt there is one accept, and one child whose stream it opened.
Rule 2: once a fence has risen, nothing but bookkeeping reaches a stream below it; the store's
        fences stand where the events say.
Rule 3: a lease expires only when its child has been silent for it, or since the last restart.
Rule 4: a task never lets out more than it reserved; the day holds what tasks and contracts hold.
"""

from osiris.core import events as ev
from osiris.core.task_state import TaskState, apply
from tests.sim.world import LEASE_S, Disk

History = dict[str, list[ev.Stamped]]
BOOKKEEPING = ev.Charged | ev.LateResult | ev.LeaseRearmed
STRANGERS = ("stranger", "osiris")


def check(backend: Disk, history: History) -> None:
    """Raise AssertionError naming what is wrong."""
    _check_accepts(history)
    _check_order(backend, history)
    _check_budgets(history)


def reserved_under_day(history: History) -> int:
    """Return the tokens that tasks and contracts hold under the day's ceiling."""
    held = 0
    for events in history.values():
        offered: dict[str, int] = {}
        own = 0
        for stamped in events:
            match stamped.event:
                case ev.BudgetSet(amounts):
                    own = amounts.get("tokens", 0)
                case ev.HandoffOffered(contract, holds=holds, budget=budget) if holds:
                    offered[contract] = budget.get("tokens", 0)
                case ev.HandoffMoved(contract, status, spent=spent) if contract in offered:
                    if status in ("declined", "cancelled", "expired", "verified"):
                        held += min(spent.get("tokens", 0), offered.pop(contract))
                case _:
                    pass
        held += own + sum(offered.values())
    return held


def _check_accepts(history: History) -> None:
    accepts: set[tuple[str, int]] = set()
    for events in history.values():
        for stamped in events:
            if isinstance(stamped.event, ev.HandoffAccepted):
                attempt = (stamped.event.contract, stamped.event.attempt)
                assert attempt not in accepts, f"{attempt} was accepted twice"
                accepts.add(attempt)
                child = history.get(f"task/{stamped.event.child}", [])
                assert child, f"{attempt} opened no stream"
                opened = child[1].event
                assert isinstance(opened, ev.ChildOpened)
                assert opened.contract == stamped.event.contract


class _Walk:
    """What is known while walking all events in the order in which they came to be."""

    def __init__(self) -> None:
        self.fences: dict[str, int] = {}
        self.above: dict[str, tuple[tuple[str, int], ...]] = {}
        self.children: dict[str, str] = {}
        self.heads: dict[str, int] = {}
        self.spoke_ms: dict[str, int] = {}
        self.rearmed: dict[str, int] = {}

    def event(self, stream: str, version: int, stamped: ev.Stamped) -> None:
        event = stamped.event
        if isinstance(event, ev.ChildOpened):
            self.above[stream] = tuple((name, fence) for name, fence, _, _ in event.ancestors)
        elif not isinstance(event, BOOKKEEPING) and stamped.by not in STRANGERS:
            for name, fence in self.above.get(stream, ()):
                behind = f"{stream}@{version} {event} is behind {name}"
                assert self.fences.get(name, 0) <= fence, behind
        self._contract(stamped)
        self.heads[stream] = version
        if stamped.by != "stranger" and not isinstance(event, BOOKKEEPING):
            self.spoke_ms[stream] = stamped.at_ms  # costs are booked up to a second after a call

    def _contract(self, stamped: ev.Stamped) -> None:
        match stamped.event:
            case ev.HandoffAccepted(contract, attempt, child):
                self.children[contract] = f"task/{child}"
                self._raise(contract, attempt)
            case ev.LeaseRearmed(contract, child_version=at):
                self.rearmed[contract] = at
            case ev.HandoffMoved(contract, status, attempt):
                if status == "expired":
                    self._check_silence(contract, stamped)
                self._raise(contract, attempt)
            case _:
                pass

    def _raise(self, contract: str, fence: int) -> None:
        assert fence >= self.fences.get(contract, 0), f"the fence of {contract} fell to {fence}"
        self.fences[contract] = fence

    def _check_silence(self, contract: str, expired: ev.Stamped) -> None:
        child = self.children[contract]
        silent_ms = expired.at_ms - self.spoke_ms[child]
        restarted = self.rearmed.get(contract) == self.heads[child]
        assert silent_ms >= LEASE_S * 1000 or restarted, f"{contract}: {silent_ms} ms after a call"


def _check_order(backend: Disk, history: History) -> None:
    walk = _Walk()
    for stream, version in backend.order:
        walk.event(stream, version, history[stream][version - 1])
    stored = {contract: backend.fence(contract) for contract in walk.fences}
    assert stored == walk.fences


def _check_budgets(history: History) -> None:
    for stream, events in history.items():
        if not stream.startswith("task/"):
            continue
        state = TaskState()
        for stamped in events:
            state = apply(state, stamped)
            if state.budget:
                let_out = state.children_reserved.get("tokens", 0)
                assert let_out <= state.budget.get("tokens", let_out), f"{stream} let out {let_out}"
