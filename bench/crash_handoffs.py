"""Handing work over while owners die: issuers that offer, workers that race to accept.

Rule 1: every call carries a key and is sent again under it until it is answered for good.
Rule 2: a contract is offered to anyone, so that workers meet on it; who wins writes below it.
Rule 3: after its return was acknowledged a worker writes once more below the contract: that must be
        refused. If it is acknowledged, it came behind the fence.
"""

import random
import threading
import time
from collections import Counter
from typing import Any

import msgspec

from bench.client import BridgeClient, ClientGoneError, Reply
from bench.crash_check import Told
from bench.crash_load import EXPECTED, PAUSE_S, Trace, Traces
from osiris.core import events as ev
from osiris.core.task_state import TaskState, apply

ISSUERS = 2
WORKERS = 3
BUDGET = 60_000
SHARE = 9_000

# what an agent may hear because somebody else was faster, or because nothing is left to give
LOST_RACE = frozenset({"contract_state", "contract_closed", "budget_exceeded", "not_holder"})


class Desk:
    """What issuers and workers of one siege share."""

    def __init__(self, stopping: threading.Event) -> None:
        self.stopping = stopping
        self.lock = threading.Lock()
        self.offers: list[str] = []
        self.accepts: list[tuple[str, str]] = []
        self.behind_fence = 0
        self.heard: Counter[str] = Counter()


class Hand:
    """An agent with keys: asks until it is answered for good."""

    def __init__(self, name: str, client: BridgeClient, seed: int, desk: Desk) -> None:
        self.told: dict[str, list[Traces]] = {}
        self.is_done = False
        self._name = name
        self._client = client
        self._desk = desk
        self._rng = random.Random(f"{seed}/{name}")  # noqa: S311  a load, not a secret
        self._made = 0

    @property
    def acked(self) -> int:
        return sum(map(len, self.told.values()))

    def run(self) -> None:
        """Work until told to stop."""
        try:
            while self._client.begin().is_error:
                time.sleep(PAUSE_S)
            self._start()
            while not self._desk.stopping.is_set():
                self._turn()
            self.is_done = True
        except ClientGoneError:
            return

    def _start(self) -> None:
        mark = self._mark()
        arguments = {"mode": "start", "objective": mark, "budget": f"tokens={BUDGET}"}
        reply = self._ask("plan", arguments)
        self.task = reply.pairs["task"]
        self._acknowledge(self.task, Trace("TaskStarted", mark))

    def _turn(self) -> None:
        raise NotImplementedError

    def _ask(self, tool: str, arguments: dict[str, Any]) -> Reply:
        """Return the answer that stands, however many owners it took."""
        keyed = {**arguments, "key": self._mark()}
        while True:
            reply = self._client.call(tool, keyed)
            if not reply.is_error or reply.code not in EXPECTED:
                break
            self._hear(reply)
        if reply.is_error:
            self._hear(reply)
        return reply

    def _hear(self, reply: Reply) -> None:
        with self._desk.lock:
            self._desk.heard[reply.code] += 1
        time.sleep(PAUSE_S if reply.code in EXPECTED else 0)

    def _acknowledge(self, task: str, *traces: Trace) -> None:
        self.told.setdefault(f"task/{task}", []).append(traces)

    def _mark(self) -> str:
        self._made += 1
        return f"{self._name} item {self._made}"


class Issuer(Hand):
    """Offers parts of its task, and verifies, rejects or cancels them."""

    def __init__(self, name: str, client: BridgeClient, seed: int, desk: Desk) -> None:
        super().__init__(name, client, seed, desk)
        self._own: list[str] = []

    def _turn(self) -> None:
        if len(self._own) < 4 or self._rng.random() < 0.4:  # noqa: PLR2004  a few at a time
            self._offer()
        else:
            self._settle()

    def _offer(self) -> None:
        goal = self._mark()
        arguments = {"op": "offer", "to": "any", "goal": goal, "budget": f"tokens={SHARE}"}
        reply = self._ask("handoff", {**arguments, "task": self.task})
        if reply.is_error:
            self._settle()
            return
        contract = reply.pairs["contract"]
        self._acknowledge(self.task, Trace("HandoffOffered", goal))
        self._own.append(contract)
        with self._desk.lock:
            self._desk.offers.append(contract)

    def _settle(self) -> None:
        if not self._own:
            return
        contract = self._rng.choice(self._own)
        op = self._rng.choice(("verify", "verify", "reject", "cancel"))
        reply = self._ask("handoff", {"op": op, "contract": contract, "task": self.task})
        if not reply.is_error and op in ("verify", "cancel"):
            self._own.remove(contract)


class Worker(Hand):
    """Races for contracts, works below them, returns, and tries to go on afterwards."""

    def _turn(self) -> None:
        with self._desk.lock:
            contract = self._rng.choice(self._desk.offers[-8:]) if self._desk.offers else ""
        if not contract:
            time.sleep(PAUSE_S)
            return
        reply = self._ask("handoff", {"op": "accept", "contract": contract})
        if reply.is_error:
            return
        child = reply.pairs["task"]
        with self._desk.lock:
            self._desk.accepts.append((contract, reply.pairs["attempt"]))
        for _ in range(self._rng.randrange(1, 4)):
            self._write(child)
        self._return(contract, child)

    def _write(self, child: str) -> None:
        text = self._mark()
        reply = self._ask("observe", {"kind": "fact", "text": text, "task": child})
        if not reply.is_error:
            self._acknowledge(child, Trace("Noted", text))

    def _return(self, contract: str, child: str) -> None:
        result = self._mark()
        arguments = {"op": "return", "contract": contract, "task": child, "result": result}
        reply = self._ask("handoff", arguments)
        if reply.is_error or reply.pairs.get("status") != "returned":
            return
        late = {"kind": "fact", "text": self._mark(), "task": child}
        if not self._ask("observe", late).is_error:
            with self._desk.lock:
                self._desk.behind_fence += 1


class Outcome(msgspec.Struct, frozen=True):
    """What must be zero, and how much was tried."""

    accepts: int
    double_accept: int
    behind_fence: int
    budget_overdrawn: int


def judge(desk: Desk, histories: dict[str, list[ev.Stamped]]) -> Outcome:
    """Compare what was told with what the journals say."""
    told = Counter(desk.accepts)
    stored = Counter(
        (event.event.contract, str(event.event.attempt))
        for events in histories.values()
        for event in events
        if isinstance(event.event, ev.HandoffAccepted)
    )
    twice = {key for counts in (told, stored) for key, n in counts.items() if n > 1}
    return Outcome(
        accepts=len(desk.accepts),
        double_accept=len(twice),
        behind_fence=desk.behind_fence,
        budget_overdrawn=sum(map(_is_overdrawn, histories.values())),
    )


def _is_overdrawn(events: list[ev.Stamped]) -> bool:
    """Say whether a task ever let out more than it had reserved."""
    state = TaskState()
    for stamped in events:
        state = apply(state, stamped)
        let_out = state.children_reserved.get("tokens", 0)
        if state.budget and let_out > state.budget.get("tokens", let_out):
            return True
    return False


def told_by(hands: list[Hand]) -> list[Told]:
    """Return what every hand was told, by stream."""
    return [Told(stream, tuple(calls), ()) for hand in hands for stream, calls in hand.told.items()]
