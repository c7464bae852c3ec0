"""Which stream a call is for, under which key, and who calls.

Rule 1: a command key is the caller's `key`, else nonce plus JSON-RPC id; a read has none.
Rule 2: a call without `task` is for the task that its connection last planned or resumed; what is
        on its way to a mailbox already counts.
Rule 3: a task is named by any prefix of 4 or more that fits one.
Rule 4: a new task's id is the first 8 hex digits of H(store id, command key), longer on collision.
"""

from collections import OrderedDict

from osiris.core import canon, index
from osiris.core.commands import Checkpoint, Command, Handoff, Observe, Plan, Precheck
from osiris.core.errors import Refusal
from osiris.service import Ask, Caller
from osiris_actors.store.contract import Key, Store

BOUND = 4_096
SHORTEST = 4
NAMED = 5


BROKEN = Refusal("actor_died", "the call failed inside OSIRIS", "call again; see the owner's log")


def key_of(caller: Caller, ask: Ask, command: Command, content: str, now_ms: int) -> Key:
    """Return the key of a command; of a precheck, which is never stored, only its time."""
    if isinstance(command, Precheck):
        return Key("", "", now_ms)
    parts = ("key", command.key) if command.key else ("call", caller.nonce, ask.request_id)
    return Key(canon.hexdigest("key", parts), content, now_ms)


def scope_stream(caller: Caller) -> str:
    """Return the stream that costs without a task are booked in."""
    return f"project/{caller.project}" if caller.project else "global"


def agent_stream(caller: Caller) -> str:
    """Return the stream of what the caller's agent knows in every project."""
    return f"agent/{index.agent_key(caller.client or caller.agent)}"


def scopes(caller: Caller, stream: str) -> tuple[str, ...]:
    """Return the scopes that memory is looked up in, the nearest first."""
    return tuple(dict.fromkeys((stream, scope_stream(caller), agent_stream(caller), "global")))


def note_stream(caller: Caller, command: Command) -> str:
    """Return the stream of a note that leaves its task; empty when it stays."""
    match command:
        case Observe(scope="project"):
            return scope_stream(caller)
        case Observe(scope="agent"):
            return agent_stream(caller)
        case Observe(scope="global"):
            return "global"
        case _:
            return ""


def is_promotion(command: Command) -> bool:
    """Say whether `command` lets what a task remembers out of it."""
    return isinstance(command, Observe) and command.text is None and command.id is not None


def holder(caller: Caller, command: Command) -> str:
    """Return the agent that a command names or makes the holder; empty: the holder acts."""
    match command:
        case Plan(mode="start" | "resume"):
            return command.agent or caller.agent
        case Checkpoint(mode="resume"):
            return caller.agent
        case Handoff():
            return command.agent or caller.agent
        case _:
            return ""


class Router:
    """Names to streams."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._bound: OrderedDict[str, str] = OrderedDict()

    async def task(self, caller: Caller, command: Command, key: Key | None) -> str | Refusal:
        """Return the id of the task that `command` is for."""
        if isinstance(command, Plan) and command.mode == "start" and key is not None:
            return await self._new(key)
        if command.task is not None:
            return await self.named(command.task)
        return await self.bound(caller) or await self._none(caller)

    async def bound(self, caller: Caller) -> str | None:
        """Return the id of the task that calls of this connection are for, if there is one."""
        return self._bound.get(caller.nonce) or await self._bound_before(caller)

    def bind(self, caller: Caller, task: str) -> None:
        """Make `task` the one that calls of this connection are for."""
        self._bound[caller.nonce] = task
        self._bound.move_to_end(caller.nonce)
        if len(self._bound) > BOUND:
            self._bound.popitem(last=False)

    def unbind(self, caller: Caller, task: str) -> None:
        """Forget a binding whose command was refused."""
        if self._bound.get(caller.nonce) == task:
            del self._bound[caller.nonce]

    async def _new(self, key: Key) -> str:
        digits = canon.hexdigest("task", [self._store.store_id, key.name])
        known = await self._store.lookup(key.name)
        for size in range(8, len(digits)):
            head = await self._store.head(f"task/{digits[:size]}")
            if known is not None or head.version == 0:
                return digits[:size]
        return digits

    async def named(self, name: str) -> str | Refusal:
        """Return the id of the task that `name` is a prefix of."""
        prefix = name.strip().lower()
        if len(prefix) < SHORTEST or not prefix.isalnum():
            fix = "send 4 or more digits of the task id"
            return Refusal("unknown_task", f"{name[:64]!r} names no task", fix)
        found = await self._store.index(f"task/{prefix}", limit=2)
        if not found:
            fix = "look it up with `osiris tasks`, or start one"
            return Refusal("unknown_task", f"no task {prefix[:64]}", fix)
        names = [put.key.removeprefix("task/") for put in found]
        if len(names) > 1 and prefix not in names:
            return Refusal("ambiguous_task", f"{prefix} fits several tasks", "send more digits")
        return prefix if prefix in names else names[0]

    async def _bound_before(self, caller: Caller) -> str | None:
        raw = await self._store.get_index(f"bound/{caller.nonce}/")
        return None if raw is None else raw.decode()

    async def _none(self, caller: Caller) -> Refusal:
        entries = await self._store.index(f"tasks/{caller.project}/")
        tasks = [index.task_entry(put.value) for put in entries if put.value]
        still = [task.task for task in tasks if task.status == "open"][-NAMED:]
        names = f"; open here: {' '.join(still)}" if still else ""
        fix = f"call osiris_plan mode=start or mode=resume task=ID{names}"
        return Refusal("no_task", "no task is bound to this connection", fix)
