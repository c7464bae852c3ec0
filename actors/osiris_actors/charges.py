"""What calls cost, waiting for the next Unit of their stream.

Rule 1: every reply is charged, reads and refusals included.
Rule 2: what is taken for a commit that did not happen is put back.
Rule 3: the texts of a call that only reads are counted when they are taken, not while it waits;
        of more than OWED the last one counts all.
"""

from collections.abc import Callable, Mapping

import trio
from msgspec import Struct

from osiris.core import events as ev
from osiris.core.task_state import add
from osiris.core.tokens import Count, estimate

FLUSH_S = 1.0
OWED = 64


class Pending(Struct, frozen=True):
    """Tokens by kind and calls; `since` is monotonic seconds of the oldest."""

    tokens: dict[str, int]
    calls: int
    since: float


class Charges:
    """Pending costs by stream."""

    def __init__(self, count: Callable[[str], Count] = estimate) -> None:
        self._count = count
        self._pending: dict[str, Pending] = {}
        self._owed: dict[str, list[tuple[str, str]]] = {}
        self._added = trio.Event()

    def add(self, stream: str, tokens: Mapping[str, int], *, calls: int = 1) -> None:
        known = self._pending.get(stream)
        if known is None:
            known = Pending({}, 0, trio.current_time())
        total = add(known.tokens, tokens)
        self._pending[stream] = Pending(total, known.calls + calls, known.since)
        self._added.set()

    def owe(self, stream: str, texts: Mapping[str, str]) -> None:
        """Add one call by what it put before the model, by kind."""
        owed = self._owed.setdefault(stream, [])
        owed += texts.items()
        self.add(stream, {})
        if len(owed) >= OWED:
            self._settle(stream)

    def take(self, stream: str) -> Pending | None:
        self._settle(stream)
        return self._pending.pop(stream, None)

    def _settle(self, stream: str) -> None:
        tokens: dict[str, int] = {}
        for kind, text in self._owed.pop(stream, ()):
            tokens[kind] = tokens.get(kind, 0) + self._count(text).n
        if tokens:
            self.add(stream, tokens, calls=0)

    def put_back(self, stream: str, pending: Pending | None) -> None:
        if pending is not None:
            self.add(stream, pending.tokens, calls=pending.calls)

    def streams(self) -> tuple[str, ...]:
        return tuple(self._pending)

    def due(self, now: float) -> tuple[str, ...]:
        """Return the streams that waited FLUSH_S or longer."""
        return tuple(s for s, p in self._pending.items() if now - p.since >= FLUSH_S)

    async def wait(self) -> None:
        """Return once something is pending."""
        if not self._pending:
            self._added = trio.Event()
            await self._added.wait()


def event(pending: Pending | None, tokens: Mapping[str, int], *, calls: int) -> ev.Charged:
    """Return the Charged event of what is pending plus the call that commits it."""
    if pending is None:
        return ev.Charged(dict(tokens), calls)
    return ev.Charged(add(pending.tokens, tokens), pending.calls + calls)
