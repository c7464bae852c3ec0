"""The task actor: one task's state, one command at a time."""

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import handing, index, memory_index, prefix, refs
from osiris.core.commands import Checkpoint, Command, Handoff, Observe, Plan, Precheck
from osiris.core.decide import decide
from osiris.core.decision import NOT_PRESENTED, Checked, Facts, Payload
from osiris.core.errors import Refusal
from osiris.core.events import LeaseRearmed, RuleApproved
from osiris.core.handoff import LEASE_S, Contract
from osiris.core.index import CallEntry, Due, RefEntry
from osiris.core.ledger import day_of, source
from osiris.core.memory import Entry
from osiris.core.observing import pin_id
from osiris.core.planning import split_pinned
from osiris.core.task_state import TaskState, with_costs
from osiris.service import Answer, Caller
from osiris_actors import schemas
from osiris_actors.answers import CONTENDED
from osiris_actors.contract_facts import TASK_FOLD, child_of, contract_of, inputs_of
from osiris_actors.observe_facts import Text, facts_of, text_facts, text_of
from osiris_actors.routing import scope_stream
from osiris_actors.rulebook import Held
from osiris_actors.ruling import Case, ruling_of
from osiris_actors.store.blobs import unpack
from osiris_actors.store.contract import Blob, Committed, Key
from osiris_actors.stream import ATTEMPTS, Stream, Tools
from osiris_actors.units import Step

RESUME_ENTRIES = 64


class Ask(Struct, frozen=True):
    """A command with all that ingest and routing know of it."""

    command: Command
    caller: Caller
    agent: str
    key: Key
    arguments: int
    said: str = ""
    payload: Payload | None = None
    blob: Blob | None = None
    call: str = ""
    seen: CallEntry | None = None
    ceilings: dict[str, int] = {}
    contract: str = ""
    acting: str = ""
    checks: tuple[Checked, ...] = ()
    lease_s: int = LEASE_S
    rules: Held | None = None


class Flush(Struct, frozen=True):
    """Commit the pending costs of this stream."""


class Look(Struct, frozen=True):
    """Return the state as of the head, with the costs that are pending, committing nothing."""


class Expire(Struct, frozen=True):
    """End a lease, if its child still stands at `child_version`."""

    contract: str
    child_version: int


class Rearm(Struct, frozen=True):
    """Note that a restart renewed a lease."""

    due: Due
    child_version: int


class Approve(Struct, frozen=True):
    """Note that a person allows what a rule forbids."""

    rule: str
    until_ms: int
    who: str


Message = Ask | Flush | Look | Expire | Rearm | Approve
Result = Answer | TaskState | bool | None


class TaskActor:
    """Look head and key up, decide, commit, apply, reply: in that order.

    The commit checks head and key again. So an observe, which nearly always commits, is decided
    on the state at hand; if it commits nothing, or the check fails, both are looked up after all.
    """

    def __init__(self, name: str, tools: Tools) -> None:
        self.stream = Stream[TaskState](name, TASK_FOLD, tools)
        self.tools = tools

    async def load(self) -> None:
        await self.stream.load()

    async def handle(self, message: Message) -> Result:
        match message:
            case Ask():
                return await self._decide(message)
            case Flush():
                await self.stream.flush()
                return None
            case Look():
                await self.stream.catch_up()
                return self._as_of_now()
            case Expire():
                return await self._expire(message)
            case Rearm(due, version):
                event = LeaseRearmed(due.contract, due.child, due.lease_s, version)
                return isinstance(await self.stream.book(event), Committed)
            case Approve(rule, until_ms, who):
                approved = RuleApproved(rule, until_ms, who)
                return isinstance(await self.stream.book(approved), Committed)

    async def passivate(self) -> None:
        await self.stream.flush()

    async def _decide(self, ask: Ask) -> Answer:
        changes = not isinstance(ask.command, Precheck)
        label = _label(ask)
        step = Step(
            by=ask.agent,
            at_ms=ask.key.at_ms,
            key=ask.key,
            arguments=ask.arguments,
            blob=ask.blob,
            source=label,
            said=ask.said,
            payer=scope_stream(ask.caller),
        )
        text = await text_of(self.tools, ask.command, ask.payload, ask.blob)
        if isinstance(text, Refusal):
            return self.stream.rendered(text, step)
        if text is not None:
            ask = replace(ask, payload=text.payload, blob=text.blob)
        for attempt in range(ATTEMPTS):
            is_checked = attempt > 0 or not isinstance(ask.command, Observe)
            if is_checked:
                await self.stream.catch_up()
                known = await self.stream.known(ask.key) if changes else None
                if known is not None:
                    return self.stream.rendered(known, step)
            step = replace(step, by=self._by(ask), blob=ask.blob)
            facts = await self._facts(ask)
            if text is not None:
                facts = await self._text_facts(ask.command, text, facts)
            decision = decide(self._as_of_now(ask.command), ask.command, facts)
            if not is_checked and not decision.events:
                continue
            answer = await self.stream.commit(decision, step)
            if answer is not None:
                return self.stream.rendered(answer, step)
        return self.stream.rendered(CONTENDED, step)

    def _as_of_now(self, command: Command | None = None) -> TaskState:
        """Return the state with the costs that are pending; what an observe adds to it has them."""
        due = None
        if not isinstance(command, Observe | Precheck):
            due = self.tools.charges.due_of(self.stream.name)
        return self.stream.state if due is None else with_costs(self.stream.state, due)

    async def _expire(self, expire: Expire) -> bool:
        """Return whether the lease is over; False when the child has moved meanwhile."""
        await self.stream.catch_up()
        contract = await contract_of(self.tools.store, self.stream.state, expire.contract)
        child = await child_of(self.tools, contract)
        if child is not None and child.version != expire.child_version:
            return False
        now_ms = self.tools.env.now_ms()
        facts = Facts(now_ms, "osiris", "", self.stream.state.project, child=child)
        decision = handing.expire(contract, facts)
        if not decision.events:
            return True
        step = Step("osiris", now_ms, None, 0)
        return isinstance(await self.stream.commit(decision, step), Answer)

    def _by(self, ask: Ask) -> str:
        """Return who acts: the named agent, else the holder of the task."""
        return ask.agent or self.stream.state.holder or ask.caller.agent

    async def _facts(self, ask: Ask) -> Facts:
        command, task = ask.command, self.stream.name.removeprefix("task/")
        ref = await self._ref(ask)
        facts = Facts(
            now_ms=ask.key.at_ms,
            agent=self._by(ask),
            nonce=ask.caller.nonce,
            project=self.stream.state.project or ask.caller.project,
            host=ask.caller.client,
            task=task,
            seal=await self._seal(command.seal),
            pins=await self._pins(command),
            payload=ask.payload,
            ref=ref,
            dropped_before=ref is not None and await self._dropped(ask, ref),
            call=ask.call,
            seen=ask.seen,
            memory=await self._memory(command),
            ceilings=ask.ceilings,
            day_held=await self._day_held(ask),
            key=ask.key.name,
            lease_s=ask.lease_s,
            prices=self.tools.prices.now,
            cache_ttl_s=ask.caller.cache_ttl_s,
            prune_threshold_tokens=ask.caller.prune_threshold_tokens,
        )
        if ask.rules is not None:
            who, now_ms = facts.agent, facts.now_ms
            case = Case(ask.rules, ask.caller, command, who, task, now_ms, ask.arguments)
            facts = replace(facts, ruling=await ruling_of(self.tools.store, self.tools.env, case))
        if isinstance(command, Handoff):
            return await self._handoff(ask, command, facts)
        return await facts_of(self.tools, self.stream.state, command, facts)

    async def _text_facts(self, command: Command, text: Text, facts: Facts) -> Facts:
        return await text_facts(
            self.tools, self.stream.name, self.stream.state, command, text, facts
        )

    async def _handoff(self, ask: Ask, command: Handoff, facts: Facts) -> Facts:
        """Return `facts` with what a handoff is about."""
        store, state = self.tools.store, self.stream.state
        contract = await contract_of(store, state, ask.contract) if ask.contract else None
        names = (command.inputs or ()) if contract is None else contract.inputs
        reach = (self.stream.name, f"project/{state.project}")
        inputs, missing = await inputs_of(store, reach, names)
        return replace(
            facts,
            acting=ask.acting,
            contract=contract,
            child=await child_of(self.tools, contract),
            inputs=inputs,
            missing_input=missing,
            checks=ask.checks,
            schema_errors=await self._schema_errors(ask, command, contract),
        )

    async def _schema_errors(
        self, ask: Ask, command: Handoff, contract: Contract | None
    ) -> tuple[str, ...]:
        if command.op != "return" or ask.payload is None or contract is None or not contract.schema:
            return ()
        data = unpack(ask.blob) if ask.blob else await self.tools.store.get_blob(ask.payload.sha256)
        return await self.tools.env.run_sync(
            schemas.errors_of, (data or b"").decode(), contract.schema
        )

    async def _day_held(self, ask: Ask) -> dict[str, int]:
        if not ask.ceilings or not isinstance(ask.command, Plan):
            return {}
        prefix = f"reserved/day/{day_of(ask.key.at_ms)}/"
        held = await self.tools.store.counters(prefix)
        return {name.removeprefix(prefix): amount for name, amount in held.items()}

    async def _seal(self, presented: str | None) -> int | None:
        state = self.stream.state
        if presented is None or not state.task:
            return NOT_PRESENTED
        parsed = prefix.parse_seal(presented)
        if parsed is None:
            return None
        if prefix.seal_fits(parsed, state.seal):
            return state.seals
        for put in await self.tools.store.index(f"seal/{state.task}/{parsed[0]}"):
            if prefix.seal_fits(parsed, put.key.rpartition("/")[2]) and put.value:
                return int.from_bytes(put.value, "big")
        return None

    async def _pins(self, command: Command) -> dict[str, str]:
        found: dict[str, str] = {}
        for item in _pin_ids(command, self.stream.state):
            known = await self.tools.store.get_index(f"pin/{self.stream.name}/{item}")
            if known is not None:
                found[item] = known.decode()
        return found

    async def _ref(self, ask: Ask) -> RefEntry | None:
        """Return what this stream knows of the payload or ref that the command names."""
        if ask.payload is not None:
            start: str | None = ask.payload.sha256
        elif isinstance(ask.command, Observe):
            start = refs.parse(ask.command.ref or ask.command.result or "")
        else:
            return None
        if start is None:
            return None
        key = f"ref/{self.stream.name}/{start}"
        if refs.is_whole(start):
            raw = await self.tools.store.get_index(key)
            return None if raw is None else index.ref_entry(raw)
        found = await self.tools.store.index(key, limit=2)
        return index.ref_entry(found[0].value) if len(found) == 1 and found[0].value else None

    async def _dropped(self, ask: Ask, ref: RefEntry) -> bool:
        key = index.kept_key(self.stream.name, ref.sha256, self._by(ask), ask.caller.nonce)
        return await self.tools.store.get_index(key) is not None

    async def _memory(self, command: Command) -> tuple[Entry, ...]:
        resumes = isinstance(command, Plan | Checkpoint) and command.mode == "resume"
        if not resumes:
            return ()
        found: list[Entry] = []
        for kind in ("decision", "constraint"):
            puts = await self.tools.store.index(
                f"mem/{self.stream.name}/{kind}/", limit=RESUME_ENTRIES
            )
            found.extend(memory_index.memory_entry(put.value) for put in puts if put.value)
        return tuple(sorted(found, key=lambda entry: entry.version))


def _label(ask: Ask) -> str:
    """Return the source of the payload that a call is about; empty for none."""
    if ask.payload is None or not isinstance(ask.command, Observe):
        return ""
    return source(ask.command.tool or "read")


def _pin_ids(command: Command, state: TaskState) -> tuple[str, ...]:
    if isinstance(command, Plan):
        lines = command.pinned or ()
        return tuple(split_pinned(line, state.decisions + 1)[0] for line in lines)
    if isinstance(command, Observe) and command.kind in ("decision", "constraint"):
        return (pin_id(state, command),)
    return ()
