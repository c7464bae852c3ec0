"""A stream read into its state: the newest snapshot and the events after it.

Rule: loading costs the same whatever the stream's history, unless its snapshot is of another fold.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

from osiris.core import events as ev
from osiris_actors.store.contract import SNAPSHOT_BYTES, SNAPSHOT_EVENTS, Append, Head, Store

S = TypeVar("S")


class Fold(Struct, Generic[S], frozen=True):
    """The pure half of a stream: how a state begins, grows and is kept."""

    empty: S
    apply: Callable[[S, ev.Stamped], S]
    to_snapshot: Callable[[S], bytes]
    from_snapshot: Callable[[bytes], S | None]


class Folded(Generic[S]):
    """The state of a stream and the head that it is of."""

    def __init__(self, name: str, fold: Fold[S], store: Store) -> None:
        self.name = name
        self.state = fold.empty
        self.store = store
        self._fold = fold
        self._head = Head()

    async def load(self) -> None:
        """Read the newest snapshot and what follows it."""
        self.state, self._head = self._fold.empty, Head()
        await self._read(0)

    async def catch_up(self) -> None:
        """Make the state that of the stream's head."""
        head = await self.store.head(self.name)
        if head.version < self._head.version:
            await self.load()
        elif head.version != self._head.version:
            await self._read(self._head.version)

    async def _holds(self, append: Append) -> bool:
        """Say whether the events of `append` stand where it would have put them."""
        found = await self.store.history(self.name, append.expected, len(append.events))
        return tuple(raw for _, raw in found) == append.events

    def _snapshot(self, state: S, raw: tuple[bytes, ...]) -> bytes | None:
        """Return the snapshot that is due with the events `raw`, if one is."""
        events = self._head.events_since_snapshot + len(raw)
        size = self._head.bytes_since_snapshot + sum(map(len, raw))
        is_due = events >= SNAPSHOT_EVENTS or size >= SNAPSHOT_BYTES
        return self._fold.to_snapshot(state) if is_due else None

    def _after(self, append: Append) -> Head:
        """Return the head once `append` is committed; its chain is not known here."""
        before = self._head
        version = append.expected + len(append.events)
        if append.snapshot is not None:
            return Head(version)
        return Head(
            version,
            events_since_snapshot=before.events_since_snapshot + len(append.events),
            bytes_since_snapshot=before.bytes_since_snapshot + sum(map(len, append.events)),
        )

    async def _read(self, after: int) -> None:
        read = await self.store.read(self.name, after)
        if read.snapshot is not None:
            state = self._fold.from_snapshot(read.snapshot[1])
            if state is None:
                await self._replay()
                return
            self.state = state
        for _, raw in read.events:
            self.state = self._fold.apply(self.state, ev.decode(raw))
        self._head = read.head

    async def _replay(self) -> None:
        """Fold the whole stream: the snapshot was made by another `apply`."""
        self.state, after = self._fold.empty, 0
        while page := await self.store.history(self.name, after, SNAPSHOT_EVENTS):
            for _, raw in page:
                self.state = self._fold.apply(self.state, ev.decode(raw))
            after = page[-1][0]
        self._head = await self.store.head(self.name)
