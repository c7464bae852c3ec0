"""What a task's actor looks up before it decides on a command."""

from msgspec.structs import replace

from osiris.core import index, memory_index, prefix, refs
from osiris.core.commands import Checkpoint, Command, Handoff, Observe, Plan
from osiris.core.decision import NOT_PRESENTED, Decision, Facts
from osiris.core.events import RefStored
from osiris.core.handoff import Contract
from osiris.core.index import RefEntry
from osiris.core.ledger import day_of
from osiris.core.memory import Entry
from osiris.core.observing import pin_id
from osiris.core.planning import split_pinned
from osiris.core.task_state import TaskState
from osiris_actors import listings, schemas
from osiris_actors.contract_facts import child_of, contract_of, inputs_of
from osiris_actors.observe_facts import Text, facts_of, text_facts
from osiris_actors.ruling import Case, ruling_of
from osiris_actors.store.blobs import unpack
from osiris_actors.stream import Stream, Tools
from osiris_actors.task_messages import Ask

KNOWN_REFS = 4_096


class TaskFacts:
    """The facts of one task's commands."""

    def __init__(self, stream: Stream[TaskState], tools: Tools) -> None:
        self.stream = stream
        self.tools = tools
        self._stored: set[str] = set()  # refs, while this actor lives

    def by(self, ask: Ask) -> str:
        """Return who acts: the named agent, else the holder of the task."""
        return ask.agent or self.stream.state.holder or ask.caller.agent

    async def of(self, ask: Ask) -> Facts:
        """Return what `decide` must know of a command."""
        command, task = ask.command, self.stream.name.removeprefix("task/")
        ref = await self._ref(ask)
        facts = Facts(
            now_ms=ask.key.at_ms,
            agent=self.by(ask),
            nonce=ask.caller.nonce,
            project=self.stream.state.project or ask.caller.project,
            host=ask.caller.client,
            task=task,
            seal=NOT_PRESENTED if command.seal is None else await self._seal(command.seal),
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

    async def with_text(self, command: Command, text: Text, facts: Facts) -> Facts:
        """Return `facts` with what changed in a head, a contract or a file."""
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

    async def _seal(self, presented: str) -> int | None:
        state = self.stream.state
        if not state.task:
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
            if self._is_new(ask.payload.sha256):
                return None
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

    def note(self, decision: Decision) -> None:
        """Remember the refs that a decision stored."""
        if len(self._stored) >= KNOWN_REFS:
            self._stored.clear()
        self._stored.update([e.sha256 for e in decision.events if isinstance(e, RefStored)])

    def _is_new(self, sha256: str) -> bool:
        """Say that a payload is none of the stream's: all of those were stored by this actor."""
        return len(self._stored) == self.stream.state.refs and sha256 not in self._stored

    async def _dropped(self, ask: Ask, ref: RefEntry) -> bool:
        key = index.kept_key(self.stream.name, ref.sha256, self.by(ask), ask.caller.nonce)
        return await self.tools.store.get_index(key) is not None

    async def _memory(self, command: Command) -> tuple[Entry, ...]:
        resumes = isinstance(command, Plan | Checkpoint) and command.mode == "resume"
        if not resumes:
            return ()
        found: list[Entry] = []
        for kind in ("decision", "constraint"):
            puts = listings.entries(self.tools.store, f"mem/{self.stream.name}/{kind}/")
            found += [memory_index.memory_entry(put.value) async for put in puts if put.value]
        return tuple(sorted(found, key=lambda entry: entry.version))


def _pin_ids(command: Command, state: TaskState) -> tuple[str, ...]:
    if isinstance(command, Plan):
        lines = command.pinned or ()
        return tuple(split_pinned(line, state.decisions + 1)[0] for line in lines)
    if isinstance(command, Observe) and command.kind in ("decision", "constraint"):
        return (pin_id(state, command),)
    return ()
