"""What calls cost, waiting for the next Unit of their stream.

Rule 1: every reply is charged, reads and refusals included.
Rule 2: what is taken for a commit that did not happen is put back.
Rule 3: texts that are owed are counted when they are taken, not while the call waits; from OWED
        on they are counted along, and at MOST_OWED whoever adds one counts all. What a call that
        only reads owes is known here alone; what an observe owes has an entry in the store
        (`owing`).
"""

import math
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

import trio
from msgspec import Struct
from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core.task_state import add
from osiris.core.tokens import Count, estimate

FLUSH_S = 1.0
SLICE = 16  # short texts, or as much of longer ones, counted in one go: 0.3 ms
_SHORT = 256  # characters
OWED = 64
MOST_OWED = 1_024
_NONE: Mapping[str, int] = MappingProxyType({})


class Pending(Struct, frozen=True):
    """Tokens by kind and calls; `since` is monotonic seconds of the oldest.

    `entries` are keys in the store that go when it is booked.
    """

    tokens: dict[str, int]
    calls: int
    since: float
    entries: tuple[str, ...] = ()


class Charges:
    """Pending costs by stream."""

    def __init__(self, count: Callable[[str], Count] = estimate) -> None:
        self._count = count
        self._pending: dict[str, Pending] = {}
        self._owed: dict[str, deque[tuple[str, str]]] = {}
        self._entries: dict[str, list[str]] = {}
        self._waiting = 0  # texts that are owed
        self._added = trio.Event()
        self._much = trio.Event()

    def add(self, stream: str, tokens: Mapping[str, int], *, calls: int = 1) -> None:
        known = self._pending.get(stream)
        if known is None:
            known = Pending({}, 0, trio.current_time())
        total = add(known.tokens, tokens)
        self._pending[stream] = Pending(total, known.calls + calls, known.since)
        self._added.set()

    def owe(
        self,
        stream: str,
        texts: Mapping[str, str],
        tokens: Mapping[str, int] = _NONE,
        *,
        entry: str = "",
    ) -> None:
        """Add one call by what it put before the model, by kind; `entry` keeps it in the store."""
        self._owed.setdefault(stream, deque()).extend(texts.items())
        self._waiting += len(texts)
        self.add(stream, tokens)
        if entry:
            self._entries.setdefault(stream, []).append(entry)
        if self._waiting >= OWED:
            self._much.set()
        if self._waiting >= MOST_OWED:
            self._settle(stream)

    def has(self, stream: str) -> bool:
        """Say whether something of a stream is pending."""
        return stream in self._pending

    def due_of(self, stream: str) -> ev.Charged | None:
        """Return what is pending as the event that would book it."""
        self._settle(stream)
        pending = self._pending.get(stream)
        return None if pending is None else event(pending, {}, calls=0)

    def take(self, stream: str) -> Pending | None:
        self._settle(stream)
        pending = self._pending.pop(stream, None)
        if stream not in self._entries or pending is None:
            return pending
        return replace(pending, entries=tuple(self._entries.pop(stream)))

    async def count_along(self) -> None:
        """Count what is owed whenever it is much, a slice at a time."""
        while True:
            await self._much.wait()
            self._much = trio.Event()
            for stream in tuple(self._owed):
                while stream in self._owed:
                    self._settle(stream, SLICE)
                    await trio.lowlevel.checkpoint()

    def _settle(self, stream: str, work: float = math.inf) -> None:
        """Count the oldest of what a stream owes: one text, and more up to `work`."""
        owed = self._owed.get(stream)
        if owed is None:
            return
        tokens: dict[str, int] = {}
        while owed and work > 0:
            kind, text = owed.popleft()
            tokens[kind] = tokens.get(kind, 0) + self._count(text).n
            self._waiting -= 1
            work -= 1 + len(text) // _SHORT
        if not owed:
            del self._owed[stream]
        self.add(stream, tokens, calls=0)

    def put_back(self, stream: str, pending: Pending | None) -> None:
        if pending is not None:
            self.add(stream, pending.tokens, calls=pending.calls)
            if pending.entries:
                self._entries.setdefault(stream, []).extend(pending.entries)

    def streams(self) -> tuple[str, ...]:
        return tuple(self._pending)

    def due(self, now: float) -> tuple[str, ...]:
        """Return the streams that waited FLUSH_S or longer."""
        return tuple(s for s, p in self._pending.items() if now >= p.since + FLUSH_S)

    async def wait(self) -> None:
        """Return once something is pending and the oldest of it is due."""
        if not self._pending:
            self._added = trio.Event()
            await self._added.wait()
        oldest = min([pending.since for pending in self._pending.values()], default=-math.inf)
        await trio.sleep_until(oldest + FLUSH_S)


def event(pending: Pending | None, tokens: Mapping[str, int], *, calls: int) -> ev.Charged:
    """Return the Charged event of what is pending plus the call that commits it."""
    if pending is None:
        return ev.Charged(dict(tokens), calls)
    return ev.Charged(add(pending.tokens, tokens), pending.calls + calls)
