"""What a store lists, however long the list is. After each page others have their turn."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import trio

from osiris.core import events as ev
from osiris.core import index
from osiris.core.index import RefEntry
from osiris_actors.store.contract import Put, Store

LISTED = 10_000
PAGE = 100

Row = dict[str, Any]


async def entries(store: Store, folder: str) -> AsyncIterator[Put]:
    """Yield every entry of the index in `folder`, in the order of keys."""
    after = ""
    while page := await store.index(folder, after=after, limit=PAGE):
        for put in page:
            yield put
        if len(page) < PAGE:
            return
        after = page[-1].key
        await trio.lowlevel.checkpoint()


async def tasks(store: Store, project: str) -> tuple[list[Row], int]:
    """Return the LISTED newest tasks of a project (empty: of all), oldest first, and how many are.

    Rows are index entries by their fields.
    """
    prefix = f"tasks/{project}/" if project else "tasks/"
    rows: list[Row] = []
    known = 0
    async for put in entries(store, prefix):
        if put.value:
            known += 1
            rows.append(msgspec.structs.asdict(index.task_entry(put.value)))
        if len(rows) >= 2 * LISTED:
            rows = _newest(rows)
    return _newest(rows), known


async def events(store: Store, stream: str, after: int, limit: int) -> list[Row]:
    """Return up to `limit` events of a stream above version `after`."""
    rows: list[Row] = []
    while left := min(PAGE, limit - len(rows)):
        page = await store.history(stream, after, left)
        if not page:
            break
        rows += [_event_row(version, ev.decode(raw)) for version, raw in page]
        after = page[-1][0]
        await trio.lowlevel.checkpoint()
    return rows


async def ref(store: Store, digits: str) -> RefEntry | None:
    """Return the ref that `digits` begin in any stream."""
    for place, stream in enumerate(await store.streams("")):
        for put in await store.index(f"ref/{stream}/{digits}", limit=1):
            if put.value:
                return index.ref_entry(put.value)
        if place % PAGE == 0:
            await trio.lowlevel.checkpoint()
    return None


async def with_objectives(store: Store, rows: list[Row]) -> None:
    """Give each row the objective of the task that is its name, as `what`; empty for none."""
    for place, row in enumerate(rows):
        raw = await store.get_index(f"task/{row['name']}")
        row["what"] = "" if raw is None else index.task_entry(raw).objective
        if place % PAGE == 0:
            await trio.lowlevel.checkpoint()


def _newest(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["at_ms"])[-LISTED:]


def _event_row(version: int, stamped: ev.Stamped) -> Row:
    kind = type(stamped.event).__name__
    head = {"version": version, "kind": kind, "at_ms": stamped.at_ms, "by": stamped.by}
    return {**head, **_named(stamped.event)}


def _named(value: msgspec.Struct) -> Row:
    """Return a struct as JSON with the names of its fields, inner ones too."""
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    return {
        name: _named(field) if isinstance(field, msgspec.Struct) else msgspec.to_builtins(field)
        for name, field in fields.items()
    }
