"""Memory entries and the state of a scope that is no task (project, agent, global).

Rule 1: entries are superseded, never erased; each keeps who, when and where from.
Rule 2: scopes are looked up in the order task, project, agent, global; nothing moves outward
        unless it was noted there or promoted: a copy that keeps who learned it, where and when.
Rule 3: an id names one thing of its kind in its scope: another text under it supersedes the first.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core import overhead
from osiris.core.task_state import add

SCOPE_FOLD = 1
NOTED = ("lesson", "fact", "note")
KINDS = ("constraint", "decision", *NOTED, "failure")


class Entry(Struct, frozen=True, array_like=True):
    """One thing remembered; `version` is its place in `stream`.

    Of a copy, `by` and `at_ms` are who learned it and when in the scope `origin`, where its id is
    `origin_id`.
    """

    kind: str
    id: str
    text: str
    by: str
    at_ms: int
    stream: str
    version: int
    task: str = ""
    origin: str = ""
    origin_id: str = ""

    @property
    def root(self) -> tuple[str, str]:
        """Where the entry was learned: scope and id, the same for every copy of it."""
        return (self.origin, self.origin_id) if self.origin else (self.stream, self.id)


class ScopeState(Struct, frozen=True, array_like=True):
    """Counts of one project, agent or global stream; the entries are in the index."""

    version: int = 0
    notes: int = 0
    refs: int = 0
    charged: dict[str, int] = {}
    calls: int = 0
    kept_out: dict[str, int] = {}
    redacted: int = 0


def apply_scope(state: ScopeState, stamped: ev.Stamped) -> ScopeState:
    """Return the state after `stamped`; events of tasks leave it as it is."""
    after = replace(state, version=state.version + 1)
    match stamped.event:
        case ev.Noted() | ev.Promoted():
            return replace(after, notes=state.notes + 1)
        case ev.RefStored(redacted=redacted):
            return replace(after, refs=state.refs + 1, redacted=state.redacted + redacted)
        case ev.KeptOut(proof=proof, tokens=tokens):
            return replace(after, kept_out=add(state.kept_out, {proof: tokens}))
        case ev.Charged(tokens=tokens, calls=calls):
            charged = overhead.grown(state.charged, tokens)
            return replace(after, charged=charged, calls=state.calls + calls)
        case _:
            return after


_encoder = msgspec.msgpack.Encoder(order="deterministic")
_decoder = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])
_state = msgspec.msgpack.Decoder(ScopeState)


def scope_to_snapshot(state: ScopeState) -> bytes:
    return _encoder.encode((SCOPE_FOLD, state))


def scope_from_snapshot(raw: bytes) -> ScopeState | None:
    """Return the state, or None when another fold wrote it."""
    fold, body = _decoder.decode(raw)
    return _state.decode(body) if fold == SCOPE_FOLD else None
