"""What every store promises. One conformance suite runs on each adapter.

Rule 1: `commit` answers Committed only when the unit is durable; a unit is all or nothing.
Rule 2: keys, expected versions, fences and ceilings are checked in this order inside the write
        transaction; a unit that fails one of them fails alone, its neighbours do not.
Rule 3: any outcome but Committed and Duplicate stored nothing, except Unknown, which may have.
Rule 4: every record carries a checksum over its place and its bytes, events are hash-chained;
        a read that does not match raises `StoreDamaged` naming the record, never a wrong value.
Rule 5: `read` returns the newest snapshot and the events after it: at most SNAPSHOT_EVENTS
        events however long the stream is, as long as writers put snapshots when told to.
Rule 6: names are 1 to MAX_NAME_BYTES of UTF-8; a stream's is 9 bytes shorter and has no NUL.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from osiris_actors.store.failures import Trouble

SNAPSHOT_EVENTS = 64
SNAPSHOT_BYTES = 32 * 1024
CHUNK_BYTES = 1024 * 1024
KEY_TTL_MS = 24 * 3600 * 1000
MAX_NAME_BYTES = 511

RESTORE = "stop OSIRIS and run `osiris restore PATH`, PATH made by `osiris backup`"


class StoreDamaged(Exception):  # noqa: N818 - named by what happened to the caller
    """A stored record does not match its checksum; `record` names it."""

    code = "store_damaged"
    fix = RESTORE

    def __init__(self, record: str, why: str) -> None:
        super().__init__(f"{record}: {why}")
        self.record = record
        self.why = why


class StoreTooNew(Exception):  # noqa: N818 - named by what happened to the caller
    """A newer OSIRIS wrote this store; `found` is its format number. It was not touched."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"store format {found}, this version knows {known}: update OSIRIS")
        self.found = found
        self.code = "storage_error"
        self.fix = "update OSIRIS; the store was not touched"


class StoreUnavailable(Exception):  # noqa: N818 - named by what happened to the caller
    """The engine cannot open or read now; nothing is said about the data."""

    code = "storage_error"
    fix = "see `osiris health`, then call again"


Event = tuple[int, bytes]  # a stored event with its version


class Append(msgspec.Struct, frozen=True):
    """Encoded events for one stream, valid only on top of version `expected`.

    Without events and snapshot it only holds the stream at `expected`.
    """

    stream: str
    expected: int
    events: tuple[bytes, ...]
    snapshot: bytes | None = None  # the state after the last of `events`


class Delta(msgspec.Struct, frozen=True):
    """A counter change; with a ceiling, the unit fails if the sum would go above it.

    A negative amount never fails: what is over a lowered ceiling can still be given back.
    """

    counter: str
    amount: int
    ceiling: int | None = None


class Guard(msgspec.Struct, frozen=True):
    """The unit holds only while the fence of `contract` is `value`."""

    contract: str
    value: int


class Bump(msgspec.Struct, frozen=True):
    """Raise the fence of `contract` from `value - 1` to `value`."""

    contract: str
    value: int


class Put(msgspec.Struct, frozen=True):
    """An index entry; None removes it."""

    key: str
    value: bytes | None


class Key(msgspec.Struct, frozen=True):
    """Names a command once: `name` is global, `content` is the hash of what was asked."""

    name: str
    content: str
    at_ms: int


class Blob(msgspec.Struct, frozen=True):
    """A payload in chunks of at most CHUNK_BYTES before compression.

    `sha256` is over the joined plain bytes. `chunks` are stored as given, each with its own hash;
    `codec` is "raw" or "zstd" for all of them.
    """

    sha256: str
    size: int
    codec: str
    chunks: tuple[bytes, ...]


class Unit(msgspec.Struct, frozen=True):
    """All that one command changes; with `reserve` it may use the room kept back on a full disk."""

    appends: tuple[Append, ...] = ()
    deltas: tuple[Delta, ...] = ()
    guards: tuple[Guard, ...] = ()
    bumps: tuple[Bump, ...] = ()
    puts: tuple[Put, ...] = ()
    blobs: tuple[Blob, ...] = ()
    key: Key | None = None
    reply: bytes = b""
    reserve: bool = False


Listener = Callable[[Unit], None]


class Committed(msgspec.Struct, frozen=True):
    versions: Mapping[str, int]


class Conflict(msgspec.Struct, frozen=True):
    """`name` is a stream whose head is `actual`, or a counter whose value is `actual`."""

    name: str
    actual: int
    is_counter: bool = False


class Fenced(msgspec.Struct, frozen=True):
    contract: str
    actual: int


class Duplicate(msgspec.Struct, frozen=True, array_like=True):
    """The key is known. Same content: `reply` is the answer. Other content: `key_reused`."""

    content: str
    reply: bytes
    at_ms: int


class Busy(msgspec.Struct, frozen=True):
    retry_ms: int


class Full(msgspec.Struct, frozen=True):
    why: str


class Failed(msgspec.Struct, frozen=True):
    """Nothing was stored: a poison unit, or a store that takes no writes now (see Trouble)."""

    why: str
    code: str = "storage_error"
    fix: str = "see `osiris health`, then call again"


class Unknown(msgspec.Struct, frozen=True):
    """The outcome is not known here: look the key up before answering."""

    why: str


Outcome = Committed | Conflict | Fenced | Duplicate | Busy | Full | Failed | Unknown


class Head(msgspec.Struct, frozen=True, array_like=True):
    """The end of a stream; `since_snapshot` counts events and bytes a load has to replay."""

    version: int = 0
    chain: bytes = b"\0" * 32
    events_since_snapshot: int = 0
    bytes_since_snapshot: int = 0


class Read(msgspec.Struct, frozen=True):
    """`snapshot` is (version, bytes) or None; `events` are (version, bytes) after it."""

    snapshot: tuple[int, bytes] | None
    events: tuple[Event, ...]
    head: Head


class Damage(msgspec.Struct, frozen=True):
    record: str
    why: str


class Verified(msgspec.Struct, frozen=True):
    """What a verification looked at and what was wrong."""

    streams: int
    events: int
    blobs: int
    records: int
    damage: tuple[Damage, ...]


class Selection(msgspec.Struct, frozen=True):
    """Streams by name and payloads by sha256."""

    streams: tuple[str, ...]
    blobs: tuple[str, ...]


class Exported(msgspec.Struct, frozen=True):
    """What an export wrote, and the records it had to leave out."""

    streams: int
    events: int
    blobs: int
    size_bytes: int
    damage: tuple[Damage, ...] = ()


class Store(Protocol):
    """What actors see: a backend behind the writer."""

    store_id: str

    async def commit(self, unit: Unit) -> Outcome: ...

    async def head(self, stream: str) -> Head: ...

    async def read(self, stream: str, after: int = 0) -> Read: ...

    async def history(self, stream: str, after: int, limit: int) -> tuple[Event, ...]: ...

    async def lookup(self, key: str) -> Duplicate | None: ...

    async def counters(self, prefix: str) -> dict[str, int]: ...

    async def fence(self, contract: str) -> int: ...

    async def index(
        self, prefix: str, *, after: str = "", limit: int = 1000
    ) -> tuple[Put, ...]: ...

    async def get_index(self, key: str) -> bytes | None: ...

    async def streams(self, prefix: str) -> tuple[str, ...]: ...

    async def put_blob(self, blob: Blob) -> Outcome: ...

    async def has_blob(self, sha256: str) -> bool: ...

    async def blob_size(self, sha256: str) -> int | None: ...

    async def get_blob(self, sha256: str) -> bytes | None: ...

    async def verify(self, *, deep: bool) -> Verified: ...

    async def backup(self, directory: Path) -> None:
        """Write a copy of all that is committed now into `directory`, which must be empty.

        Raises StoreDamaged, StoreUnavailable and StoreFull.
        """
        ...

    async def export(self, path: Path, selection: Selection | None = None) -> Exported:
        """Write a bundle of the selection, or of everything, as of one moment.

        What is damaged is left out and named. Raises StoreDamaged, StoreUnavailable, StoreFull.
        """
        ...

    def trouble(self) -> "Trouble | None":
        """Return why commits are refused now, None when they are not."""
        ...

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each unit that was committed, until the returned call ends it."""
        ...
