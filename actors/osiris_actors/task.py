"""The task actor: one task's state, one command at a time."""

from msgspec import Struct

from osiris.core import index, prefix, refs
from osiris.core.commands import Checkpoint, Command, Observe, Plan, Precheck
from osiris.core.decide import decide
from osiris.core.decision import NOT_PRESENTED, Facts, Payload
from osiris.core.index import CallEntry, RefEntry
from osiris.core.memory import Entry
from osiris.core.observing import pin_id
from osiris.core.planning import split_pinned
from osiris.core.task_state import TaskState, apply, from_snapshot, to_snapshot
from osiris.service import Answer, Caller
from osiris_actors.store.contract import Blob, Key
from osiris_actors.stream import ATTEMPTS, CONTENDED, Fold, Step, Stream, Tools

TASK_FOLD = Fold(TaskState(), apply, to_snapshot, from_snapshot)
RESUME_ENTRIES = 64


class Ask(Struct, frozen=True):
    """A command with all that ingest and routing know of it."""

    command: Command
    caller: Caller
    agent: str
    key: Key
    arguments: int
    payload: Payload | None = None
    blob: Blob | None = None
    seen: CallEntry | None = None
    ceilings: dict[str, int] = {}


class Flush(Struct, frozen=True):
    """Commit the pending costs of this stream."""


class Look(Struct, frozen=True):
    """Return the state as of the head, committing nothing."""


Message = Ask | Flush | Look
Result = Answer | TaskState | None


class TaskActor:
    """Look the key up, decide, commit, apply, reply: in that order."""

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
                return self.stream.state

    async def passivate(self) -> None:
        await self.stream.flush()

    async def _decide(self, ask: Ask) -> Answer:
        changes = not isinstance(ask.command, Precheck)
        step = Step(ask.agent, ask.key.at_ms, ask.key, ask.arguments, ask.blob)
        for _ in range(ATTEMPTS):
            await self.stream.catch_up()
            step = Step(self._by(ask), ask.key.at_ms, ask.key, ask.arguments, ask.blob)
            known = await self.stream.known(ask.key) if changes else None
            if known is not None:
                return self.stream.rendered(known, step)
            facts = await self._facts(ask)
            decision = decide(self.stream.state, ask.command, facts)
            answer = await self.stream.commit(decision, step)
            if answer is not None:
                return self.stream.rendered(answer, step)
        return self.stream.rendered(CONTENDED, step)

    def _by(self, ask: Ask) -> str:
        """Return who acts: the named agent, else the holder of the task."""
        return ask.agent or self.stream.state.holder or ask.caller.agent

    async def _facts(self, ask: Ask) -> Facts:
        command, task = ask.command, self.stream.name.removeprefix("task/")
        ref = await self._ref(ask)
        return Facts(
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
            seen=ask.seen,
            memory=await self._memory(command),
            ceilings=ask.ceilings,
        )

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
        if not isinstance(ask.command, Observe):
            return None
        if ask.payload is not None:
            start: str | None = ask.payload.sha256
        else:
            start = refs.parse(ask.command.ref or ask.command.result or "")
        if start is None:
            return None
        found = await self.tools.store.index(f"ref/{self.stream.name}/{start}", limit=2)
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
            found.extend(index.memory_entry(put.value) for put in puts if put.value)
        return tuple(sorted(found, key=lambda entry: entry.version))


def _pin_ids(command: Command, state: TaskState) -> tuple[str, ...]:
    if isinstance(command, Plan):
        lines = command.pinned or ()
        return tuple(split_pinned(line, state.decisions + 1)[0] for line in lines)
    if isinstance(command, Observe) and command.kind in ("decision", "constraint"):
        return (pin_id(state, command),)
    return ()
