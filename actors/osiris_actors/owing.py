"""What an observe costs, stored with it as texts and counted after its answer.

Rule 1: the entry is in the observe's own unit, so no kill loses what it cost; the unit that books
        the cost removes it.
Rule 2: what keeps tokens out is not owed: a receipt is committed together with its costs.
Rule 3: an owner takes over what the one before it left owing: it reads that before it serves
        anybody, so that nothing of its own is among it, and counts once the ruler is there.
"""

import logging
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from osiris.core import overhead
from osiris.core.decision import Decision
from osiris.core.events import KeptOut
from osiris_actors.charges import Charges, Pending
from osiris_actors.store.contract import Put, Store
from osiris_actors.units import Step

PREFIX = "owed/"
PAGE = 1_000
TRIES = 3
_NAME = 32  # digits of a command key that name an entry

log = logging.getLogger(__name__)


class Entry(Struct, frozen=True, array_like=True):
    """The value of an entry: tokens and texts of one call, by kind."""

    tokens: dict[str, int]
    texts: dict[str, str]


class Owed(Struct, frozen=True):
    """What a call costs, who pays, and under which key the store keeps it; empty: nowhere."""

    stream: str
    key: str
    cost: Entry

    def put(self) -> Put:
        return Put(self.key, _encode(self.cost))

    def tell(self, charges: Charges) -> None:
        charges.owe(self.stream, self.cost.texts, self.cost.tokens, entry=self.key)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode


def owed(stream: str, step: Step, parts: Mapping[str, str]) -> Owed:
    """Return what a call costs whose arguments are not counted yet; `parts` are its reply's."""
    tokens = {"arguments": step.arguments} if step.arguments else {}
    texts = {"arguments": step.said, **parts}
    name = step.key.name[:_NAME] if step.key else ""
    cost = Entry(overhead.labelled(tokens, step.source), overhead.labelled(texts, step.source))
    return Owed(stream, f"{PREFIX}{stream}/{name}", cost)


def may_wait(decision: Decision, step: Step) -> bool:
    """Say whether the costs of a decision may be booked by a later unit."""
    if not step.said or step.key is None or decision.delivered:
        return False
    return not any(isinstance(event, KeptOut) for event in decision.events)


def removals(pending: Pending | None) -> tuple[Put, ...]:
    """Return what takes the entries of pending costs away."""
    return tuple(Put(key, None) for key in pending.entries) if pending else ()


async def left(store: Store) -> list[Owed]:
    """Return what is owed in the store; what cannot be read is left to the next owner."""
    owes: list[Owed] = []
    after, tries = "", TRIES
    while tries:
        try:
            found = await store.index(PREFIX, after=after, limit=PAGE)
        except Exception:
            log.exception("what is owed could not be read")
            tries -= 1
            continue
        if not found:
            break
        owes += [_read(entry) for entry in found]
        after = found[-1].key
    return owes


def _read(entry: Put) -> Owed:
    stream = entry.key.removeprefix(PREFIX).rpartition("/")[0]
    return Owed(stream, entry.key, _decode(entry.value or b""))
