"""Memory as the store has it: entries of all scopes, and what a task knows of files and results.

Rule 1: scopes are read from the nearest outward; an agent's name and a project's are the caller's.
Rule 2: files and tool results are no entries of their own: they are told from what the task keeps
        for re-reads and for the loop guard, and only when they are asked for.
Rule 3: a tool result is good for TTL_MS, until something in its project is changed.
"""

import time
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import index, memory_index, noting, refs, remembering
from osiris.core.commands import Observe, Recall
from osiris.core.decision import Facts
from osiris.core.errors import Refusal
from osiris.core.loop_window import Seen
from osiris.core.memory import KINDS, Entry
from osiris.core.query_page import MAX_PAGE_TOKENS, PAGE_TOKENS, Limits, Step, take
from osiris.core.remembering import Line, Wanted
from osiris.core.replies import Block, Reply
from osiris.core.task_state import TaskState
from osiris_actors import listings
from osiris_actors.env import Env
from osiris_actors.loopguard import WINDOW_MS, written_since
from osiris_actors.store.contract import Store

TTL_MS = WINDOW_MS
FEW = 1_000  # entries that are looked through in the event loop
PAGE = 20
_HOUR_MS = 3_600_000
_CALL = 12


class Looks(Struct, frozen=True):
    """What a recall of memory reads with: a task's state, the ruler, the clock."""

    state: Callable[[str], Awaitable[TaskState | Refusal]]
    count: Callable[[str], int]
    now_ms: Callable[[], int]


class Memories:
    """Answers osiris_recall of memory."""

    def __init__(self, store: Store, env: Env, looks: Looks) -> None:
        self._store = store
        self._env = env
        self._looks = looks

    async def recall(self, command: Recall, scopes: Sequence[str]) -> Reply:
        """Return one page of what is remembered in `scopes`, the nearest first."""
        asked = remembering.wanted(command.q)
        lines = await self._lines(asked, scopes)
        at = int(command.cursor or 0) if (command.cursor or "0").isdecimal() else 0
        most = command.n or PAGE
        steps = (
            Step(f"{line}\n", 1, (number,))
            for number, line in enumerate(lines[at : at + most], at + 1)
        )
        tokens = PAGE_TOKENS if command.n is None else MAX_PAGE_TOKENS
        taken = take(steps, (at,), Limits(lambda: False, self._looks.count, tokens))
        following = at + taken.results
        more = (("cursor", str(following)),) if following < len(lines) else ()
        shown, of = ("shown", str(taken.results)), ("of", str(len(lines)))
        text = taken.text.removesuffix("\n")
        pairs = (("ok", ""), ("op", "memory"), shown, of, *more)
        return Reply(pairs, block=Block("memory", text) if text else None)

    async def _lines(self, asked: Wanted, scopes: Sequence[str]) -> list[Line]:
        match asked.kind:
            case "file":
                return await self._files(asked, scopes[0])
            case "tool_result":
                return await self._results(asked, scopes[0])
            case _:
                return await self._noted(asked, scopes)

    async def _noted(self, asked: Wanted, scopes: Sequence[str]) -> list[Line]:
        entries = [entry for scope in scopes for entry in await self._entries(scope)]
        if len(entries) <= FEW:
            return _told(entries, asked)
        return await self._env.run_sync(_told, entries, asked)

    async def _entries(self, scope: str) -> list[Entry]:
        found: list[Entry] = []
        for kind in KINDS:
            puts = listings.entries(self._store, f"mem/{scope}/{kind}/")
            entries = [memory_index.memory_entry(put.value) async for put in puts if put.value]
            found.extend(sorted(entries, key=lambda entry: entry.version))
        return found

    async def _files(self, asked: Wanted, stream: str) -> list[Line]:
        puts = listings.entries(self._store, f"file/{stream}/")
        files = [index.file_entry(put.value) async for put in puts if put.value]
        return [
            Line(
                kind="file",
                id=file.sha256[:_CALL],
                scope="task",
                by=file.by,
                day=_day(file.seen_ms),
                text=_file(file),
            )
            for file in sorted(files, key=lambda file: file.seen_ms)
            if asked.words in f"file {file.path} {file.sha256}".casefold()
        ]

    async def _results(self, asked: Wanted, stream: str) -> list[Line]:
        state = await self._looks.state(stream.removeprefix("task/"))
        if isinstance(state, Refusal):
            return []
        latest = {seen.call: seen for seen in state.loop.seen if _is_result(seen)}
        lines = [await self._result(state, stream, seen) for seen in latest.values()]
        return [line for line in lines if asked.words in f"{line}".casefold()]

    async def _result(self, state: TaskState, stream: str, seen: Seen) -> Line:
        raw = await self._store.get_index(f"ref/{stream}/{seen.ref}")
        ref = None if raw is None else index.ref_entry(raw)
        size = "" if ref is None else f" {ref.size:,} bytes, {ref.tokens:,} tokens,"
        return Line(
            kind="tool_result",
            id=seen.call[:_CALL],
            scope="task",
            by=state.holder if ref is None else ref.by,
            day=_day(seen.at_ms),
            text=f"{seen.tool}{size} {refs.short(seen.ref)}, {await self._good(state, seen)}",
        )

    async def _good(self, state: TaskState, seen: Seen) -> str:
        """Return how long a result may still stand for its call."""
        left = seen.at_ms + TTL_MS - self._looks.now_ms()
        if left <= 0:
            return "expired"
        if await written_since(self._store, state.project, seen.at_ms):
            return "stale: something was changed since"
        return f"good for {max(1, left // _HOUR_MS)} h"


def _told(entries: Sequence[Entry], asked: Wanted) -> list[Line]:
    rows = remembering.shown(entries, asked)
    texts = remembering.with_lessons(rows, entries)
    return [_line(entry, note, text) for (entry, note), text in zip(rows, texts, strict=True)]


async def noted(store: Store, stream: str, kind: str, item: str) -> Entry | None:
    """Return what stands under an id of memory in one scope."""
    raw = await store.get_index(memory_index.noted_key(stream, kind, item))
    return None if raw is None else memory_index.memory_entry(raw)


async def note_facts(
    store: Store, stream: str, scopes: Sequence[str], command: Observe, facts: Facts
) -> Facts:
    """Return `facts` with what a note names in the scope `stream` and in nearer ones."""
    item = command.id or ""
    before = await noted(store, stream, command.kind, item)
    if command.text is not None:
        return replace(facts, noted=before)
    found = await _nearest(store, scopes[: scopes.index(stream)], command.kind, item)
    if found is not None and before is not None and before.root != found.root:
        item = noting.other_id(item, facts.task)
        before = await noted(store, stream, command.kind, item)
    return replace(facts, noted=before, promoted=found, promoted_as=item)


async def _nearest(store: Store, scopes: Sequence[str], kind: str, item: str) -> Entry | None:
    kinds = (kind, "failure") if kind == "lesson" else (kind,)
    for scope in scopes:
        for one in kinds:
            found = await noted(store, scope, one, item)
            if found is not None:
                return found
    return None


def _file(file: index.FileEntry) -> str:
    changed = f" changed {_moment(file.mtime_ns // 1_000_000)}," if file.mtime_ns else ""
    size = f"{file.size:,} bytes, {file.tokens:,} tokens,"
    return f"{file.path} {size}{changed} read {_moment(file.seen_ms)}, {refs.short(file.sha256)}"


def _is_result(seen: Seen) -> bool:
    return seen.kind == "read" and seen.outcome == "ok" and bool(seen.ref)


def _line(entry: Entry, note: str, text: str) -> Line:
    scope = entry.stream.partition("/")[0]
    return Line(entry.kind, entry.id, scope, entry.by, _day(entry.at_ms), text, note)


def _day(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at_ms / 1000))


def _moment(at_ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(at_ms / 1000))
