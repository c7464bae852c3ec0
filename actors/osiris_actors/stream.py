"""What task and scope actors share: commit, apply, and what calls cost.

Rule 1: the state changes on the line after the commit and nowhere else.
Rule 2: on anything but Committed the state is dropped and loaded again before it is used.
Rule 3: an Unknown outcome is looked up by its key before anything is answered.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from osiris.core import counting, index, overhead, replies
from osiris.core import events as ev
from osiris.core.decision import Decision
from osiris.core.errors import Refusal
from osiris.core.ledger import NOBODY
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState
from osiris.core.tokens import Count
from osiris.prices_data import PriceBook
from osiris.service import Answer
from osiris_actors import charges, owing, units
from osiris_actors.answers import answered, kept, refusal
from osiris_actors.charges import Charges, Pending
from osiris_actors.env import Env
from osiris_actors.folded import Fold, Folded
from osiris_actors.loopguard import PREFIX, KnownCalls
from osiris_actors.owing import Owed
from osiris_actors.store.contract import (
    Append,
    Committed,
    Conflict,
    Delta,
    Duplicate,
    Key,
    Outcome,
    Put,
    Store,
    Unit,
    Unknown,
)
from osiris_actors.units import Step

S = TypeVar("S")

ATTEMPTS = 8


class Tools(Struct, frozen=True):
    """What every stream actor is given."""

    store: Store
    env: Env
    charges: Charges
    count: Callable[[str], Count]
    calls: KnownCalls = msgspec.field(default_factory=KnownCalls)
    prices: PriceBook = msgspec.field(default_factory=PriceBook)


class Stream(Folded[S]):
    """One stream's state and the way to change it."""

    def __init__(self, name: str, fold: Fold[S], tools: Tools) -> None:
        super().__init__(name, fold, tools.store)
        self.tools = tools

    async def known(self, key: Key | None) -> Answer | Refusal | None:
        """Return the answer already given under `key`, or why there is none."""
        if key is None:
            return None
        found = await self.tools.store.lookup(key.name)
        return None if found is None else answered(found, key)

    async def commit(self, decision: Decision, step: Step) -> Answer | Refusal | None:
        """Make `decision` durable and return its answer; None means: decide again."""
        if not decision.events:
            return self.rendered(decision.reply, step, delivered=decision.delivered)
        reply = decision.reply
        assert isinstance(reply, Reply)
        parts = replies.parts(reply)
        answer = Answer(replies.joined(parts), reply.is_error)
        commit = self._commit_owing if owing.may_wait(decision, step) else self._commit_charged
        outcome = await commit(decision, step, kept(answer), parts)
        return answer if isinstance(outcome, Committed) else await self._settle(outcome, step)

    async def _commit_owing(
        self, decision: Decision, step: Step, reply: bytes, parts: Mapping[str, str]
    ) -> Outcome:
        """Commit a decision whose costs are booked by a later unit."""
        owed = owing.owed(self.name, step, parts)
        unit, state = self._unit(decision, step, reply, (), (owed.put(),))
        return await self._submit(unit, state, owed=owed)

    async def _commit_charged(
        self, decision: Decision, step: Step, reply: bytes, parts: Mapping[str, str]
    ) -> Outcome:
        """Commit a decision with its costs and all that are pending."""
        cost = self._cost(parts, step, delivered=decision.delivered)
        pending = self.tools.charges.take(self.name)
        charged = charges.event(pending, cost, calls=1)
        unit, state = self._unit(decision, step, reply, (charged,), owing.removals(pending))
        return await self._submit(unit, state, pending)

    async def flush(self) -> None:
        """Commit what calls cost since the last unit."""
        if self.tools.charges.has(self.name):
            await self.catch_up()
            pending = self.tools.charges.take(self.name)
            await self._book(charges.event(pending, {}, calls=0), pending)

    async def book(self, event: ev.Event) -> Outcome:
        """Commit an event that no caller caused: behind no fence, under no key."""
        await self.catch_up()
        return await self._book(event, None)

    async def _book(self, event: ev.Event, pending: Pending | None) -> Outcome:
        holder = self.state.holder if isinstance(self.state, TaskState) else ""
        by = holder if isinstance(event, ev.Charged) and holder else NOBODY
        stamped = ev.Stamped(self.tools.env.now_ms(), by, event)
        unit, state = self._build((stamped,), Unit(puts=owing.removals(pending)))
        return await self._submit(unit, state, pending)

    async def _submit(
        self, unit: Unit, state: S, pending: Pending | None = None, owed: Owed | None = None
    ) -> Outcome:
        """Commit and apply. What may be stored owes its costs, what may not be leaves them pending.

        Where nobody can tell, a cost is so booked once too often, and never not at all.
        """
        may_be = is_stored = False
        try:
            outcome = await self.tools.store.commit(unit)
            may_be = isinstance(outcome, Committed | Unknown)
            if isinstance(outcome, Committed):
                self._grow(unit, state)
            else:
                await self.load()
                may_be = may_be and await self._holds(unit.appends[0])
            is_stored = may_be
            return outcome
        finally:
            if not is_stored:
                self.tools.charges.put_back(self.name, pending)
            if may_be and owed is not None:
                owed.tell(self.tools.charges)

    def _grow(self, unit: Unit, state: S) -> None:
        self.state, self._head = state, self._after(unit.appends[0])
        for put in unit.puts:
            if put.key.startswith(PREFIX):
                self.tools.calls.note(put.key)

    def rendered(
        self, answer: Answer | Refusal | Reply, step: Step, *, delivered: int = 0
    ) -> Answer:
        """Return an answer as it is; charge and render what is none yet."""
        if isinstance(answer, Answer):
            return answer
        parts = replies.parts(answer)
        is_there = not isinstance(self.state, TaskState) or bool(self.state.task)
        payer = self.name if is_there else step.payer or self.name
        if step.said and not delivered:
            owing.owed(payer, step, parts).tell(self.tools.charges)
        else:
            self.tools.charges.add(payer, self._cost(parts, step, delivered=delivered))
        return Answer(replies.joined(parts), answer.is_error)

    def _cost(self, parts: Mapping[str, str], step: Step, *, delivered: int) -> dict[str, int]:
        """Return the tokens a call puts before the model, by kind."""
        tokens = {"arguments": step.arguments}
        if step.said:
            tokens["arguments"] += self.tools.count(step.said).n
        for kind, text in parts.items():
            tokens[kind] = self.tools.count(text).n
        if delivered:
            tokens["recall"] = max(0, tokens.get("recall", 0) - delivered)
        return overhead.labelled(tokens, step.source) if step.source else tokens

    def _unit(
        self,
        decision: Decision,
        step: Step,
        reply: bytes,
        more: tuple[ev.Event, ...],
        entries: tuple[Put, ...],
    ) -> tuple[Unit, S]:
        """Return the unit of a decision and of `more` events, and the state after it."""
        stamped = units.stamped(step, (*decision.events, *more))
        above = self.state.ancestors if isinstance(self.state, TaskState) else ()
        frame = units.framed(decision, step, reply, above, entries)
        unit, state = self._build(stamped, frame, cast("tuple[S, ...]", decision.states))
        if decision.opens is not None:
            unit = units.opened(unit, decision.opens, step)
        return unit, state

    def _build(
        self, stamped: tuple[ev.Stamped, ...], frame: Unit, states: tuple[S, ...] = ()
    ) -> tuple[Unit, S]:
        """Return `frame` with the events, their index entries and their postings, and the state.

        `states` are those after the first events, where they are known.
        """
        state, version = self.state, self._head.version
        puts: list[Put] = []
        for place, event in enumerate(stamped):
            before = state if isinstance(state, TaskState) else None
            is_known = place < len(states)
            state = states[place] if is_known else self._fold.apply(state, event)
            version += 1
            after = state if isinstance(state, TaskState) else None
            puts += [Put(*found) for found in index.puts(self.name, version, event, after, before)]
        raw = tuple([ev.encode(event) for event in stamped])
        append = Append(self.name, self._head.version, raw, self._snapshot(state, raw))
        changes = counting.deltas(self.name, stamped)
        deltas = [Delta(name, amount) for name, amount in changes.items() if amount]
        unit = replace(
            frame,
            appends=(append, *frame.appends),
            puts=(*frame.puts, *puts),
            deltas=(*frame.deltas, *deltas),
        )
        return unit, state

    async def _settle(self, outcome: Outcome, step: Step) -> Answer | Refusal | None:
        """Return what a commit that was not acknowledged means to the caller."""
        match outcome:
            case Duplicate() if step.key is not None:
                return answered(outcome, step.key)
            case Conflict(is_counter=False):
                return None
            case Unknown():
                return await self.known(step.key) or refusal(outcome)
            case _:
                return refusal(outcome)
