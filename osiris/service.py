"""The port between the surface (MCP, doors, command line) and the runtime behind it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec


class Caller(msgspec.Struct, frozen=True):
    """Who calls, as the connection knows it; nothing of it comes from tool arguments.

    `nonce` belongs to one bridge process or direct connection. `project` is the id of the
    connection's project root, empty when it has none. `roots` are real paths, empty = no files.
    `root` is the real path of the project root, `cwd` where relative paths begin; empty for none.
    The rest are its settings.
    """

    nonce: str
    client: str
    principal: str
    project: str
    roots: tuple[str, ...] = ()
    cache_ttl_s: int = 300
    prune_threshold_tokens: int = 40_000
    root: str = ""
    cwd: str = ""

    @property
    def agent(self) -> str:
        """The default agent name: client plus 4 of the nonce."""
        return f"{self.client or 'agent'}-{self.nonce[:4]}"


class Ask(msgspec.Struct, frozen=True):
    """One tool call as it arrived: `tool` is plan, precheck, observe, recall, checkpoint, handoff.

    `request_id` is the JSON-RPC id with its type ("i:7", "s:abc"): with the nonce it makes the
    command key. `arguments` is JSON that passed the line checks and nothing else.
    """

    tool: str
    arguments: Mapping[str, Any]
    request_id: str


class Traffic:
    """How many requests the owner has read and not answered: who would wait if it paused."""

    __slots__ = ("under_way",)

    def __init__(self) -> None:
        self.under_way = 0

    @contextmanager
    def aside(self) -> Generator[None]:
        """Leave one request out that waits for somebody else, and for no pause of the owner."""
        self.under_way -= 1
        try:
            yield
        finally:
            self.under_way += 1


class Answer(msgspec.Struct, frozen=True):
    """The text the model reads; `is_error` is MCP's isError."""

    text: str
    is_error: bool = False


class Turn(Protocol):
    """One call's place in its connection's order of arrival."""

    async def wait(self) -> None:
        """Return when every earlier call of the connection has reached its mailbox or ended."""
        ...

    def done(self) -> None:
        """Let the next call through. Safe to call twice."""
        ...


class Service(Protocol):
    """What the MCP surface may ask."""

    async def call(self, caller: Caller, ask: Ask, turn: Turn) -> Answer:
        """Answer one tool call. Raises nothing but cancellation."""
        ...

    async def read_resource(self, caller: Caller, uri: str) -> Answer:
        """Answer `osiris://task/{id}/manifest|status` and `osiris://ref/{ref}`."""
        ...

    def clean(self, text: str) -> str:
        """Return a text of the caller's, to be said back to it, without the secrets in it."""
        ...

    def listed(self, caller: Caller, schemas: str, instructions: str) -> None:
        """Charge the listing's tokens once for this connection."""
        ...


class Desk(Protocol):
    """What the command line and the hooks may ask, over doors.sock or in process."""

    async def ask(
        self, op: str, args: Mapping[str, Any], body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        """Answer `op`: a JSON header and raw bytes. A refusal is {"error": code, "what", "fix"}."""
        ...
