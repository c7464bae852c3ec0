"""The loop guard's actor: what another agent of the project already did.

Rule 1: a task's own window is in its state; here is only what crosses tasks.
Rule 2: an answer older than 24 hours, a failed one, and one of the asker's own task are no answers.
Rule 3: late or dead, it costs nobody their call: the asker goes on without it.
"""

from msgspec import Struct

from osiris.core import index
from osiris.core.index import CallEntry
from osiris_actors.store.contract import Store

WINDOW_MS = 24 * 3600 * 1000
WITHIN_S = 0.25


class Seen(Struct, frozen=True):
    """Ask who made this call in this project, for another task than `task`."""

    project: str
    call: str
    task: str
    now_ms: int


class LoopGuardActor:
    """Answers from the durable index of call keys."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def handle(self, seen: Seen) -> CallEntry | None:
        raw = await self._store.get_index(f"call/{seen.project}/{seen.call}")
        if raw is None:
            return None
        entry = index.call_entry(raw)
        is_fresh = seen.now_ms - entry.at_ms <= WINDOW_MS
        return entry if is_fresh and entry.ok is not False and entry.task != seen.task else None
