"""Index entries of memory, a pure function of events."""

import msgspec

from osiris.core import events as ev
from osiris.core import failures, prefix
from osiris.core.memory import Entry
from osiris.core.task_state import TaskState

Puts = tuple[tuple[str, bytes | None], ...]

_encoder = msgspec.msgpack.Encoder()
memory_entry = msgspec.msgpack.Decoder(Entry).decode


def puts(stream: str, version: int, at: ev.Stamped, after: TaskState | None) -> Puts:
    """Return the entries of an event that something is remembered by; empty for others."""
    match at.event:
        case ev.ConstraintAdded(item, text) | ev.DecisionPinned(item, text):
            kind = "constraint" if isinstance(at.event, ev.ConstraintAdded) else "decision"
            pinned = (f"pin/{stream}/{item}", prefix.pinned_hash(text).encode())
            return pinned, _put(Entry(kind, item, text, at.by, at.at_ms, stream, version))
        case ev.Noted(kind, item, text, task):
            return _noted(Entry(kind, item, text, at.by, at.at_ms, stream, version, task))
        case ev.Promoted() as event:
            origin = (event.task, event.origin, event.origin_id)
            who = (event.origin_by, event.origin_at_ms)
            return _noted(Entry(event.kind, event.id, event.text, *who, stream, version, *origin))
        case ev.FailureSeen(fault=fault) if after is not None:
            return _failure(stream, version, at, after, failures.id_of(fault))
        case _:
            return ()


def noted_key(stream: str, kind: str, item: str) -> str:
    """Return the key of what stands under an id of memory; of failures, the entry itself."""
    return f"mem/{stream}/failure/{item}" if kind == "failure" else f"noted/{stream}/{kind}/{item}"


def _failure(stream: str, version: int, at: ev.Stamped, after: TaskState, item: str) -> Puts:
    failure = next((old for old in after.failures if old.id == item), None)
    if failure is None:
        return ()
    text = failures.told(failure)
    entry = Entry("failure", item, text, at.by, at.at_ms, stream, version, after.task)
    return ((noted_key(stream, "failure", item), _encoder.encode(entry)),)


def _noted(entry: Entry) -> Puts:
    key = noted_key(entry.stream, entry.kind, entry.id)
    return _put(entry), (key, _encoder.encode(entry))


def _put(entry: Entry) -> tuple[str, bytes]:
    key = f"mem/{entry.stream}/{entry.kind}/{entry.version:08x}"
    return key, _encoder.encode(entry)
