"""What a decision becomes in the store, apart from the events and postings of its own stream."""

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core import index
from osiris.core.decision import Decision, Opening
from osiris.core.handoff import Ancestor
from osiris.core.task_state import TaskState, apply
from osiris_actors.store.contract import Append, Blob, Bump, Delta, Guard, Key, Put, Unit

# what a checkpoint and a closing write: they may use the room that is kept back
SAVED_ON_A_FULL_DISK = (ev.SnapshotTaken, ev.TaskClosed)


class Step(Struct, frozen=True):
    """One command on its way to a commit: who, under which key, with what it cost to ask.

    `source` labels the payload that it is about, empty for none. `said` are arguments that are not
    counted yet: those of a call that only reads. `payer` is the stream that pays for a call about
    a task which is not there.
    """

    by: str
    at_ms: int
    key: Key | None
    arguments: int
    blob: Blob | None = None
    source: str = ""
    said: str = ""
    payer: str = ""


def stamped(step: Step, events: tuple[ev.Event, ...]) -> tuple[ev.Stamped, ...]:
    return tuple([ev.Stamped(step.at_ms, step.by, event) for event in events])


def framed(
    decision: Decision,
    step: Step,
    reply: bytes,
    above: tuple[Ancestor, ...],
    puts: tuple[Put, ...] = (),
) -> Unit:
    """Return the unit of a decision without its events; `above`: the contracts it works under."""
    return Unit(
        appends=tuple([Append(stream, version, ()) for stream, version in decision.holds]),
        deltas=tuple([Delta(r.counter, r.amount, r.ceiling) for r in decision.reservations]),
        guards=tuple([Guard(ancestor.contract, ancestor.fence) for ancestor in above]),
        bumps=tuple([Bump(contract, value) for contract, value in decision.bumps]),
        puts=puts,
        blobs=() if step.blob is None else (step.blob,),
        key=step.key,
        reply=reply,
        reserve=any(isinstance(event, SAVED_ON_A_FULL_DISK) for event in decision.events),
    )


def opened(unit: Unit, opening: Opening, step: Step) -> Unit:
    """Return `unit` with the first events of a new task's stream."""
    name, state = f"task/{opening.task}", TaskState()
    events = stamped(step, opening.events)
    puts: list[Put] = []
    for version, event in enumerate(events, 1):
        state = apply(state, event)
        puts.extend(Put(k, v) for k, v in index.puts(name, version, event, state))
    append = Append(name, 0, tuple(ev.encode(event) for event in events))
    return replace(unit, appends=(*unit.appends, append), puts=(*unit.puts, *puts))
