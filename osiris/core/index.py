"""Index entries, a pure function of events, so that they can be rebuilt from them.

| key                                   | value       | answers                               |
| task/ID                               | TaskEntry   | which tasks fit a prefix              |
| tasks/PROJECT/ID                      | TaskEntry   | the tasks of a project                |
| bound/NONCE/AGENT, bound/NONCE/       | task id     | a call without `task`                 |
| mem/STREAM/KIND/VERSION               | Entry       | recall of memory                      |
| noted/STREAM/KIND/ID                  | Entry       | what a new text under an id replaces  |
| wrote/PROJECT                         | time        | is what was read before still true    |
| pin/STREAM/ID                         | pinned hash | was this pinned item rewritten        |
| ref/STREAM/SHA256                     | RefEntry    | may this stream read that ref         |
| call/PROJECT/CALL                     | CallEntry   | what another agent already did        |
| seal/TASK/SEAL                        | ordinal     | is a presented seal an ancestor       |
| snap/TASK/ID                          | seal        | a snapshot taken by name              |
| kept/STREAM/SHA256/AGENT/SESSION      | tokens      | was this drop already booked          |
| contract/ID                           | Contract    | what was offered, and by which task   |
| contract.child/ID                     | task, agent | who holds it, and its task            |
| contract.state/ID                     | Moved       | where it stands                       |
| contract.late/ID                      | sha256      | a result that came after the end      |
| inbox/AGENT/ID                        | task id     | what is offered to whom               |
| issued/TASK/ID                        | nothing     | what a task offered                   |
| due/ID                                | Due         | which leases run                      |
| catalogue/PROJECT, or task/ID for one | Catalogue   | which tools the compass knows         |
| file/STREAM/PATH HASH                 | FileEntry   | what a re-read of a path changes      |
| state/PROJECT/NAME                    | StateEntry  | what an agent declared of a project   |
| standing/PROJECT/NAME                 | Standing    | how a state of a project stands       |
| approved/TASK/RULE                    | Approval    | what a person allows                  |
| staged/TASK                           | Staged      | what a dead cache lets go             |
"""

import msgspec
from msgspec import Struct

from osiris.core import canon, contracts, memory_index, plain, rule_index
from osiris.core import events as ev
from osiris.core.handoff import HELD, Contract
from osiris.core.task_state import TaskState

Put = tuple[str, bytes | None]
Puts = tuple[Put, ...]


class TaskEntry(Struct, frozen=True, array_like=True):
    task: str
    project: str
    objective: str
    status: str
    at_ms: int
    by: str


class RefEntry(Struct, frozen=True, array_like=True):
    sha256: str
    size: int
    tokens: int
    tool: str
    door: str
    at_ms: int
    by: str
    path: str = ""


class CallEntry(Struct, frozen=True, array_like=True):
    task: str
    by: str
    at_ms: int
    ref: str
    ok: bool | None
    tool: str


class Moved(Struct, frozen=True, array_like=True):
    status: str
    attempt: int
    why: str = ""
    ref: str = ""


class Due(Struct, frozen=True, array_like=True):
    """A lease: `rearmed_at` is the child's version when a restart renewed it, -1 before."""

    contract: str
    issuer: str
    child: str
    lease_s: int
    rearmed_at: int = -1


class Catalogue(Struct, frozen=True, array_like=True):
    sha256: str
    tools: int
    at_ms: int
    by: str
    task: str


class FileEntry(Struct, frozen=True, array_like=True):
    """`seen_ms` is when the path was read last."""

    path: str
    sha256: str
    size: int
    tokens: int
    mtime_ns: int
    seen_ms: int
    by: str


class StateEntry(Struct, frozen=True, array_like=True):
    name: str
    ok: bool
    at_ms: int
    by: str
    task: str


class Staged(Struct, frozen=True, array_like=True):
    mode: str
    refs: tuple[str, ...]
    moments: tuple[str, ...]
    freed: int
    at_ms: int


_encoder = msgspec.msgpack.Encoder()
task_entry = msgspec.msgpack.Decoder(TaskEntry).decode
ref_entry = msgspec.msgpack.Decoder(RefEntry).decode
call_entry = msgspec.msgpack.Decoder(CallEntry).decode
contract_entry = msgspec.msgpack.Decoder(Contract).decode
child_entry = msgspec.msgpack.Decoder(tuple[str, str]).decode
moved_entry = msgspec.msgpack.Decoder(Moved).decode
due_entry = msgspec.msgpack.Decoder(Due).decode
catalogue_entry = msgspec.msgpack.Decoder(Catalogue).decode
file_entry = msgspec.msgpack.Decoder(FileEntry).decode
state_entry = msgspec.msgpack.Decoder(StateEntry).decode
staged_entry = msgspec.msgpack.Decoder(Staged).decode


_MOVES_SEAL = (
    ev.TaskStarted,
    ev.PlanSet,
    ev.ConstraintAdded,
    ev.DecisionPinned,
    ev.PrefixRecorded,
)


def puts(
    stream: str,
    version: int,
    stamped: ev.Stamped,
    after: TaskState | None,
    before: TaskState | None = None,
) -> Puts:
    """Return the entries of one event between two states of its task, which a scope has not."""
    if isinstance(stamped.event, ev.Charged):
        return ()
    found = _of_event(stream, version, stamped, after)
    if before is not None and isinstance(stamped.event, ev.HandoffAccepted | ev.HandoffMoved):
        found = (*found, *_inbox(before, stamped.event))
    if after is not None and after.seal and _moves_seal(stamped.event):
        ordinal = after.seals.to_bytes(4, "big")
        return (*found, (f"seal/{after.task}/{after.seal}", ordinal))
    return found


def _moves_seal(event: ev.Event) -> bool:
    return isinstance(event, _MOVES_SEAL)


def _of_event(stream: str, version: int, at: ev.Stamped, after: TaskState | None) -> Puts:
    match at.event:
        case ev.ActionObserved() as seen:
            return _call(version, at, seen, after) if seen.project and after is not None else ()
        case ev.RefStored() as ref:
            known = RefEntry(
                ref.sha256, ref.size, ref.tokens, ref.tool, ref.door, at.at_ms, at.by, ref.path
            )
            return ((f"ref/{stream}/{ref.sha256}", _encoder.encode(known)),)
        case ev.TaskStarted() | ev.TaskClosed() if after is not None:
            return _task(after, at)
        case ev.Bound(nonce) | ev.TaskResumed(nonce) if after is not None:
            task = after.task.encode()
            return (f"bound/{nonce}/{agent_key(at.by)}", task), (f"bound/{nonce}/", task)
        case ev.SnapshotTaken(item, seal) if after is not None:
            return ((f"snap/{after.task}/{item}", seal.encode()),)
        case ev.KeptOut() as kept if kept.session:
            key = kept_key(stream, kept.ref, at.by, kept.session)
            return ((key, kept.tokens.to_bytes(8, "big")),)
        case ev.ChildOpened(refs=refs):
            return tuple(_granted(stream, at, ref) for ref in refs)
        case _:
            found = memory_index.puts(stream, version, at, after)
            return (
                found or _of_declared(stream, at) or _of_handoff(stream.removeprefix("task/"), at)
            )


def _of_declared(stream: str, at: ev.Stamped) -> Puts:
    task = stream.removeprefix("task/")
    match at.event:
        case ev.PrefixRecorded(sha256=sha256, tools=tools, project=project) if tools:
            tools_known = Catalogue(sha256, tools, at.at_ms, at.by, task)
            return ((catalogue_key(project, task), _encoder.encode(tools_known)),)
        case ev.FileSeen(path, sha256, size, tokens, mtime_ns):
            file = FileEntry(path, sha256, size, tokens, mtime_ns, at.at_ms, at.by)
            return ((file_key(stream, path), _encoder.encode(file)),)
        case ev.StateDeclared(name, ok, project):
            state = StateEntry(name, ok, at.at_ms, at.by, task)
            return ((f"state/{project}/{name}", _encoder.encode(state)),)
        case ev.CompactionStaged(mode=mode, staged=refs, moments=moments, freed=freed):
            staged = Staged(mode, refs, moments, freed, at.at_ms)
            return ((f"staged/{task}", _encoder.encode(staged)),)
        case _:
            return rule_index.puts(task, at)


def _call(version: int, at: ev.Stamped, seen: ev.ActionObserved, after: TaskState) -> Puts:
    call = CallEntry(after.task, at.by, at.at_ms, seen.seen.ref, seen.ok, seen.seen.tool)
    made = (f"call/{seen.project}/{seen.seen.call}", _encoder.encode(call))
    last = after.loop.seen[-1] if after.loop.seen else None
    if last is None or last.gain != "change" or last.version != version:
        return (made,)
    return made, (wrote_key(seen.project), at.at_ms.to_bytes(8, "big"))


def wrote_key(project: str) -> str:
    """Return the key of when something in a project was last changed, milliseconds."""
    return f"wrote/{project}"


def catalogue_key(project: str, task: str) -> str:
    """Return the key of the tools that a project's agents have; of a task's where there is none."""
    return f"catalogue/{project or f'task/{task}'}"


def file_key(stream: str, path: str) -> str:
    """Return the key of what a stream knows of a path."""
    return f"file/{stream}/{canon.hexdigest('file', [path])[:32]}"


def _of_handoff(task: str, at: ev.Stamped) -> Puts:
    match at.event:
        case ev.HandoffOffered(contract, to) as event:
            offered = contracts.offered({}, task, event)[contract]
            return (
                (f"contract/{contract}", _encoder.encode(offered)),
                (f"inbox/{agent_key(to)}/{contract}", task.encode()),
                (f"issued/{task}/{contract}", b""),
                _state(contract, Moved("offered", 0)),
            )
        case ev.HandoffAccepted(contract, attempt, child, lease_s):
            return (
                (f"contract.child/{contract}", _encoder.encode((child, at.by))),
                _state(contract, Moved("running", attempt)),
                _due(Due(contract, task, child, lease_s)),
            )
        case ev.HandoffMoved(contract, status, attempt, why, ref):
            moved = _state(contract, Moved(status, attempt, why, ref))
            return (moved,) if status in HELD else (moved, (f"due/{contract}", None))
        case ev.LateResult(contract, ref):
            return ((f"contract.late/{contract}", ref.encode()),)
        case ev.LeaseRearmed(contract, child, lease_s, version):
            return (_due(Due(contract, task, child, lease_s, version)),)
        case _:
            return ()


def _inbox(before: TaskState, event: ev.HandoffAccepted | ev.HandoffMoved) -> Puts:
    """Return what keeps in the inbox the contracts that are offered, and no others."""
    known = before.contracts.get(event.contract)
    is_offered = isinstance(event, ev.HandoffMoved) and event.status == "offered"
    if known is None or is_offered == (known.status == "offered"):
        return ()
    key = f"inbox/{agent_key(known.to)}/{event.contract}"
    return ((key, before.task.encode() if is_offered else None),)


def _state(contract: str, moved: Moved) -> Put:
    return f"contract.state/{contract}", _encoder.encode(moved)


def _due(due: Due) -> Put:
    return f"due/{due.contract}", _encoder.encode(due)


def _granted(stream: str, at: ev.Stamped, ref: tuple[str, int, int, str]) -> Put:
    sha256, size, tokens, tool = ref
    entry = RefEntry(sha256, size, tokens, tool, "grant", at.at_ms, at.by)
    return f"ref/{stream}/{sha256}", _encoder.encode(entry)


def agent_key(agent: str) -> str:
    """Return an agent's name in the short form that fits any key."""
    return canon.hexdigest("agent", [agent])[:16]


def kept_key(stream: str, sha256: str, agent: str, session: str) -> str:
    """Return the key that says a drop was booked."""
    return f"kept/{stream}/{sha256}/{agent_key(agent)}/{session}"


def _task(state: TaskState, at: ev.Stamped) -> Puts:
    entry = TaskEntry(
        state.task,
        state.project,
        plain.one_line(state.objective, 80),
        state.status,
        at.at_ms,
        at.by,
    )
    raw = _encoder.encode(entry)
    return (f"task/{state.task}", raw), (f"tasks/{state.project}/{state.task}", raw)
