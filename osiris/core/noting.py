"""osiris_observe of a lesson, a fact or a note: into memory, over what stood there, or outward.

| text | id    | scope   | answer                                                          |
| yes  | new   | any     | noted                                                           |
| yes  | known | any     | noted; supersedes the text under that id, unless it is the same |
| no   | known | a wider | promoted: a copy that keeps who learned it, where and when      |

Rule 1: what is superseded stays in the journal and in memory, and is said to be superseded.
Rule 2: a promoted entry keeps its id unless that of the wider scope is something else's.
Rule 3: a failure is promoted as a lesson.
"""

from osiris.core import drift
from osiris.core import events as ev
from osiris.core.commands import Observe
from osiris.core.decision import Decision, Facts, refuse
from osiris.core.memory import NOTED, Entry, ScopeState
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState

_ID = 64
_TASK = 4

Pairs = tuple[tuple[str, str], ...]


def note(state: TaskState, command: Observe, facts: Facts) -> Decision:
    """Note a thing in its task."""
    if command.text is None:
        return needs_text(command)
    item = command.id or f"{command.kind[0]}{state.notes + 1}"
    event = ev.Noted(command.kind, item, command.text, state.task)
    return _noted(event, facts, drift.pairs(state, facts))


def note_outside(state: ScopeState, command: Observe, facts: Facts) -> Decision:
    """Note a thing in a scope that is no task, or promote it there."""
    if command.kind not in NOTED:
        return refuse("bad_argument", f"a {command.kind} belongs to its task", "leave out 'scope'")
    scope = (("scope", command.scope or ""),)
    if command.text is not None:
        item = command.id or f"{command.kind[0]}{state.notes + 1}"
        return _noted(ev.Noted(command.kind, item, command.text, facts.task), facts, scope)
    if command.id is None:
        return needs_text(command)
    if facts.promoted is None:
        what = f"no {command.kind} {command.id!r} in a scope nearer than {command.scope}"
        fix = "say it in 'text', or name an id that recall op=memory shows"
        return refuse("unknown_entry", what, fix)
    return _promoted(command.kind, facts.promoted, facts, scope)


def needs_text(command: Observe) -> Decision:
    return refuse("missing_argument", f"observe {command.kind} needs 'text'", "say it in 'text'")


def other_id(item: str, task: str) -> str:
    """Return the id of a copy in a scope where `item` is something else's."""
    return f"{item[: _ID - _TASK - 1]}-{task[:_TASK]}"


def _noted(event: ev.Noted, facts: Facts, more: Pairs) -> Decision:
    pairs = (("ok", ""), ("id", event.id), *more)
    if facts.noted is not None and facts.noted.text == event.text:
        return Decision((), Reply((*pairs, ("known", "yes"))))
    return Decision((event,), Reply((*pairs, *_supersedes(facts.noted))))


def _promoted(kind: str, entry: Entry, facts: Facts, scope: Pairs) -> Decision:
    origin, origin_id = entry.root
    item, before = facts.promoted_as, facts.noted
    pairs = (("ok", ""), ("id", item), *scope, ("from", origin))
    if before is not None and before.text == entry.text:
        return Decision((), Reply((*pairs, ("known", "yes"))))
    event = ev.Promoted(
        kind=kind,
        id=item,
        text=entry.text,
        origin=origin,
        origin_id=origin_id,
        origin_by=entry.by,
        origin_at_ms=entry.at_ms,
        task=entry.task,
    )
    return Decision((event,), Reply((*pairs, *_supersedes(before))))


def _supersedes(before: Entry | None) -> Pairs:
    return () if before is None else (("supersedes", f"v{before.version}"),)
