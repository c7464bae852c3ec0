"""The task actor: one task's state, one command at a time."""

from msgspec.structs import replace

from osiris.core import handing
from osiris.core.commands import Command, Observe, Precheck
from osiris.core.decide import decide
from osiris.core.decision import Facts
from osiris.core.errors import Refusal
from osiris.core.events import LeaseRearmed, RuleApproved
from osiris.core.ledger import source
from osiris.core.task_state import TaskState, with_costs
from osiris.service import Answer
from osiris_actors.answers import CONTENDED
from osiris_actors.contract_facts import TASK_FOLD, child_of, contract_of
from osiris_actors.observe_facts import text_of
from osiris_actors.routing import scope_stream
from osiris_actors.store.contract import Committed
from osiris_actors.stream import ATTEMPTS, Stream, Tools
from osiris_actors.task_facts import TaskFacts
from osiris_actors.task_messages import Approve, Ask, Expire, Flush, Look, Message, Rearm, Result
from osiris_actors.units import Step


class TaskActor:
    """Look head and key up, decide, commit, apply, reply: in that order.

    The commit checks head and key again. So an observe, which nearly always commits, is decided
    on the state at hand; if it commits nothing, or the check fails, both are looked up after all.
    """

    def __init__(self, name: str, tools: Tools) -> None:
        self.stream = Stream[TaskState](name, TASK_FOLD, tools)
        self.tools = tools
        self.facts = TaskFacts(self.stream, tools)

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
            step = replace(step, by=self.facts.by(ask), blob=ask.blob)
            facts = await self.facts.of(ask)
            if text is not None:
                facts = await self.facts.with_text(ask.command, text, facts)
            decision = decide(self._as_of_now(ask.command), ask.command, facts)
            if not is_checked and not decision.events:
                continue
            answer = await self.stream.commit(decision, step)
            if isinstance(answer, Answer):
                self.facts.note(decision)
            if answer is not None:
                return self.stream.rendered(answer, step)
        return self.stream.rendered(CONTENDED, step)

    def _as_of_now(self, command: Command | None = None) -> TaskState:
        """Return the state with the costs that are pending, where the command asks for them."""
        state = self.stream.state
        is_quick = isinstance(command, Observe) or (
            isinstance(command, Precheck) and not state.budget
        )
        due = None if is_quick else self.tools.charges.due_of(self.stream.name)
        return state if due is None else with_costs(state, due)

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


def _label(ask: Ask) -> str:
    """Return the source of the payload that a call is about; empty for none."""
    if ask.payload is None or not isinstance(ask.command, Observe):
        return ""
    return source(ask.command.tool or "read")
