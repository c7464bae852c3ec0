"""What the command line may ask of a running system, as a table of operations.

Rule 1: an answer is a JSON header and raw bytes; a refusal is {"error", "what", "fix"}.
Rule 2: it serves the owner's own user: refs and tasks of every project are in reach.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from osiris import __version__
from osiris.core import audit, refs, reporting, savings
from osiris.core.commands import Observe, Recall
from osiris.core.errors import Refusal
from osiris.core.index import RefEntry
from osiris.core.manifest import manifest
from osiris.core.tokens import RULER
from osiris.service import Answer, Caller
from osiris_actors import answers, auditing, listings, routing
from osiris_actors.approving import Approving, approvals_of
from osiris_actors.gateway import Gateway
from osiris_actors.ingest import Raw
from osiris_actors.keeping import Keeping
from osiris_actors.ledger import Accounts, Balance
from osiris_actors.recalling import Source
from osiris_actors.refstore import Fetch
from osiris_actors.store.contract import CHUNK_BYTES, Key, StoreDamaged, StoreUnavailable
from osiris_actors.task_messages import Ask

Args = Mapping[str, Any]
Found = tuple[dict[str, Any], bytes]

PAGE = 200


class RuntimeDesk:
    """Implements `osiris.service.Desk`; `owners` as in `auditing.audit_store`."""

    def __init__(
        self, gateway: Gateway, *, home: str = "", keeping: Keeping | None = None, owners: int = 0
    ) -> None:
        self.gateway = gateway
        self.system = gateway.system
        self.store = gateway.system.store
        self._home = home
        self._owners = owners
        self._keeping = {} if keeping is None else keeping.operations
        self._operations: dict[str, Callable[[Args, bytes], Awaitable[Found | Refusal]]] = {
            "health": self._health,
            "tasks": self._tasks,
            "show": self._show,
            "events": self._events,
            "audit": self._audit,
            "savings": self._savings,
            "prices": self._prices,
            "put": self._put,
            "get": self._get,
            "grep": self._grep,
            "count": self._count,
            **Approving(gateway).operations,
            **self._keeping,
        }
        self._copied_from = "" if keeping is None else keeping.copied_from

    async def ask(self, op: str, args: Args, body: bytes) -> Found:
        """Answer one operation."""
        operation = self._operations.get(op)
        if operation is None:
            names, said = ", ".join(self._operations), self.gateway.clean(op)[:40]
            return _refused(Refusal("bad_request", f"no operation {said!r}", f"use {names}"))
        try:
            found = await operation(self._clean(op, args), body)
        except (StoreDamaged, StoreUnavailable) as error:
            found = answers.broken(error)
        return _refused(found) if isinstance(found, Refusal) else found

    def _clean(self, op: str, args: Args) -> Args:
        """Return the arguments without secrets; paths of copies are the user's own."""
        if op in self._keeping:
            return args
        clean: Args = self.system.ingest.redactor.redact_tree(dict(args))[0]
        return clean

    async def _health(self, _: Args, __: bytes) -> Found:
        trouble, broken = self.store.trouble(), await self.gateway.rules.broken()
        return {
            "ok": not (trouble or broken or self.system.tasks.quarantined()),
            "version": __version__,
            "pid": os.getpid(),
            "home": self._home,
            "store_id": self.store.store_id,
            "ruler_ready": self.system.ingest.ready.is_set(),
            "tasks_resident": len(self.system.tasks),
            "quarantined": self.system.tasks.quarantined(),
            "starts": await self._starts(),
            "trouble": None if trouble is None else msgspec.structs.asdict(trouble),
            "copied_from": self._copied_from,
            "rules": {file: why.text() for file, why in broken.items()},
        }, b""

    async def _starts(self) -> int:
        try:
            return (await self.store.counters("owner/")).get(auditing.STARTS, 0)
        except (StoreDamaged, StoreUnavailable):
            return 0

    async def _tasks(self, args: Args, _: bytes) -> Found:
        rows, known = await listings.tasks(self.store, str(args.get("project") or ""))
        return {"tasks": rows, "of": known}, b""

    async def _show(self, args: Args, _: bytes) -> Found | Refusal:
        name = await self.gateway.router.named(str(args.get("task", "")))
        state = name if isinstance(name, Refusal) else await self.system.look(name)
        if isinstance(state, Refusal):
            return state
        steps = [{"text": step.text, "done": step.done} for step in state.steps]
        now_ms = self.system.tools.env.now_ms()
        more = {
            "plan": steps,
            "approvals": await approvals_of(self.store, state.task, now_ms),
            "manifest": manifest(state),
        }
        return {**reporting.figures(state), **more}, b""

    async def _events(self, args: Args, _: bytes) -> Found | Refusal:
        stream = str(args.get("stream") or "")
        if args.get("task"):
            name = await self.gateway.router.named(str(args["task"]))
            if isinstance(name, Refusal):
                return name
            stream = f"task/{name}"
        after, limit = int(args.get("after", 0)), int(args.get("limit", PAGE))
        rows = await listings.events(self.store, stream, after, limit)
        return {"stream": stream, "events": rows}, b""

    async def _audit(self, args: Args, _: bytes) -> Found | Refusal:
        await self.system.flush()
        if not args.get("task"):
            found = await auditing.audit_store(self.store, owners=self._owners)
            return audit.as_json(found), b""
        name = await self.gateway.router.named(str(args["task"]))
        if isinstance(name, Refusal):
            return name
        found = await auditing.audit_task(self.store, name, owners=self._owners)
        return audit.as_json(found), b""

    async def _savings(self, args: Args, _: bytes) -> Found | Refusal:
        by: Any = args.get("by")
        if by is not None and by not in savings.REST:
            names = ", ".join(savings.REST)
            return Refusal("bad_argument", f"savings by {str(by)[:40]!r}", f"say one of {names}")
        found = await self.system.ledger.ask(Balance(str(args.get("scope", "all")), by))
        if not isinstance(found, Accounts):
            return found
        rows = [msgspec.structs.asdict(row) for row in found.rows]
        if by == "task":
            await listings.with_objectives(self.store, rows)
        factor = msgspec.structs.asdict(found.factor)
        return {**msgspec.structs.asdict(found), "factor": factor, "rows": rows}, b""

    async def _prices(self, args: Args, _: bytes) -> Found:
        """Read the price file again and say what holds now."""
        book = self.system.tools.prices
        await self.system.tools.env.run_sync(book.read)
        return book.listing(str(args.get("model") or "")), b""

    async def _put(self, args: Args, body: bytes) -> Found | Refusal:
        """Store a text that came by pipe; it becomes readable in its project."""
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            return Refusal("binary_file", f"no UTF-8 at byte {error.start}", "pipe text")
        caller = _caller(args)
        await self.system.ingest.wait_ready()
        tool = str(args.get("tool") or "put")
        payload, blob = await self.system.ingest.payload(Raw(text, tool, "pipe"))
        is_large = blob.size > CHUNK_BYTES
        if is_large:
            await self.store.put_blob(blob)
        key = Key(f"put/{self.system.tools.env.token()}", "", self.system.tools.env.now_ms())
        piped = f" | osiris put --tool {tool}"
        asked = Ask(
            command=Observe("action", tool=tool),
            caller=caller,
            agent=caller.agent,
            key=key,
            arguments=self.system.tools.count(piped).n,
            payload=payload,
            blob=None if is_large else blob,
        )
        answer = await self.system.scopes.ask(routing.scope_stream(caller), asked)
        if not isinstance(answer, Answer):
            return answer if isinstance(answer, Refusal) else routing.BROKEN
        found = {"ref": refs.name(payload.sha256), "tokens": payload.tokens, "size": payload.size}
        return {**found, "text": answer.text, "piped": piped, "is_error": answer.is_error}, b""

    async def _get(self, args: Args, _: bytes) -> Found | Refusal:
        entry = await self._entry(str(args.get("ref", "")))
        if isinstance(entry, Refusal):
            return entry
        data = await self.system.refstore.ask(Fetch(entry.sha256))
        if not isinstance(data, bytes):
            return data if isinstance(data, Refusal) else routing.BROKEN
        return {"ref": refs.name(entry.sha256), "size": len(data), "tool": entry.tool}, data

    async def _grep(self, args: Args, _: bytes) -> Found | Refusal:
        entry = await self._entry(str(args.get("ref", "")))
        if isinstance(entry, Refusal):
            return entry
        command = Recall("grep", ref=refs.name(entry.sha256), q=str(args.get("q", "")))
        page = await self.system.recaller.page(command, Source("", entry.sha256, None))
        if isinstance(page, Refusal):
            return page
        head = {"shown": page.shown, "of": page.total, "cursor": page.cursor}
        return {**head, "partial": page.partial}, page.text.encode()

    async def _count(self, _: Args, body: bytes) -> Found:
        """Count the texts of a JSON list, each on the ruler."""
        await self.system.ingest.wait_ready()
        texts = msgspec.json.decode(body, type=list[str])
        counts = [self.system.tools.count(text) for text in texts]
        return {
            "tokens": [c.n for c in counts],
            "ruler": RULER,
            "methods": sorted({c.method for c in counts}),
        }, b""

    async def _entry(self, text: str) -> RefEntry | Refusal:
        """Return the ref that `text` names in any stream of the store."""
        digits = refs.parse(text)
        if digits is None:
            fix = "write mem:// and 12 or more hex digits"
            return Refusal("unknown_ref", f"{text[:64]!r} is no ref", fix)
        found = await listings.ref(self.store, digits)
        return found or Refusal("unknown_ref", f"no ref {digits[:12]}", "see `osiris show TASK`")


def _caller(args: Args) -> Caller:
    return Caller(
        nonce=str(args.get("nonce") or "0" * 32),
        client=str(args.get("host") or "pipe"),
        principal="owner",
        project=str(args.get("project") or ""),
    )


def _refused(why: Refusal) -> Found:
    return {"error": why.code, "what": why.what, "fix": why.fix}, b""
