"""What task and scope actors share: load, catch up, commit, apply.

Rule 1: the state changes on the line after the commit and nowhere else.
Rule 2: on anything but Committed the state is dropped and loaded again before it is used.
Rule 3: an Unknown outcome is looked up by its key before anything is answered.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from osiris.core import events as ev
from osiris.core import index, ledger, replies
from osiris.core.decision import Decision
from osiris.core.errors import Refusal
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState
from osiris.core.tokens import Count
from osiris.service import Answer
from osiris_actors import charges
from osiris_actors.charges import Charges, Pending
from osiris_actors.env import Env
from osiris_actors.store.contract import (
    KEY_TTL_MS,
    SNAPSHOT_BYTES,
    SNAPSHOT_EVENTS,
    Append,
    Blob,
    Busy,
    Committed,
    Conflict,
    Delta,
    Duplicate,
    Failed,
    Fenced,
    Full,
    Head,
    Key,
    Outcome,
    Put,
    Store,
    Unit,
    Unknown,
)

S = TypeVar("S")
ATTEMPTS = 8

_encoder = msgspec.msgpack.Encoder()
_answer = msgspec.msgpack.Decoder(Answer)

CONTENDED = Refusal("busy", "others changed this eight times", "call again in 500 ms")
REUSED = Refusal("key_reused", "the key names another command", "send a fresh key")
EXPIRED = Refusal("key_expired", "the key is older than 24 hours", "send a fresh key")


class Fold(Struct, Generic[S], frozen=True):
    """The pure half of a stream: how a state begins, grows and is kept."""

    empty: S
    apply: Callable[[S, ev.Stamped], S]
    to_snapshot: Callable[[S], bytes]
    from_snapshot: Callable[[bytes], S | None]


class Tools(Struct, frozen=True):
    """What every stream actor is given."""

    store: Store
    env: Env
    charges: Charges
    count: Callable[[str], Count]


class Step(Struct, frozen=True):
    """One command on its way to a commit: who, under which key, with what it cost to ask."""

    by: str
    at_ms: int
    key: Key | None
    arguments: int
    blob: Blob | None = None


class Stream(Generic[S]):
    """One stream's state and the way to change it."""

    def __init__(self, name: str, fold: Fold[S], tools: Tools) -> None:
        self.name = name
        self.state = fold.empty
        self.tools = tools
        self._fold = fold
        self._head = Head()

    async def load(self) -> None:
        """Read the newest snapshot and what follows it."""
        self.state, self._head = self._fold.empty, Head()
        await self._read(0)

    async def catch_up(self) -> None:
        """Make the state that of the stream's head."""
        head = await self.tools.store.head(self.name)
        if head.version < self._head.version:
            await self.load()
        elif head.version != self._head.version:
            await self._read(self._head.version)

    async def known(self, key: Key | None) -> Answer | Refusal | None:
        """Return the answer already given under `key`, or why there is none."""
        if key is None:
            return None
        found = await self.tools.store.lookup(key.name)
        return None if found is None else answered(found, key)

    async def commit(self, decision: Decision, step: Step) -> Answer | Refusal | None:
        """Make `decision` durable and return its answer; None means: decide again."""
        if not decision.events:
            return self._uncommitted(decision, step)
        reply = decision.reply
        assert isinstance(reply, Reply)
        answer = Answer(replies.text(reply), reply.is_error)
        pending = self.tools.charges.take(self.name)
        unit, state = self._unit(decision, step, answer, pending)
        outcome = await self._submit(unit, state, pending)
        return answer if isinstance(outcome, Committed) else await self._settle(outcome, step)

    async def flush(self) -> None:
        """Commit what calls cost since the last unit."""
        pending = self.tools.charges.take(self.name)
        if pending is None:
            return
        await self.catch_up()
        event = charges.event(pending, {}, calls=0)
        stamped = ev.Stamped(self.tools.env.now_ms(), "osiris", event)
        unit, state = self._build((stamped,), Unit())
        await self._submit(unit, state, pending)

    async def _submit(self, unit: Unit, state: S, pending: Pending | None) -> Outcome:
        """Commit and apply; what did not happen leaves the pending costs pending."""
        before = self._head.version
        outcome = await self.tools.store.commit(unit)
        if isinstance(outcome, Committed):
            self.state, self._head = state, self._after(unit)
            return outcome
        happened = False
        try:
            await self.load()
            happened = isinstance(outcome, Unknown) and self._head.version > before
        finally:
            if not happened:
                self.tools.charges.put_back(self.name, pending)
        return outcome

    def _uncommitted(self, decision: Decision, step: Step) -> Answer:
        self.tools.charges.add(self.name, self.cost(decision, step))
        reply = decision.reply
        return Answer(replies.text(reply), reply.is_error)

    def rendered(self, answer: Answer | Refusal, step: Step) -> Answer:
        """Return an answer as it is; charge and render a refusal."""
        if isinstance(answer, Answer):
            return answer
        self.tools.charges.add(self.name, self.cost(Decision((), answer), step))
        return Answer(replies.text(answer), answer.is_error)

    def cost(self, decision: Decision, step: Step) -> dict[str, int]:
        """Return the tokens this call puts before the model, by kind."""
        tokens = {"arguments": step.arguments}
        for kind, text in replies.parts(decision.reply).items():
            tokens[kind] = self.tools.count(text).n
        if decision.delivered:
            tokens["recall"] = max(0, tokens.get("recall", 0) - decision.delivered)
        return tokens

    def _unit(
        self, decision: Decision, step: Step, answer: Answer, pending: Pending | None
    ) -> tuple[Unit, S]:
        charged = charges.event(pending, self.cost(decision, step), calls=1)
        stamped = tuple(
            ev.Stamped(step.at_ms, step.by, event) for event in (*decision.events, charged)
        )
        ceilings = tuple(Delta(r.counter, r.amount, r.ceiling) for r in decision.reservations)
        frame = Unit(
            deltas=ceilings,
            blobs=() if step.blob is None else (step.blob,),
            key=step.key,
            reply=_encoder.encode(answer),
        )
        return self._build(stamped, frame)

    def _build(self, stamped: tuple[ev.Stamped, ...], frame: Unit) -> tuple[Unit, S]:
        """Return `frame` with the events, their index entries and their postings, and the state."""
        state, version = self.state, self._head.version
        puts: list[Put] = []
        for event in stamped:
            state, version = self._fold.apply(state, event), version + 1
            after = state if isinstance(state, TaskState) else None
            found = index.puts(self.name, version, event, after)
            puts.extend(Put(key, value) for key, value in found)
        raw = tuple(ev.encode(event) for event in stamped)
        append = Append(self.name, self._head.version, raw, self._snapshot(state, raw))
        deltas = tuple(Delta(name, n) for name, n in ledger.deltas(stamped).items() if n)
        unit = msgspec.structs.replace(
            frame, appends=(append,), puts=tuple(puts), deltas=(*frame.deltas, *deltas)
        )
        return unit, state

    def _snapshot(self, state: S, raw: tuple[bytes, ...]) -> bytes | None:
        events = self._head.events_since_snapshot + len(raw)
        size = self._head.bytes_since_snapshot + sum(map(len, raw))
        is_due = events >= SNAPSHOT_EVENTS or size >= SNAPSHOT_BYTES
        return self._fold.to_snapshot(state) if is_due else None

    def _after(self, unit: Unit) -> Head:
        append = unit.appends[0]
        kept = append.snapshot is None
        return Head(
            version=append.expected + len(append.events),
            events_since_snapshot=kept * (self._head.events_since_snapshot + len(append.events)),
            bytes_since_snapshot=kept
            * (self._head.bytes_since_snapshot + sum(map(len, append.events))),
        )

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

    async def _read(self, after: int) -> None:
        read = await self.tools.store.read(self.name, after)
        if read.snapshot is not None:
            state = self._fold.from_snapshot(read.snapshot[1])
            if state is None:
                await self._replay()
                return
            self.state = state
        for _, raw in read.events:
            self.state = self._fold.apply(self.state, ev.decode(raw))
        self._head = read.head

    async def _replay(self) -> None:
        """Fold the whole stream: the snapshot was made by another `apply`."""
        self.state, after = self._fold.empty, 0
        while page := await self.tools.store.history(self.name, after, SNAPSHOT_EVENTS):
            for _, raw in page:
                self.state = self._fold.apply(self.state, ev.decode(raw))
            after = page[-1][0]
        self._head = await self.tools.store.head(self.name)


def answered(found: Duplicate, key: Key) -> Answer | Refusal:
    """Return the stored answer of a known key, or why it may not be given."""
    if found.content != key.content:
        return REUSED
    if key.at_ms - found.at_ms > KEY_TTL_MS:
        return EXPIRED
    return _answer.decode(found.reply)


def refusal(outcome: Outcome) -> Refusal:
    """Return what the caller reads when the store did not acknowledge."""
    match outcome:
        case Busy(retry_ms):
            return Refusal("busy", "the store's queue is full", f"call again in {retry_ms} ms")
        case Full(why):
            return Refusal("storage_full", why, "free space; reads go on; then call again")
        case Fenced(contract):
            fix = "stop: another holder has this work"
            return Refusal("contract_closed", f"{contract} moved on", fix)
        case Failed(why):
            return Refusal("storage_error", why, "see `osiris health`, then call again")
        case Unknown(why):
            return Refusal("storage_error", why, "send the same call again: its key knows")
        case Conflict(name, actual):
            what = f"{name} holds {actual} and may not go above its ceiling"
            fix = f"ask for fewer {name.rpartition('/')[2]}, or wait for the next day"
            return Refusal("budget_exceeded", what, fix)
        case Committed() | Duplicate():
            raise AssertionError("an acknowledged unit is no refusal")
