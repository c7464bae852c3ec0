"""What a decision may look at beside the state, and what it comes to.

Rule 1: facts are looked up before `decide` runs; `decide` looks nothing up.
Rule 2: a decision's events are all that changes; the reply says so only after they are durable.
"""

from collections.abc import Mapping

from msgspec import Struct

from osiris.core import events as ev
from osiris.core.cache_model import NOTHING_SEEN, Calibration
from osiris.core.compass import Found
from osiris.core.errors import Refusal
from osiris.core.handoff import LEASE_S, Contract
from osiris.core.index import CallEntry, FileEntry, RefEntry
from osiris.core.invariant_ruling import UNRULED, Ruling
from osiris.core.loop_window import Seen
from osiris.core.memory import Entry
from osiris.core.prices import Prices
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState
from osiris.core.volatile import Report

NOT_PRESENTED = -1
CACHE_TTL_S = 300
NO_PRICES = Prices("", {})


class Payload(Struct, frozen=True):
    """An ingested payload: redacted, hashed, counted, stored or about to be.

    `stub` stands for it, `text` is the payload itself when it is short enough to be delivered;
    `seen` is what the loop guard keeps of the call; `door` is result, path or pipe.
    """

    sha256: str
    size: int
    characters: int
    tokens: int
    method: str
    stub: str
    door: str
    seen: Seen | None = None
    redacted: int = 0
    path: str = ""
    text: str = ""
    mtime_ns: int = 0


class Diff(Struct, frozen=True):
    """How a file changed since it was read: in how many places, and the `text` when it is short.

    `is_more` says that there are more places than were counted.
    """

    hunks: int
    text: str = ""
    is_more: bool = False


class Child(Struct, frozen=True):
    """The task of a contract as its own stream says."""

    holder: str
    version: int
    spent: dict[str, int]


class Checked(Struct, frozen=True):
    """One acceptance check of `result` as OSIRIS ran it; `output` is what its command printed."""

    check: str
    ok: bool
    why: str = ""
    result: str = ""
    output: Payload | None = None


class Facts(Struct, frozen=True):
    """`seal` is the ordinal of the presented seal, None when unknown to this task.

    `acting` is the task that the caller acts for; `contract` and `child` are what a handoff names.
    `pins` maps pinned ids that the command names to the hash of the text known under them;
    `ref` is what is known of the ref that the command names; `call` is the key of the call that a
    precheck names, `seen` the same call as another agent of this project made it within 24 hours;
    `ceilings` are by level and unit (day/tokens), `day_held` is what is reserved under them.

    `volatile` is what changes in the head or contract at hand, `tools` how many a contract lists;
    `file` is a path as it was read before, `diff` what changed since; `found` is the compass's
    answer, None without a catalogue; `learned` are the outcomes counted for the task's model,
    `factors` its observations by bucket of `core.factor`.
    `cache_ttl_s` and `prune_threshold_tokens` are settings of the connection.
    `ruling` is what the rules of the project say to the call. `noted` is what stands in this scope
    under the id that a note names, `promoted` what a nearer scope has under it and
    `promoted_as` the id of its copy here.
    """

    now_ms: int
    agent: str
    nonce: str
    project: str
    host: str = ""
    task: str = ""
    seal: int | None = NOT_PRESENTED
    pins: Mapping[str, str] = {}
    payload: Payload | None = None
    ref: RefEntry | None = None
    dropped_before: bool = False
    call: str = ""
    seen: CallEntry | None = None
    memory: tuple[Entry, ...] = ()
    noted: Entry | None = None
    promoted: Entry | None = None
    promoted_as: str = ""
    ceilings: Mapping[str, int] = {}
    day_held: Mapping[str, int] = {}
    key: str = ""
    lease_s: int = LEASE_S
    acting: str = ""
    contract: Contract | None = None
    child: Child | None = None
    inputs: tuple[RefEntry, ...] = ()
    missing_input: str = ""
    schema_errors: tuple[str, ...] = ()
    checks: tuple[Checked, ...] = ()
    prices: Prices = NO_PRICES
    learned: Calibration = NOTHING_SEEN
    factors: Mapping[int, int] = {}
    volatile: Report | None = None
    tools: int = 0
    file: FileEntry | None = None
    diff: Diff | None = None
    found: Found | None = None
    cache_ttl_s: int = CACHE_TTL_S
    prune_threshold_tokens: int = 40_000
    ruling: Ruling = UNRULED


class Reservation(Struct, frozen=True):
    """An amount to add to a counter that may not go above `ceiling`."""

    counter: str
    amount: int
    ceiling: int


class Opening(Struct, frozen=True):
    """A new task and its first events, committed in the same unit."""

    task: str
    events: tuple[ev.Event, ...]


class Decision(Struct, frozen=True):
    """`delivered` are tokens of the reply that the model wanted as they are: no overhead.

    `bumps` raise fences: (contract, new value); `holds` are streams that must stand where they
    were seen: (stream, version). `states` are the task's after each event, where deciding took
    them.
    """

    events: tuple[ev.Event, ...]
    reply: Reply | Refusal
    reservations: tuple[Reservation, ...] = ()
    delivered: int = 0
    opens: Opening | None = None
    bumps: tuple[tuple[str, int], ...] = ()
    holds: tuple[tuple[str, int], ...] = ()
    states: tuple[TaskState, ...] = ()


def refuse(code: str, what: str, fix: str) -> Decision:
    return Decision((), Refusal(code, what, fix))
