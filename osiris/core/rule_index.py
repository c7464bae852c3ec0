"""Index entries of states and approvals, a pure function of events as those of `index`.

Rule 1: how a state stands belongs to the project, so a test run of one task counts for another.
Rule 2: what an agent declares satisfies no rule; that a state does not hold is believed.
"""

import msgspec

from osiris.core import events as ev
from osiris.core.invariant_states import Standing
from osiris.core.invariants import Approval

_encoder = msgspec.msgpack.Encoder()
standing_entry = msgspec.msgpack.Decoder(Standing).decode
approval_entry = msgspec.msgpack.Decoder(Approval).decode


def puts(task: str, at: ev.Stamped) -> tuple[tuple[str, bytes | None], ...]:
    """Return the entries of one event of a task."""
    match at.event:
        case ev.StateChanged(name, ok, how, project):
            standing = Standing(at.at_ms, ok, how)
            return ((standing_key(project, name), _encoder.encode(standing)),)
        case ev.RuleApproved(rule, until_ms):
            approval = Approval(rule, task, until_ms)
            return ((approval_key(task, rule), _encoder.encode(approval)),)
        case _:
            return ()


def standing_key(project: str, name: str) -> str:
    """Return the key of how a state of a project stands."""
    return f"standing/{project}/{name}"


def declared_key(project: str, name: str) -> str:
    """Return the key of what an agent said last of a state."""
    return f"state/{project}/{name}"


def approval_key(task: str, rule: str) -> str:
    """Return the key of a person's leave to break a rule in a task."""
    return f"approved/{task}/{rule}"


def standing(seen: Standing | None, said: Standing | None) -> Standing | None:
    """Return how a state stands by what was `seen` of it and `said` of it last."""
    if seen is None or said is None or said.ok or said.at_ms < seen.at_ms:
        return seen
    return said
