"""What a task's actor must know before it decides on a prompt: its head, tools, files and cache.

Rule 1: a text that came as an argument becomes a payload here; what came by path, ingest has read.
Rule 2: comparing and searching large texts is done away from the event loop.
Rule 3: a built catalogue is kept, for the CATALOGUES used last; payloads never change.
"""

import time
from collections import OrderedDict

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import compass, compass_catalogue, context, factor, index, query, stub, volatile
from osiris.core.cache_model import COUNTERS, Calibration, Cell
from osiris.core.commands import Checkpoint, Command, Observe, Plan
from osiris.core.decision import Diff, Facts, Payload
from osiris.core.errors import Refusal
from osiris.core.index import FileEntry
from osiris.core.memory import NOTED
from osiris.core.query_diff import Diff as DiffQuery
from osiris.core.query_page import Limits
from osiris.core.task_state import TaskState
from osiris_actors import memories
from osiris_actors.answers import refusal
from osiris_actors.store.blobs import pack, unpack
from osiris_actors.store.contract import CHUNK_BYTES, Blob, Committed, Duplicate, Store
from osiris_actors.stream import Tools

INLINE = 16_384
CATALOGUES = 4
DIFF_TOKENS = 400
DIFF_S = 0.15
TEXTS = ("head", "contract", "file")
PREPARES = ("compact", "trim", "clear")


class Text(Struct, frozen=True):
    """A payload of this call with its bytes; `blob` rides in the unit, None: it is stored."""

    payload: Payload
    blob: Blob | None
    data: bytes


class Catalogues:
    """Built indexes by the hash of their listing."""

    def __init__(self) -> None:
        self._built: OrderedDict[str, compass.Index] = OrderedDict()

    async def find(
        self, tools: Tools, sha256: str, question: str, boosts: dict[str, float]
    ) -> compass.Found | None:
        """Return the tools that fit `question`; None when the listing is gone."""
        if sha256 not in self._built:
            data = await tools.store.get_blob(sha256)
            if data is None:
                return None
            self._built[sha256] = await tools.env.run_sync(_index, data)
        self._built.move_to_end(sha256)
        if len(self._built) > CATALOGUES:
            self._built.popitem(last=False)
        return compass.find(self._built[sha256], question, boosts=boosts)


CATALOGUE = Catalogues()


async def text_of(
    tools: Tools, command: Command, payload: Payload | None, blob: Blob | None
) -> Text | Refusal | None:
    """Return the text that an observe is about, stored when it is too large for its unit."""
    if not isinstance(command, Observe) or command.kind not in TEXTS:
        return None
    if payload is not None:
        data = unpack(blob) if blob else await tools.store.get_blob(payload.sha256)
        return Text(payload, blob, data or b"")
    said = command.result if command.result is not None else command.text
    if said is None:
        return None
    if len(said) <= INLINE:
        return built(tools, command, said)
    found = await tools.env.run_sync(built, tools, command, said)
    return await _stored_if_large(tools.store, found)


async def facts_of(tools: Tools, state: TaskState, command: Command, facts: Facts) -> Facts:
    """Return `facts` with what the compass, the pressure or a checkpoint needs."""
    match command:
        case Plan(mode="status", query=str(question)):
            return replace(facts, found=await _found(tools, state, question))
        case Plan(mode="status"):
            facts = await _factors(tools.store, state, facts)
            return replace(facts, learned=await _learned(tools.store, state, facts))
        case Observe(kind="usage"):
            return await _factors(tools.store, state, facts)
        case Observe(kind=kind, id=str(item)) if kind in NOTED:
            noted = await memories.noted(tools.store, f"task/{state.task}", kind, item)
            return replace(facts, noted=noted)
        case Checkpoint(mode=mode) if mode in PREPARES:
            return replace(facts, learned=await _learned(tools.store, state, facts))
        case _:
            return facts


async def text_facts(
    tools: Tools, stream: str, state: TaskState, command: Command, text: Text, given: Facts
) -> Facts:
    """Return `given` with what changed in a head, a contract or a file."""
    assert isinstance(command, Observe)
    if command.kind == "file":
        return await _file_facts(tools, stream, command, text, given)
    known = state.head_ref if command.kind == "head" else state.contract_ref
    if known == text.payload.sha256:
        return given
    before = await tools.store.get_blob(known) if known else None
    report = await tools.env.run_sync(_report, tools, text.data, before)
    listed = await tools.env.run_sync(_listed, text.data) if command.kind == "contract" else 0
    return replace(given, volatile=report, tools=listed)


def built(tools: Tools, command: Observe, said: str) -> Text:
    """Return `said`, redacted by ingest, as a payload of the door that arguments come by."""
    data = said.encode()
    blob = pack(data)
    tokens = tools.count(said)
    tool = command.tool or "read"
    payload = Payload(
        sha256=blob.sha256,
        size=blob.size,
        characters=len(said),
        tokens=tokens.n,
        method=tokens.method,
        stub=stub.stub(said, tool, sha256=blob.sha256) if command.kind == "file" else "",
        door="result",
        path=command.path or "",
    )
    return Text(payload, blob, data)


async def _stored_if_large(store: Store, text: Text) -> Text | Refusal:
    if text.blob is None or text.blob.size <= CHUNK_BYTES:
        return text
    outcome = await store.put_blob(text.blob)
    if isinstance(outcome, Committed | Duplicate):
        return replace(text, blob=None)
    return refusal(outcome)


async def _file_facts(
    tools: Tools, stream: str, command: Observe, text: Text, given: Facts
) -> Facts:
    raw = await tools.store.get_index(index.file_key(stream, command.path or ""))
    before = None if raw is None else index.file_entry(raw)
    if before is None or before.sha256 == text.payload.sha256:
        return replace(given, file=before)
    return replace(given, file=before, diff=await _diff(tools, before, text.data))


async def _diff(tools: Tools, before: FileEntry, data: bytes) -> Diff | None:
    old = await tools.store.get_blob(before.sha256)
    return None if old is None else await tools.env.run_sync(_compared, tools, old, data)


def _compared(tools: Tools, old: bytes, new: bytes) -> Diff:
    end = time.perf_counter() + DIFF_S
    limits = Limits(
        lambda: time.perf_counter() > end, lambda text: tools.count(text).n, DIFF_TOKENS
    )
    page = query.answer(DiffQuery(""), new, limits, "", old)
    if isinstance(page, Refusal):
        return Diff(0)
    is_whole = not (page.cursor or page.truncated or page.partial)
    text = page.text.removesuffix("\n") if is_whole else ""
    return Diff(page.total, text, is_more=bool(page.cursor))


def _report(tools: Tools, data: bytes, before: bytes | None) -> volatile.Report:
    old = None if before is None else before.decode()
    return volatile.inspect(data.decode(), old, count=tools.count)


def _listed(data: bytes) -> int:
    """Return how many tools a contract lists, 0 when it is no listing."""
    found = compass_catalogue.parse(data)
    return 0 if isinstance(found, Refusal) else len(found)


def _index(data: bytes) -> compass.Index:
    found = compass_catalogue.parse(data)
    return compass.build(() if isinstance(found, Refusal) else found)


async def _found(tools: Tools, state: TaskState, question: str) -> compass.Found | None:
    raw = await tools.store.get_index(index.catalogue_key(state.project, state.task))
    if raw is None:
        return None
    calls = ((seen.tool, _ok(seen.outcome)) for seen in state.loop.seen)
    boosts = compass.success_boosts(calls)
    return await CATALOGUE.find(tools, index.catalogue_entry(raw).sha256, question, boosts)


def _ok(outcome: str) -> bool | None:
    return {"ok": True, "deterministic": False, "transient": False}.get(outcome)


async def _factors(store: Store, state: TaskState, facts: Facts) -> Facts:
    """Return `facts` with what was observed of the tokens of the task's model."""
    if not state.usage.at_ms:
        return facts
    start = f"{factor.COUNTERS}{context.model_key(state.usage, facts.prices)}/"
    found = await store.counters(start)
    seen = {int(name.removeprefix(start)): amount for name, amount in found.items()}
    return replace(facts, factors=seen)


async def _learned(store: Store, state: TaskState, facts: Facts) -> Calibration:
    """Return the outcomes counted for the model of the task."""
    if not state.usage.at_ms:
        return Calibration()
    start = COUNTERS + context.cells_of(state.usage, facts)
    found = await store.counters(start)
    cells: dict[str, Cell] = {}
    for name, amount in found.items():
        key, _, what = name.removeprefix(COUNTERS).rpartition("/")
        cell = cells.get(key, Cell())
        cells[key] = replace(cell, **{what: amount})
    return Calibration(cells)
