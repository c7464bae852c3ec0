"""One client, from its first byte to its last.

Rule 1: the first line may be a hello; it is not answered. Its settings count only for the owner's
        own user; over TCP it must carry the token.
Rule 2: without a hello the line is MCP already, the owner's settings hold and the nonce is new.
Rule 3: whatever happens to one connection ends that connection alone.
Rule 4: when the owner stops, calls under way get its grace. What is not done by then is not
        answered: a bridge says it again to the next owner, which knows it by its key.
"""

import logging
import math
import traceback
from collections.abc import Callable

import msgspec
import trio

from osiris import config
from osiris.core.errors import Refusal
from osiris.groups import leaves
from osiris.server.app import build_server
from osiris.server.line_id import recover_id
from osiris.server.lines import INVALID_REQUEST, LineError
from osiris.server.session import Seat, Session
from osiris.server.splitter import CutLine
from osiris.server.tools import Flavour
from osiris.server.transport import LineTransport, Offload
from osiris.server.turnstile import Ticket
from osiris.service import Service, Traffic

HELLO_S = 10.0  # for a client that has to prove itself first
HELLO_BYTES = 64 * 1024
GRACE_S = 5.0  # for calls under way when the owner stops

_log = logging.getLogger(__name__)


class Peer(msgspec.Struct, frozen=True):
    """Who is at the other end, as the operating system says."""

    principal: str
    is_own_user: bool


class Host(msgspec.Struct, frozen=True):
    """What the connections of one listener share.

    `accepts` judges the token of a first line; None where the socket itself keeps strangers out.
    `meets` is told the version in each hello of the owner's own user. `grace_s` is what calls get
    when the owner stops. Open requests are counted in `traffic`.
    """

    service: Service
    settings: config.Settings
    new_nonce: Callable[[], str]
    stopping: trio.Event
    accepts: Callable[[str | None], bool] | None = None
    offload: Offload | None = None
    meets: Callable[[str], None] | None = None
    grace_s: float = GRACE_S
    traffic: Traffic | None = None


class _NotWelcomeError(Exception):
    """The first line does not let the client in; `reply` tells it so."""

    def __init__(self, line: bytes | CutLine | None, what: str, fix: str) -> None:
        super().__init__(what)
        head = line.head if isinstance(line, CutLine) else line or b""
        text = Refusal("bad_hello", what, fix).text()
        self.reply = LineError(INVALID_REQUEST, recover_id(head), text)


class Connection:
    """Serves MCP on one stream, which it closes. A `hello` given here is not read from it."""

    def __init__(
        self, stream: trio.abc.Stream, host: Host, peer: Peer, hello: config.Hello | None = None
    ) -> None:
        self._stream = stream
        self._host = host
        self._peer = peer
        self._hello = hello
        self._transport = LineTransport(
            stream,
            self._seat,
            offload=host.offload,
            clean=host.service.clean,
            traffic=host.traffic,
        )
        self._session: Session | None = None

    async def run(self) -> None:
        """Return when the client has left or was asked to. Raises nothing but cancellation."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._stop_with_host, nursery.cancel_scope)
                nursery.start_soon(self._hurry_when_cancelled)
                await self._serve()
                nursery.cancel_scope.cancel()
        except* Exception as group:  # noqa: BLE001  a transport's top: the others live on
            _log_failure(group)
        finally:
            self._transport.requests.leave()
            await trio.aclose_forcefully(self._stream)

    def stop(self, drain_s: float) -> None:
        """Read no more; let calls under way finish for `drain_s`."""
        self._transport.stop(drain_s)

    async def _serve(self) -> None:
        try:
            hello = self._hello or await self._meet()
        except _NotWelcomeError as error:
            await self._transport.reader.refuse(error.reply)
            return
        if hello and self._host.meets and self._peer.is_own_user:
            self._host.meets(hello.version)
        if self._host.stopping.is_set():
            return
        terms = self._terms(hello)
        self._session = Session(self._host.service, terms, self._peer.principal)
        server = build_server(_flavour(terms))
        options = server.create_initialization_options()
        await server.run(self._transport.reader, self._transport.writer, options)

    async def _meet(self) -> config.Hello | None:
        """Read the first line; a line that is no hello goes back to be served."""
        reader = self._transport.reader
        with trio.move_on_after(HELLO_S if self._host.accepts else math.inf):
            line = await reader.next_line()
            hello = _hello(line)
            if self._host.accepts and not self._host.accepts(hello.token if hello else None):
                raise _NotWelcomeError(line, "the first line carries no valid token", _PROOF)
            if hello is None and line is not None:
                reader.unread(line)
            return hello
        raise _NotWelcomeError(None, f"no hello came within {HELLO_S:.0f} s", _PROOF)

    def _terms(self, hello: config.Hello | None) -> config.Connection:
        terms = config.connection(self._host.settings, hello, is_trusted=self._peer.is_own_user)
        for problem in terms.problems:
            _log.warning("%s", problem.text())
        return (
            terms if terms.nonce else msgspec.structs.replace(terms, nonce=self._host.new_nonce())
        )

    def _seat(self, ticket: Ticket | None) -> Seat:
        assert self._session is not None
        return Seat(self._session, ticket)

    async def _stop_with_host(self, scope: trio.CancelScope) -> None:
        await self._host.stopping.wait()
        self.stop(math.inf)
        await trio.sleep(self._host.grace_s)
        await trio.aclose_forcefully(self._stream)
        scope.cancel()

    async def _hurry_when_cancelled(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self._transport.hurry()


_PROOF = "read run/token of the home and send it in the hello"


def _hello(line: bytes | CutLine | None) -> config.Hello | None:
    """Return the hello that `line` is, None if it is something else."""
    if line is None or isinstance(line, CutLine) or len(line) > HELLO_BYTES:
        return None
    hello = config.parse_hello(line)
    if isinstance(hello, config.Problem):
        raise _NotWelcomeError(line, hello.what, hello.fix)
    return hello


def _flavour(terms: config.Connection) -> Flavour:
    return "dispatch" if terms.dispatch_only else terms.tool_names


def _log_failure(group: BaseExceptionGroup[Exception]) -> None:
    """Log where it happened; messages are left out because they may quote what was sent."""
    for error in leaves(group):
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
        _log.error("a connection failed: %s at %s", type(error).__name__, place)
