"""osiris_recall: stored text comes back by query, inside a data block, a page at a time.

Rule 1: a ref is readable where it was stored: in its task, or in the project it was piped into.
Rule 2: a path is read through the roots of the connection, redacted, and not stored.
Rule 3: memory is looked up task first, then project, agent, global.
"""

import time

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import index, plain, refs
from osiris.core.commands import Recall
from osiris.core.errors import Refusal
from osiris.core.index import RefEntry
from osiris.core.query_ask import from_recall
from osiris.core.query_page import MAX_PAGE_TOKENS, PAGE_TOKENS, Page
from osiris.core.replies import Block, Reply
from osiris.service import Caller
from osiris_actors import routing
from osiris_actors.ingest import Ingest
from osiris_actors.mailbox import DIED
from osiris_actors.memories import Memories
from osiris_actors.refstore import RefStore, Search
from osiris_actors.store.contract import Store


class Source(Struct, frozen=True):
    """What is queried: a stored payload, or bytes at hand; `name` labels the block.

    `old` is the hash of the other payload of a diff, `tool` what the payload came from, `asked_at`
    when the query came.
    """

    name: str
    sha256: str
    data: bytes | None
    old: str = ""
    tool: str = ""
    asked_at: float = 0.0


class Recalled(Struct, frozen=True):
    """An answer, and the tool that its text came from; empty for none."""

    reply: Reply | Refusal
    tool: str = ""


class Recaller:
    """Finds what a recall is about and asks the ref store to query it."""

    def __init__(
        self, store: Store, ingest: Ingest, refstore: RefStore, memories: Memories
    ) -> None:
        self._store = store
        self._memories = memories
        self._ingest = ingest
        self._refstore = refstore

    async def recall(self, caller: Caller, command: Recall, stream: str) -> Recalled:
        """Return one page; `stream` is the task's, or the project's when there is no task."""
        if command.op == "memory":
            scopes = routing.scopes(caller, stream)
            return Recalled(await self._memories.recall(command, scopes))
        asked_at = time.perf_counter()
        source = await self._source(caller, command, stream)
        if isinstance(source, Refusal):
            return Recalled(source)
        page = await self.page(command, replace(source, asked_at=asked_at))
        found = page if isinstance(page, Refusal) else _shown(command, source, page)
        return Recalled(found, source.tool)

    async def find(self, caller: Caller, ref: str, stream: str) -> RefEntry | Refusal:
        """Return the one ref that `ref` names in reach of `stream`."""
        digits = refs.parse(ref)
        if digits is None:
            fix = "write mem:// and 12 or more hex digits"
            return Refusal("unknown_ref", f"{plain.one_line(ref, 64)!r} is no ref", fix)
        for scope in dict.fromkeys((stream, routing.scope_stream(caller))):
            found = await self._store.index(f"ref/{scope}/{digits}", limit=2)
            if len(found) == 1 and found[0].value is not None:
                return index.ref_entry(found[0].value)
        fix = "use a ref that a reply of this task gave you"
        return Refusal("unknown_ref", f"no ref {digits[:12]} in reach", fix)

    async def page(self, command: Recall, source: Source) -> Page | Refusal:
        """Return one page of a query over a payload or over bytes."""
        asked = from_recall(command)
        if isinstance(asked, Refusal):
            return asked
        tokens = PAGE_TOKENS if command.n is None else MAX_PAGE_TOKENS
        cursor = command.cursor or ""
        search = Search(
            query=asked,
            sha256=source.sha256,
            data=source.data,
            tokens=tokens,
            cursor=cursor,
            old=source.old,
            asked_at=source.asked_at,
        )
        found = await self._refstore.ask(search)
        return found if isinstance(found, Page | Refusal) else DIED

    async def _source(self, caller: Caller, command: Recall, stream: str) -> Source | Refusal:
        match command:
            case Recall(ref=str(ref), path=None):
                entry = await self.find(caller, ref, stream)
                if isinstance(entry, Refusal):
                    return entry
                source = Source(refs.short(entry.sha256), entry.sha256, None, tool=entry.tool)
            case Recall(ref=None, path=str(path)):
                read = await self._ingest.read(caller, path)
                if isinstance(read, Refusal):
                    return read
                source = Source(plain.one_line(path, 80), "", read.encode(), tool="read")
            case _:
                fix = "send ref=mem://... or path=..."
                return Refusal("missing_argument", "recall needs one of ref and path", fix)
        if command.op != "diff" or not command.q:
            return source
        old = await self.find(caller, command.q, stream)
        return old if isinstance(old, Refusal) else replace(source, old=old.sha256)


def _shown(command: Recall, source: Source, page: Page) -> Reply:
    pairs = (
        ("ok", ""),
        ("op", command.op),
        ("shown", str(page.shown)),
        ("of", f"{page.total}+" if page.partial else str(page.total)),
        *((("from", str(page.before + 1)),) if page.before else ()),
        *((("cursor", page.cursor),) if page.cursor else ()),
    )
    text = page.text.removesuffix("\n")
    return Reply(pairs, block=Block(source.name, text) if text else None)
