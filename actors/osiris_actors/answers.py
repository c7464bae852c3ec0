"""What a store's outcome means to the caller.

Rule 1: a known key is answered as it was the first time, or refused; never decided again.
Rule 2: an Unknown outcome says so: the same call under the same key tells.
"""

import msgspec

from osiris.core.errors import Refusal
from osiris.service import Answer
from osiris_actors.store.contract import (
    KEY_TTL_MS,
    Busy,
    Committed,
    Conflict,
    Duplicate,
    Failed,
    Fenced,
    Full,
    Key,
    Outcome,
    StoreDamaged,
    StoreUnavailable,
    Unknown,
)

_encoder = msgspec.msgpack.Encoder()
_answer = msgspec.msgpack.Decoder(Answer)

CONTENDED = Refusal("busy", "others changed this eight times", "call again in 500 ms")
REUSED = Refusal("key_reused", "the key names another command", "send a fresh key")
EXPIRED = Refusal("key_expired", "the key is older than 24 hours", "send a fresh key")


def kept(answer: Answer) -> bytes:
    """Return an answer as it is stored with its key."""
    return _encoder.encode(answer)


def answered(found: Duplicate, key: Key) -> Answer | Refusal:
    """Return the stored answer of a known key, or why it may not be given."""
    if found.content != key.content:
        return REUSED
    if key.at_ms - found.at_ms > KEY_TTL_MS:
        return EXPIRED
    return _answer.decode(found.reply)


def refusal(outcome: Outcome) -> Refusal:
    """Return what the caller reads when the store did not acknowledge."""
    match outcome:
        case Busy(retry_ms):
            return Refusal("busy", "the store's queue is full", f"call again in {retry_ms} ms")
        case Full(why):
            return Refusal("storage_full", why, "free space; reads go on; then call again")
        case Fenced(contract):
            fix = "stop: another holder has this work"
            return Refusal("contract_closed", f"{contract} moved on", fix)
        case Failed(why, code, fix):
            return Refusal(code, why, fix)
        case Unknown(why):
            return Refusal("storage_error", why, "send the same call again: its key knows")
        case Conflict(name, actual):
            what = f"{name} holds {actual} and may not go above its ceiling"
            fix = f"ask for fewer {name.rpartition('/')[2]}, or wait for the next day"
            return Refusal("budget_exceeded", what, fix)
        case Committed() | Duplicate():
            raise AssertionError("an acknowledged unit is no refusal")


def broken(error: StoreDamaged | StoreUnavailable) -> Refusal:
    """Return what the caller reads when the store could not be read."""
    return Refusal(error.code, str(error), error.fix)
