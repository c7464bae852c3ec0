"""Resources: the manifest and the status of a task, and the raw text that a ref stands for.

Rule 1: a document says what the tool says: the status is that of osiris_plan mode=status.
Rule 2: the text of a ref is the payload to the last byte, without the block that a reply has
        around it; above RAW_BYTES it is refused, and recall reads it in part.
Rule 3: a document is charged to its task, a ref's to whoever may read it, as a recall.
"""

from osiris.core import canon, ledger, overhead, refs
from osiris.core.commands import Plan
from osiris.core.errors import Refusal
from osiris.core.manifest import manifest
from osiris.service import Answer, Caller
from osiris_actors import routing
from osiris_actors.mailbox import DIED
from osiris_actors.refstore import Fetch
from osiris_actors.store.contract import Key
from osiris_actors.system import System
from osiris_actors.task_messages import Ask

RAW_BYTES = 1 << 20
NO_RESOURCE = Refusal(
    "bad_request",
    "no such resource",
    "use osiris://task/ID/manifest, osiris://task/ID/status or osiris://ref/REF",
)


class Documents:
    """Answers resources/read."""

    def __init__(self, system: System, router: routing.Router) -> None:
        self._system = system
        self._router = router

    async def read(self, caller: Caller, uri: str) -> Answer | Refusal:
        """Return the text of a document."""
        kind, _, rest = uri.removeprefix("osiris://").partition("/")
        if kind == "ref":
            return await self._raw(caller, rest)
        name, _, view = rest.partition("/")
        if kind != "task" or view not in ("manifest", "status"):
            return NO_RESOURCE
        found = await self._router.named(name)
        if isinstance(found, Refusal):
            return found
        return await (self._manifest(found) if view == "manifest" else self._status(caller, found))

    async def _manifest(self, name: str) -> Answer | Refusal:
        state = await self._system.look(name)
        if isinstance(state, Refusal):
            return state
        text = manifest(state)
        cost = {"manifest": self._system.tools.count(text).n}
        self._system.tools.charges.add(f"task/{name}", cost)
        return Answer(text)

    async def _status(self, caller: Caller, name: str) -> Answer | Refusal:
        env = self._system.tools.env
        parts = ("resource", caller.nonce, env.token())
        key = Key(canon.hexdigest("key", parts), "", env.now_ms())
        ask = Ask(Plan("status", task=name), caller, "", key, 0, acting=name)
        answer = await self._system.tasks.ask(f"task/{name}", ask)
        return answer if isinstance(answer, Answer | Refusal) else DIED

    async def _raw(self, caller: Caller, ref: str) -> Answer | Refusal:
        name = await self._router.bound(caller)
        stream = f"task/{name}" if name else routing.scope_stream(caller)
        entry = await self._system.recaller.find(caller, ref, stream)
        if isinstance(entry, Refusal):
            return entry
        short = refs.short(entry.sha256)
        if entry.size > RAW_BYTES:
            what = f"{short} has {entry.size:,} bytes, a document at most {RAW_BYTES:,}"
            fix = f"read it in part with recall ref={short}, or whole with `osiris get {short}`"
            return Refusal("payload_too_large", what, fix)
        data = await self._system.refstore.ask(Fetch(entry.sha256))
        if not isinstance(data, bytes):
            return data if isinstance(data, Refusal) else DIED
        cost = overhead.labelled({"recall": entry.tokens}, ledger.source(entry.tool))
        self._system.tools.charges.add(stream, cost)
        return Answer(data.decode())
