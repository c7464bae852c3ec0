"""The service port: one tool call from its arguments to its answer.

Rule 1: ingest runs at once; the mailbox is entered in the connection's order of arrival.
Rule 2: a call takes at most four asks.
Rule 3: every answer is charged: to its task, or to the project when there is none.
"""

import logging

from osiris.core import handoff, ledger, loop_identity, loop_kinds, overhead, replies
from osiris.core.commands import Checkpoint, Command, Handoff, Observe, Precheck, Recall
from osiris.core.errors import Refusal
from osiris.core.index import CallEntry
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState
from osiris.service import Answer, Ask, Caller, Turn
from osiris_actors import answers, loopguard, reports, routing, task_messages
from osiris_actors.answers import refusal
from osiris_actors.checks import Checks
from osiris_actors.documents import Documents
from osiris_actors.handoffs import Handoffs, Target
from osiris_actors.ingest import Ingested, Refused
from osiris_actors.loopguard import Seen
from osiris_actors.rulebook import RuleBook
from osiris_actors.store.contract import (
    CHUNK_BYTES,
    Committed,
    Duplicate,
    Key,
    StoreDamaged,
    StoreUnavailable,
)
from osiris_actors.system import System

log = logging.getLogger(__name__)


class Gateway:
    """Implements `osiris.service.Service` over a running system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.tools = system.tools
        self.charges = system.tools.charges
        self.router = routing.Router(system.store)
        self.documents = Documents(system, self.router)
        self.rules = RuleBook(system.tools.env)
        checks = Checks(system.tools, system.ingest, self.rules)
        self.handoffs = Handoffs(system.store, self.router, checks, system.options.traffic)
        system.store.watch(self.handoffs.changed)

    async def call(self, caller: Caller, ask: Ask, turn: Turn) -> Answer:
        """Answer one tool call."""
        try:
            taken = await self.system.ingest.take(caller, ask)
            if isinstance(taken, Refused):
                return self._refused(caller, taken.refusal, taken.arguments)
            if isinstance(taken.command, Recall):
                await turn.wait()
                turn.done()
                return await self._recall(caller, taken.command, taken.arguments)
            return await self._command(caller, ask, taken, turn)
        except (StoreDamaged, StoreUnavailable) as error:
            return self._refused(caller, answers.broken(error), 0)
        except Exception:
            log.exception("%s failed", ask.tool)
            return self._refused(caller, routing.BROKEN, 0)
        finally:
            turn.done()

    async def read_resource(self, caller: Caller, uri: str) -> Answer:
        """Answer a resource: the texts that the tools give, charged the same way."""
        try:
            found = await self.documents.read(caller, self.clean(uri))
        except (StoreDamaged, StoreUnavailable) as error:
            found = answers.broken(error)
        return self._refused(caller, found, 0) if isinstance(found, Refusal) else found

    def clean(self, text: str) -> str:
        """Return a text of the caller's without the secrets in it."""
        return self.system.ingest.redactor.redact(text)[0]

    def listed(self, caller: Caller, schemas: str, instructions: str) -> None:
        """Charge a listing once the ruler is there."""
        self.system.nursery.start_soon(self._charge_listing, caller, schemas, instructions)

    async def _command(self, caller: Caller, ask: Ask, taken: Ingested, turn: Turn) -> Answer:
        refused = await self._stored_large(taken)
        command = taken.command
        rules = await self.rules.judging(caller, command)
        await turn.wait()
        if isinstance(command, Handoff) and command.op in ("list", "wait"):
            turn.done()
            return await self._watched(caller, command, taken)
        key = routing.key_of(caller, ask, command, taken.content, self.tools.env.now_ms())
        stream = routing.note_stream(caller, command)
        target = refused or await self._target(caller, command, key, stream, turn)
        if isinstance(target, Refusal):
            return self._refused(caller, target, self.system.ingest.counted(taken))
        call = _call_of(command)
        asked = task_messages.Ask(
            command=command,
            caller=caller,
            agent=caller.agent if stream else routing.holder(caller, command),
            key=key,
            arguments=taken.arguments,
            said=taken.said,
            payload=taken.payload,
            blob=None if _is_large(taken) else taken.blob,
            call=call,
            seen=await self._seen(caller, command, call, target.task),
            ceilings=self.system.options.ceilings,
            contract=target.contract,
            acting=target.acting,
            checks=target.checks,
            lease_s=self.system.options.lease_s,
            rules=rules,
        )
        if stream:
            turn.done()  # nobody else runs before this task waits, and then the message is in
            return self._answer(caller, await self.system.scopes.ask(stream, asked), taken)
        return await self._to_task(caller, target.task, asked, taken, turn)

    async def _target(
        self, caller: Caller, command: Command, key: Key, stream: str, turn: Turn
    ) -> Target | Refusal:
        if isinstance(command, Handoff):
            if command.op == "verify":
                turn.done()  # its checks may run for minutes
            return await self.handoffs.target(caller, command, key)
        if stream and not routing.is_promotion(command):
            return Target("")
        name = await self.router.task(caller, command, key)
        if isinstance(name, Refusal):
            return Target("") if stream and name.code == "no_task" else name
        return Target(name, acting=name)

    async def _to_task(
        self, caller: Caller, name: str, asked: task_messages.Ask, taken: Ingested, turn: Turn
    ) -> Answer:
        binds = _binds(asked, name)
        if binds:
            self.router.bind(caller, binds)
        self.system.clock.touch(asked.acting)
        turn.done()  # as above
        is_brief = isinstance(asked.command, Precheck | Observe)
        found = await self.system.tasks.ask(f"task/{name}", asked, is_brief=is_brief)
        answer = self._answer(caller, found, taken)
        if binds and answer.is_error:
            self.router.unbind(caller, binds)
        if isinstance(asked.command, Handoff) and asked.command.op == "accept":
            self.system.clock.wake()
        if reports.is_due(asked.command) and not answer.is_error:
            failed = await self._write_report(name)
            if failed is not None and isinstance(asked.command, Checkpoint):
                return self._refused(caller, failed, 0)
        return answer

    async def _watched(self, caller: Caller, command: Handoff, taken: Ingested) -> Answer:
        look = self.handoffs.wait if command.op == "wait" else self.handoffs.listed
        reply = await look(caller, command)
        return self._shown(reply, routing.scope_stream(caller), taken.arguments)

    async def _recall(self, caller: Caller, command: Recall, arguments: int) -> Answer:
        name = await self.router.task(caller, command, None)
        if isinstance(name, Refusal) and name.code != "no_task":
            return self._refused(caller, name, arguments)
        stream = routing.scope_stream(caller) if isinstance(name, Refusal) else f"task/{name}"
        self.system.clock.touch(stream.removeprefix("task/"))
        found = await self.system.recaller.recall(caller, command, stream)
        return self._shown(found.reply, stream, arguments, tool=found.tool)

    def _shown(
        self, reply: Reply | Refusal, stream: str, arguments: int, *, tool: str = ""
    ) -> Answer:
        """Charge a reply that no actor gave, and return it as text."""
        cost = {"arguments": arguments}
        parts = replies.parts(reply)
        for kind, text in parts.items():
            cost[kind] = self.tools.count(text).n
        self.charges.add(stream, overhead.labelled(cost, ledger.source(tool) if tool else ""))
        return Answer(replies.joined(parts), reply.is_error)

    async def _seen(
        self, caller: Caller, command: Command, call: str, name: str
    ) -> CallEntry | None:
        """Return what another task of the project did; asked of reads alone."""
        if not isinstance(command, Precheck) or not caller.project:
            return None
        if not self.tools.calls.may_know(loopguard.key_of(caller.project, call)):
            return None
        if loop_kinds.kind_of(command.tool, command.args or {}) != "read":
            return None
        seen = Seen(caller.project, call, name, self.tools.env.now_ms())
        found = await self.system.loopguard.ask(seen, within_s=loopguard.WITHIN_S)
        return None if isinstance(found, Refusal) else found

    async def _stored_large(self, taken: Ingested) -> Refusal | None:
        """Store a payload that is too large for its Unit; an orphan is harmless."""
        if taken.blob is None or not _is_large(taken):
            return None
        outcome = await self.system.store.put_blob(taken.blob)
        return None if isinstance(outcome, Committed | Duplicate) else refusal(outcome)

    async def _write_report(self, name: str) -> Refusal | None:
        folder = self.system.options.reports
        state = await self.system.look(name)
        if folder is None or not isinstance(state, TaskState):
            return None
        found = await reports.gathered(self.system.store, state)
        failed = await self.tools.env.run_sync(reports.write, folder, state, found)
        if failed is not None:
            log.warning("task %s: %s", name, failed.what)
        return failed

    async def _charge_listing(self, caller: Caller, schemas: str, instructions: str) -> None:
        await self.system.ingest.wait_ready()
        tokens = {
            "schema": self.tools.count(schemas).n,
            "instructions": self.tools.count(instructions).n,
        }
        self.charges.add(routing.scope_stream(caller), tokens, calls=0)

    def _answer(self, caller: Caller, result: object, taken: Ingested) -> Answer:
        if isinstance(result, Answer):
            return result
        found = result if isinstance(result, Refusal) else routing.BROKEN
        return self._refused(caller, found, self.system.ingest.counted(taken))

    def _refused(self, caller: Caller, why: Refusal, arguments: int) -> Answer:
        text = why.text()
        cost = {"arguments": arguments, "reply": self.tools.count(text).n}
        self.charges.add(routing.scope_stream(caller), cost)
        return Answer(text, why.is_error)


def _binds(asked: task_messages.Ask, name: str) -> str:
    """Return the task that the caller is bound to once `asked` has succeeded; empty: no change."""
    command = asked.command
    if isinstance(command, Handoff):
        return handoff.child_id(asked.contract, asked.key.name) if command.op == "accept" else ""
    return name if routing.holder(asked.caller, command) else ""


def _call_of(command: Command) -> str:
    """Return the key of the call that a precheck names; empty for other commands."""
    if not isinstance(command, Precheck):
        return ""
    return loop_identity.call_key(command.tool, command.args or {})


def _is_large(taken: Ingested) -> bool:
    return taken.blob is not None and taken.blob.size > CHUNK_BYTES
