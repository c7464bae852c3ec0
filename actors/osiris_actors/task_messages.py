"""What a task actor is told, and what it answers."""

from msgspec import Struct

from osiris.core.commands import Command
from osiris.core.decision import Checked, Payload
from osiris.core.handoff import LEASE_S
from osiris.core.index import CallEntry, Due
from osiris.core.task_state import TaskState
from osiris.service import Answer, Caller
from osiris_actors.rulebook import Held
from osiris_actors.store.contract import Blob, Key


class Ask(Struct, frozen=True):
    """A command with all that ingest and routing know of it."""

    command: Command
    caller: Caller
    agent: str
    key: Key
    arguments: int
    said: str = ""
    payload: Payload | None = None
    blob: Blob | None = None
    call: str = ""
    seen: CallEntry | None = None
    ceilings: dict[str, int] = {}
    contract: str = ""
    acting: str = ""
    checks: tuple[Checked, ...] = ()
    lease_s: int = LEASE_S
    rules: Held | None = None


class Flush(Struct, frozen=True):
    """Commit the pending costs of this stream."""


class Look(Struct, frozen=True):
    """Return the state as of the head, with the costs that are pending, committing nothing."""


class Expire(Struct, frozen=True):
    """End a lease, if its child still stands at `child_version`."""

    contract: str
    child_version: int


class Rearm(Struct, frozen=True):
    """Note that a restart renewed a lease."""

    due: Due
    child_version: int


class Approve(Struct, frozen=True):
    """Note that a person allows what a rule forbids."""

    rule: str
    until_ms: int
    who: str


Message = Ask | Flush | Look | Expire | Rearm | Approve
Result = Answer | TaskState | bool | None
