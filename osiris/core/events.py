"""What happened, as stored for ever.

Rule 1: fields are only appended, with defaults; an event's meaning never changes.
Rule 2: the stored form is [kind, version, at_ms, by, body]; golden bytes of every kind and
        version are in the tests and always decode.
Rule 3: an old (kind, version) is lifted by a pure function in UPCASTS before `apply` sees it.
Rule 4: `at_ms` is for people. Order is the version in the stream.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from osiris.core.loop_window import Seen

FORMAT = 1  # a new kind or field raises it; older code refuses to open a newer store


class TaskStarted(Struct, frozen=True, array_like=True):
    task: str
    objective: str
    project: str


class Bound(Struct, frozen=True, array_like=True):
    """`by` of connection `nonce` works on this task from now on."""

    nonce: str


class PlanSet(Struct, frozen=True, array_like=True):
    steps: tuple[str, ...]


class StepMarked(Struct, frozen=True, array_like=True):
    """`step` counts from 1."""

    step: int
    done: bool


class BudgetSet(Struct, frozen=True, array_like=True):
    """Reserved amounts by unit (tokens, calls, seconds, microusd), and the counters that hold them.

    A counter is named without its unit: reserved/day/020422.
    """

    amounts: dict[str, int]
    holds: tuple[str, ...] = ()


class ConstraintAdded(Struct, frozen=True, array_like=True):
    id: str
    text: str


class DecisionPinned(Struct, frozen=True, array_like=True):
    id: str
    text: str


class Noted(Struct, frozen=True, array_like=True):
    """A memory entry that is not pinned; `kind` is lesson, fact or note."""

    kind: str
    id: str
    text: str
    task: str = ""


class ActionObserved(Struct, frozen=True, array_like=True):
    """One tool call of the agent, as the loop guard saw it; `seen.ref` is its payload's sha256."""

    seen: Seen
    ok: bool | None
    tokens: int = 0
    project: str = ""


class FailureSeen(Struct, frozen=True, array_like=True):
    """The observed call before it failed; `error` is the line of its result that says how."""

    fault: str
    tool: str
    call: str
    error: str = ""
    ref: str = ""


class Promoted(Struct, frozen=True, array_like=True):
    """A memory entry that was let out of the scope `origin`, with who learned it there and when."""

    kind: str
    id: str
    text: str
    origin: str
    origin_id: str
    origin_by: str
    origin_at_ms: int
    task: str = ""


class RefStored(Struct, frozen=True, array_like=True):
    """A payload now readable by this stream; `tokens` on the ruler, `method` how counted."""

    sha256: str
    size: int
    tokens: int
    method: str
    tool: str
    door: str
    redacted: int = 0
    path: str = ""


class KeptOut(Struct, frozen=True, array_like=True):
    """Tokens a model did not read; `proof` is receipt, declared or estimated."""

    ref: str
    proof: str
    source: str
    tokens: int
    session: str = ""


class Charged(Struct, frozen=True, array_like=True):
    """What OSIRIS itself cost the model since the last charge, tokens by kind."""

    tokens: dict[str, int]
    calls: int


class SnapshotTaken(Struct, frozen=True, array_like=True):
    id: str
    seal: str


class TaskResumed(Struct, frozen=True, array_like=True):
    nonce: str


class TaskClosed(Struct, frozen=True, array_like=True):
    outcome: str = "done"


class HandoffOffered(Struct, frozen=True, array_like=True):
    """A contract as offered; `inputs` are refs the child may read, `holds` see Contract."""

    contract: str
    to: str
    goal: str
    inputs: tuple[str, ...] = ()
    budget: dict[str, int] = {}
    checks: tuple[str, ...] = ()
    schema: str = ""
    depth: int = 1
    lease_s: int = 0
    holds: tuple[str, ...] = ()


class HandoffAccepted(Struct, frozen=True, array_like=True):
    """`by` holds the contract; its work is the task `child`."""

    contract: str
    attempt: int
    child: str
    lease_s: int = 0


class HandoffMoved(Struct, frozen=True, array_like=True):
    """A contract came to `status`; `attempt` is its fence now, `spent` what the child used."""

    contract: str
    status: str
    attempt: int
    why: str = ""
    ref: str = ""
    spent: dict[str, int] = {}


class LateResult(Struct, frozen=True, array_like=True):
    """A result that came after the end: kept, not applied."""

    contract: str
    ref: str


class LeaseRearmed(Struct, frozen=True, array_like=True):
    """A restart gave the lease one fresh period; the child stood at `child_version`."""

    contract: str
    child: str
    lease_s: int
    child_version: int


class ChildOpened(Struct, frozen=True, array_like=True):
    """A task that works under contracts: (contract, fence, goal hash, to), the nearest last.

    `refs` are (sha256, size, tokens, tool) of exactly what it may read.
    """

    contract: str
    issuer: str
    ancestors: tuple[tuple[str, int, str, str], ...]
    refs: tuple[tuple[str, int, int, str], ...] = ()
    budget: dict[str, int] = {}


class PrefixRecorded(Struct, frozen=True, array_like=True):
    """A declared head or contract (`zone`); with `tools` above 0 the catalogue of `project`."""

    zone: str
    sha256: str
    tokens: int
    verdict: str
    tools: int = 0
    project: str = ""


class UsageDeclared(Struct, frozen=True, array_like=True):
    """One request as its provider counted it; `dead` is what it found in gap bucket `cell`.

    `microusd` is what it cost, 0 where nobody knows; `factor` is the cell that its growth counts
    for; `ruler_high` is the most provider tokens that 1,000 of the ruler are, as known then.
    """

    model: str
    provider: str
    ttl_s: int
    input: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    output: int
    window: int = 0
    cell: str = ""
    dead: bool = False
    microusd: int = 0
    factor: str = ""
    ruler_high: int = 0


class FileSeen(Struct, frozen=True, array_like=True):
    """A file as it was read; `is_new` says that the task had not seen this path."""

    path: str
    sha256: str
    size: int
    tokens: int
    mtime_ns: int
    is_new: bool


class StateDeclared(Struct, frozen=True, array_like=True):
    """What an agent says of a state of the project; nobody checked it."""

    name: str
    ok: bool
    project: str


class StateChanged(Struct, frozen=True, array_like=True):
    """What an observed call did to a state of `project`; `how` says it in a few words."""

    name: str
    ok: bool
    how: str
    project: str


class RuleApproved(Struct, frozen=True, array_like=True):
    """A person's leave, given at a terminal, to do what `rule` forbids until then."""

    rule: str
    until_ms: int
    who: str


class CompactionStaged(Struct, frozen=True, array_like=True):
    """What may leave the prompt: `now`, and `staged` for one of `moments`; refs by sha256."""

    id: str
    mode: str
    now: tuple[str, ...]
    staged: tuple[str, ...]
    moments: tuple[str, ...]
    freed: int


Event = (
    TaskStarted | Bound | PlanSet | StepMarked | BudgetSet | ConstraintAdded | DecisionPinned
    | Noted | ActionObserved | RefStored | KeptOut | Charged | SnapshotTaken | TaskResumed
    | TaskClosed | HandoffOffered | HandoffAccepted | HandoffMoved | LateResult | LeaseRearmed
    | ChildOpened | PrefixRecorded | UsageDeclared | FileSeen | StateDeclared | CompactionStaged
    | StateChanged | RuleApproved | FailureSeen | Promoted
)  # fmt: skip


class Stamped(Struct, frozen=True):
    """An event with when and by whom."""

    at_ms: int
    by: str
    event: Event


class _Stored(Struct, frozen=True, array_like=True):
    kind: str
    version: int
    at_ms: int
    by: str
    body: msgspec.Raw


KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in Event.__args__}
VERSIONS: dict[str, int] = {**dict.fromkeys(KINDS, 1), "UsageDeclared": 2}
UPCASTS: dict[tuple[str, int], Callable[[bytes], Event]] = {
    ("UsageDeclared", 1): msgspec.msgpack.Decoder(UsageDeclared).decode,  # what it lacks is empty
}

_encoder = msgspec.msgpack.Encoder(order="deterministic")
_stored = msgspec.msgpack.Decoder(_Stored)
_bodies = {name: msgspec.msgpack.Decoder[Any](kind) for name, kind in KINDS.items()}


class UnknownEventError(Exception):
    """A stored event of a kind or version this code does not know: the store is newer."""


def encode(stamped: Stamped) -> bytes:
    kind = type(stamped.event).__name__
    return _encoder.encode((kind, VERSIONS[kind], stamped.at_ms, stamped.by, stamped.event))


def decode(raw: bytes) -> Stamped:
    """Return the event of `raw`, lifted to its newest version. Raises UnknownEventError."""
    stored = _stored.decode(raw)
    return Stamped(stored.at_ms, stored.by, _body(stored))


def _body(stored: _Stored) -> Event:
    if VERSIONS.get(stored.kind) == stored.version:
        event: Event = _bodies[stored.kind].decode(stored.body)
        return event
    upcast = UPCASTS.get((stored.kind, stored.version))
    if upcast is None:
        raise UnknownEventError(f"{stored.kind} version {stored.version}")
    return upcast(bytes(stored.body))
