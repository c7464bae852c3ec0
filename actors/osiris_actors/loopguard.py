"""The loop guard's actor: what another agent of the project already did.

Rule 1: a task's own window is in its state; here is only what crosses tasks.
Rule 2: an answer older than 24 hours, a failed one, one of the asker's own task, and one that is
        older than the project's last change are no answers.
Rule 3: a key that is not known costs no ask.
Rule 4: late or dead, it costs nobody their call: the asker goes on without it.
"""

from msgspec import Struct

from osiris.core import index
from osiris.core.index import CallEntry
from osiris_actors.store.contract import Store

WINDOW_MS = 24 * 3600 * 1000
WITHIN_S = 0.25
PREFIX = "call/"
KEYS = 200_000
PAGE = 5_000


class Seen(Struct, frozen=True):
    """Ask who made this call in this project, for another task than `task`."""

    project: str
    call: str
    task: str
    now_ms: int


class KnownCalls:
    """The keys of the index `call/`, by heart: a call that is not among them needs no asking."""

    def __init__(self) -> None:
        self._keys: set[str] | None = None

    def note(self, key: str) -> None:
        """Learn a key that was committed."""
        if self._keys is not None and len(self._keys) < KEYS:
            self._keys.add(key)
        else:
            self._keys = None

    def may_know(self, key: str) -> bool:
        """Say whether asking can bring anything; yes, while the keys are not known by heart."""
        return self._keys is None or key in self._keys

    async def load(self, store: Store) -> None:
        """Learn the keys of the index; too many are not kept by heart."""
        keys: set[str] = set()
        after = ""
        while len(keys) < KEYS:
            page = await store.index(PREFIX, after=after, limit=PAGE)
            if not page:
                self._keys = keys
                return
            after = page[-1].key
            keys.update(put.key for put in page)


def key_of(project: str, call: str) -> str:
    """Return the index key of a call in a project."""
    return f"{PREFIX}{project}/{call}"


class LoopGuardActor:
    """Answers from the durable index of call keys."""

    def __init__(self, store: Store, known: KnownCalls) -> None:
        self._store = store
        self._known = known
        self._is_loaded = False

    async def handle(self, seen: Seen) -> CallEntry | None:
        if not self._is_loaded:
            self._is_loaded = True
            await self._known.load(self._store)
        raw = await self._store.get_index(key_of(seen.project, seen.call))
        if raw is None:
            return None
        entry = index.call_entry(raw)
        is_fresh = seen.now_ms - entry.at_ms <= WINDOW_MS
        if not is_fresh or entry.ok is False or entry.task == seen.task:
            return None
        return None if await written_since(self._store, seen.project, entry.at_ms) else entry


async def written_since(store: Store, project: str, at_ms: int) -> bool:
    """Say whether something in a project was changed at that time or later."""
    raw = await store.get_index(index.wrote_key(project))
    return raw is not None and int.from_bytes(raw, "big") >= at_ms
