"""The ref store's actor: payloads by hash, and queries over them, in a bounded pool.

Rule 1: blobs never change, so WORKERS of them are read at once.
Rule 2: a query gets QUERY_S from when it was asked, LEAST_S at least, then answers in part with a
        cursor; it runs away from the loop.
Rule 3: the last payloads read are kept, up to CACHE_BYTES.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable

import trio
from msgspec import Struct

from osiris.core import query
from osiris.core.errors import Refusal
from osiris.core.query_ask import Query
from osiris.core.query_page import Limits, Page
from osiris_actors.env import Env
from osiris_actors.mailbox import Mailbox
from osiris_actors.store.contract import Store, StoreDamaged
from osiris_actors.supervisor import one_for_one

WORKERS = 4
QUERY_S = 0.15
LEAST_S = 0.05
CACHE_BYTES = 32 * 1024 * 1024
INLINE_BYTES = 4_096

log = logging.getLogger(__name__)


class Fetch(Struct, frozen=True):
    """Return the bytes of a payload."""

    sha256: str


class Search(Struct, frozen=True):
    """Answer `query` over `data`, or over the payload `sha256` when there is none.

    `old` is the hash of the other payload of a diff, `asked_at` is of time.perf_counter.
    """

    query: Query
    sha256: str
    data: bytes | None
    tokens: int
    cursor: str
    old: str = ""
    asked_at: float = 0.0


RefMessage = Fetch | Search
RefResult = bytes | Page


class RefStore:
    """A mailbox served by several workers."""

    def __init__(self, store: Store, env: Env, count: Callable[[str], int]) -> None:
        self.mailbox = Mailbox[RefMessage, RefResult | Refusal]()
        self._store = store
        self._env = env
        self._count = count
        self._cache: OrderedDict[str, bytes] = OrderedDict()

    def start(self, nursery: trio.Nursery) -> None:
        for number in range(WORKERS):
            name = f"refstore-{number}"
            nursery.start_soon(one_for_one, name, self.mailbox, self._handle, name=name)

    async def ask(self, message: RefMessage) -> RefResult | Refusal:
        return await self.mailbox.ask(message)

    async def _handle(self, message: RefMessage) -> RefResult | Refusal:
        match message:
            case Fetch(sha256):
                return await self._bytes(sha256)
            case Search():
                return await self._search(message)

    async def _search(self, asked: Search) -> Page | Refusal:
        data = asked.data if asked.data is not None else await self._bytes(asked.sha256)
        if isinstance(data, Refusal):
            return data
        old = await self._bytes(asked.old) if asked.old else None
        if isinstance(old, Refusal):
            return old
        if len(data) <= INLINE_BYTES:
            return self._query(asked, data, old)
        return await self._env.run_sync(self._query, asked, data, old)

    def _query(self, asked: Search, data: bytes, old: bytes | None) -> Page | Refusal:
        end = max(asked.asked_at + QUERY_S, time.perf_counter() + LEAST_S)
        limits = Limits(lambda: time.perf_counter() > end, self._count, asked.tokens)
        return query.answer(asked.query, data, limits, asked.cursor, old)

    async def _bytes(self, sha256: str) -> bytes | Refusal:
        known = self._cache.get(sha256)
        if known is not None:
            self._cache.move_to_end(sha256)
            return known
        try:
            data = await self._store.get_blob(sha256)
        except StoreDamaged as damage:
            log.exception("damaged payload")
            fix = "run `osiris audit`; other payloads are not concerned"
            return Refusal("store_damaged", str(damage), fix)
        if data is None:
            return Refusal("unknown_ref", "no such payload", "use a ref that a reply gave you")
        self._keep(sha256, data)
        return data

    def _keep(self, sha256: str, data: bytes) -> None:
        self._cache[sha256] = data
        while sum(map(len, self._cache.values())) > CACHE_BYTES:
            self._cache.popitem(last=False)
