"""The scope actor: memory, piped payloads and costs of a project, an agent or everyone."""

from osiris.core import index
from osiris.core.commands import Observe
from osiris.core.decide import decide_scope
from osiris.core.decision import Facts
from osiris.core.index import RefEntry
from osiris.core.ledger import source
from osiris.core.memory import ScopeState, apply_scope, scope_from_snapshot, scope_to_snapshot
from osiris.service import Answer
from osiris_actors import memories, routing
from osiris_actors.answers import CONTENDED
from osiris_actors.folded import Fold
from osiris_actors.stream import ATTEMPTS, Stream, Tools
from osiris_actors.task_messages import Ask, Flush, Look
from osiris_actors.units import Step

SCOPE_FOLD = Fold(ScopeState(), apply_scope, scope_to_snapshot, scope_from_snapshot)

ScopeMessage = Ask | Flush | Look
ScopeResult = Answer | ScopeState | None


class ScopeActor:
    """The same order as a task: look the key up, decide, commit, apply, reply."""

    def __init__(self, name: str, tools: Tools) -> None:
        self.stream = Stream[ScopeState](name, SCOPE_FOLD, tools)
        self.tools = tools

    async def load(self) -> None:
        await self.stream.load()

    async def handle(self, message: ScopeMessage) -> ScopeResult:
        match message:
            case Ask(command=Observe() as command):
                return await self._decide(message, command)
            case Ask():
                raise TypeError(f"a scope takes observe alone, not {message.command}")
            case Flush():
                await self.stream.flush()
                return None
            case Look():
                await self.stream.catch_up()
                return self.stream.state

    async def passivate(self) -> None:
        await self.stream.flush()

    async def _decide(self, ask: Ask, command: Observe) -> Answer:
        label = "" if ask.payload is None else source(command.tool or "put")
        step = Step(ask.agent, ask.key.at_ms, ask.key, ask.arguments, ask.blob, label, ask.said)
        for _ in range(ATTEMPTS):
            await self.stream.catch_up()
            answer = await self.stream.known(ask.key)
            if answer is None:
                decision = decide_scope(self.stream.state, command, await self._facts(ask, command))
                answer = await self.stream.commit(decision, step)
            if answer is not None:
                return self.stream.rendered(answer, step)
        return self.stream.rendered(CONTENDED, step)

    async def _facts(self, ask: Ask, command: Observe) -> Facts:
        facts = Facts(
            now_ms=ask.key.at_ms,
            agent=ask.agent,
            nonce=ask.caller.nonce,
            project=ask.caller.project,
            host=ask.caller.client,
            task=ask.acting or command.task or "",
            payload=ask.payload,
            ref=await self._ref(ask),
        )
        if command.id is None:
            return facts
        nearer = routing.scopes(ask.caller, f"task/{ask.acting}")
        return await memories.note_facts(self.tools.store, self.stream.name, nearer, command, facts)

    async def _ref(self, ask: Ask) -> RefEntry | None:
        if ask.payload is None:
            return None
        raw = await self.tools.store.get_index(f"ref/{self.stream.name}/{ask.payload.sha256}")
        return None if raw is None else index.ref_entry(raw)
