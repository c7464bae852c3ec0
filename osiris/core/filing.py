"""osiris_observe of a file: its hash, size, time and ref; a re-read is answered by what changed.

| read before, by this agent | bytes | answer                                                   |
| no                         | any   | as any payload: the text, a stub, or nothing             |
| yes                        | same  | unchanged, since which ref                               |
| yes                        | other | since which ref, how many places, the diff if short |

Rule 1: `path` names the file; with `text` or `result` that is its content, else OSIRIS reads it.
Rule 2: what another agent read is no news of this agent's: it gets the file as if it were new.
Rule 3: an agent that sent the text has it; it is told in how many places it changed.
"""

from osiris.core import delivering, drift, planning, refs
from osiris.core import events as ev
from osiris.core.commands import Observe
from osiris.core.decision import Decision, Diff, Facts, Payload, refuse
from osiris.core.index import FileEntry
from osiris.core.modes import mode_of
from osiris.core.replies import Block, Reply
from osiris.core.task_state import TaskState

TOOL = "read"


def observe(state: TaskState, command: Observe, facts: Facts) -> Decision:
    payload = facts.payload
    if payload is None or command.path is None:
        fix = "send path=, and the content as text= or result= if OSIRIS may not read it"
        return refuse("missing_argument", "observe file needs 'path' and its content", fix)
    before = facts.file
    seen = ev.FileSeen(
        command.path,
        payload.sha256,
        payload.size,
        payload.tokens,
        payload.mtime_ns,
        is_new=before is None,
    )
    is_reread = before is not None and before.by == facts.agent
    if before is not None and is_reread and before.sha256 == payload.sha256:
        return Decision((seen,), _unchanged(state, before, facts))
    events = (*delivering.stored(command.tool or TOOL, payload, facts), seen)
    if before is not None and is_reread:
        return Decision(events, _changed(state, before, payload, facts))
    mode = mode_of((*state.payloads, payload.tokens))
    reply = delivering.answer(planning.fold(state, events, facts), mode, facts)
    delivered = payload.tokens if reply.block is not None else 0
    return Decision(events, reply, delivered=delivered)


def _unchanged(state: TaskState, before: FileEntry, facts: Facts) -> Reply:
    pairs = (("ok", ""), ("unchanged", "yes"), ("since", refs.short(before.sha256)))
    return Reply((*pairs, ("tokens", str(before.tokens)), *drift.pairs(state, facts)))


def _changed(state: TaskState, before: FileEntry, payload: Payload, facts: Facts) -> Reply:
    new, old = refs.short(payload.sha256), refs.short(before.sha256)
    diff = facts.diff or Diff(0)
    pairs = (
        ("ok", ""),
        ("ref", new),
        ("since", old),
        ("hunks", f"{diff.hunks}{'+' * diff.is_more}"),
        *drift.pairs(state, facts),
    )
    if diff.text and payload.door in delivering.DELIVERED:
        return Reply(pairs, block=Block(f"diff {new}", diff.text))
    return Reply(pairs, ("diff: recall op=diff q=since",))
