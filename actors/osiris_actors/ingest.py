"""What happens to a call before it reaches an actor: redacted, parsed, hashed, counted.

Rule 1: every string leaf and key is redacted before it is hashed, stored, logged or echoed.
Rule 2: a payload's ref is the sha256 of its redacted bytes.
Rule 3: payloads up to CHUNK_BYTES ride in the Unit; larger ones are stored before it.
Rule 4: texts above INLINE characters are worked on away from the event loop.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar, cast

import trio
from msgspec import Struct
from msgspec.structs import replace

from osiris.core import canon, commands, stub
from osiris.core.commands import Command, Handoff, Observe, Precheck, Recall
from osiris.core.decision import Payload
from osiris.core.errors import Refusal
from osiris.core.loop_call import Call, see
from osiris.core.modes import MODES
from osiris.core.tokens import Count
from osiris.service import Ask, Caller
from osiris_actors.env import Env
from osiris_actors.files import FileRead
from osiris_actors.store.blobs import pack
from osiris_actors.store.contract import Blob

INLINE = 4_096
READY_S = 10.0
DELIVERED_TOKENS = max(m.stub_above for m in MODES if m.stub_above < 1 << 30)
READ_BY_PATH = ("action", "head", "contract", "file")

T = TypeVar("T")


class Redactor(Protocol):
    """Secrets out of texts; `redact` returns the text and how many were replaced."""

    def redact(self, text: str) -> tuple[str, int]: ...

    def redact_tree(self, value: Any) -> tuple[Any, int]: ...


class Files(Protocol):
    async def read(self, path: str, roots: tuple[str, ...]) -> FileRead | Refusal: ...


class Raw(Struct, frozen=True):
    """A text as it came: from which tool, by which door, in answer to which call."""

    text: str
    tool: str
    door: str
    path: str = ""
    call: Call | None = None
    mtime_ns: int = 0


class Ingested(Struct, frozen=True):
    """A call in its final form; `content` is the hash of what was asked, `arguments` in tokens.

    `said` are arguments that are counted after the answer; `arguments` counts the others.
    """

    command: Command
    content: str
    arguments: int
    said: str = ""
    payload: Payload | None = None
    blob: Blob | None = None


class Refused(Struct, frozen=True):
    """A call that never became a command, and what its arguments cost."""

    refusal: Refusal
    arguments: int


class Ingest:
    """One for all connections; it holds no state of theirs."""

    def __init__(
        self, env: Env, redactor: Redactor, files: Files, count: Callable[[str], Count]
    ) -> None:
        self.ready = trio.Event()
        self.redactor = redactor
        self.count = count
        self._env = env
        self._files = files

    async def take(self, caller: Caller, ask: Ask) -> Ingested | Refused:
        """Return the command of `ask` with its payload."""
        if not self.ready.is_set():
            await self.wait_ready()
        size = _size(ask.arguments)
        taken = await self._away(size, partial(self._parse, ask.tool, ask.arguments))
        if isinstance(taken, Refused):
            return taken
        command = taken.command
        if not isinstance(command, Observe) or command.path is None:
            return taken
        brings = command.text is not None or command.result is not None
        if taken.payload is not None or (command.kind in ("head", "contract") and brings):
            fix = "send only one of result, path and ref"
            return self._refused("bad_argument", "observe: result and path together", fix, taken)
        if command.kind not in READ_BY_PATH or (command.kind == "file" and brings):
            return taken
        return await self._with_file(caller, command, command.path, taken)

    async def read(self, caller: Caller, path: str) -> str | Refusal:
        """Return the redacted text of a file under the caller's roots."""
        read = await self._files.read(path, caller.roots)
        if isinstance(read, Refusal):
            return read
        return (await self._away(len(read.text), partial(self.redactor.redact, read.text)))[0]

    async def wait_ready(self) -> None:
        """Return when ruler and redactor are loaded, or after READY_S without them."""
        with trio.move_on_after(READY_S):
            await self.ready.wait()

    async def payload(self, raw: Raw) -> tuple[Payload, Blob]:
        """Redact and prepare a payload."""
        return await self._away(len(raw.text), partial(self._prepare, raw))

    async def _with_file(
        self, caller: Caller, command: Observe, path: str, taken: Ingested
    ) -> Ingested | Refused:
        read = await self._files.read(path, caller.roots)
        if isinstance(read, Refusal):
            return Refused(read, self.counted(taken))
        call = _call(command) if command.kind == "action" else None
        raw = Raw(read.text, command.tool or "read", "path", path, call, read.mtime_ns)
        payload, blob = await self.payload(raw)
        content = canon.hexdigest("content", [taken.content, payload.sha256])
        return Ingested(command, content, taken.arguments, taken.said, payload, blob)

    def _parse(self, tool: str, arguments: Mapping[str, Any]) -> Ingested | Refused:
        clean, text, hits = self._clean(arguments)
        whole = clean if text is None else {**clean, "result": text}
        shown = canon.canonical_json(clean)
        command = commands.parse(tool, whole)
        said = shown.decode()
        if len(shown) > INLINE or not _may_owe(command):
            said, size = "", self.count(said).n
        else:
            size = 0
        if isinstance(command, Refusal):
            return Refused(command, size + self._tokens(text))
        if isinstance(command, Precheck | Recall):  # never stored under a key
            return Ingested(command, "", size, said)
        content = canon.hexdigest("content", [tool, shown, text if isinstance(text, str) else ""])
        match command:
            case Handoff(op="return", result=str(result_text)):
                raw = Raw(result_text, "handoff", "result")
                built = self._built(raw, hits)
                return Ingested(command, content, size + built[0].tokens, said, *built)
            case Observe(kind="action", result=str(result_text)):
                raw = Raw(result_text, command.tool or "", "result", "", _call(command))
                built = self._built(raw, hits)
                return Ingested(command, content, size + built[0].tokens, said, *built)
            case _:
                return Ingested(command, content, size + self._tokens(text), said)

    def _clean(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Any, int]:
        """Return the arguments without `result`, the result, and how many secrets it held.

        Short calls are looked at as a whole first: a scan costs more than its text.
        """
        rest: dict[str, Any] = {k: v for k, v in arguments.items() if k != "result"}
        result = arguments.get("result")
        if not isinstance(result, str):
            return self.redactor.redact_tree(rest)[0], result, 0
        if len(result) <= INLINE and not self.redactor.redact_tree(arguments)[1]:
            return rest, result, 0
        text, hits = self.redactor.redact(result)
        return self.redactor.redact_tree(rest)[0], text, hits

    def _prepare(self, raw: Raw) -> tuple[Payload, Blob]:
        text, hits = self.redactor.redact(raw.text)
        return self._built(replace(raw, text=text), hits)

    def _built(self, raw: Raw, hits: int) -> tuple[Payload, Blob]:
        text = raw.text
        blob = pack(text.encode())
        tokens = self.count(text)
        payload = Payload(
            sha256=blob.sha256,
            size=blob.size,
            characters=len(text),
            tokens=tokens.n,
            method=tokens.method,
            stub=stub.stub(text, raw.tool, sha256=blob.sha256),
            door=raw.door,
            seen=None if raw.call is None else see(replace(raw.call, text=text)),
            redacted=hits,
            path=raw.path,
            text=text if tokens.n <= DELIVERED_TOKENS else "",
            mtime_ns=raw.mtime_ns,
        )
        return payload, blob

    def _tokens(self, text: object) -> int:
        return self.count(text).n if isinstance(text, str) else 0

    async def _away(self, size: int, work: Callable[[], T]) -> T:
        return work() if size <= INLINE else await self._env.run_sync(work)

    def counted(self, taken: Ingested) -> int:
        """Return the tokens of all arguments of a call."""
        return taken.arguments + (self.count(taken.said).n if taken.said else 0)

    def _refused(self, code: str, what: str, fix: str, taken: Ingested) -> Refused:
        return Refused(Refusal(code, what, fix), self.counted(taken))


def _may_owe(command: Command | Refusal) -> bool:
    """Say whether the arguments of a call may be counted after its answer."""
    if isinstance(command, Observe):
        return command.kind == "action"
    return isinstance(command, Precheck)


def _call(command: Observe) -> Call:
    """Return the call whose result a payload is; its text comes with the payload."""
    return Call(
        command.tool or "", command.args or {}, "", command.ok, 0, batch=command.batch or ""
    )


def _size(value: object) -> int:
    """Return about how many characters of text a JSON value holds."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return sum(map(_size, cast("list[object]", value)))
    return 8
