"""What a load costs: the newest snapshot and what follows it, never the history."""

import pytest

from osiris_actors.store.contract import SNAPSHOT_EVENTS, Append, Unit
from osiris_actors.store.reads import View
from osiris_actors.store.records import Table
from osiris_actors.writer import Writer
from tests.actors.store_cases import Case


async def _grow(store: Writer, events: int) -> None:
    """Write as an actor does: one event at a time, a snapshot when the head says so."""
    for number in range(events):
        head = await store.head("task/a")
        due = head.events_since_snapshot + 1 >= SNAPSHOT_EVENTS
        snapshot = b"state %d" % (number + 1) if due else None
        await store.commit(Unit((Append("task/a", number, (b"event %d" % number,), snapshot),)))


async def test_loading_reads_no_more_whatever_the_history(
    store: Writer, reading: list[tuple[str, int]]
) -> None:
    await _grow(store, 1_000)
    reading.clear()

    read = await store.read("task/a")

    assert read.snapshot == (960, b"state 960")
    assert [version for version, _ in read.events] == list(range(961, 1_001))
    assert read.head.version == 1_000
    assert read.head.events_since_snapshot == len(read.events) < SNAPSHOT_EVENTS
    assert read.head.bytes_since_snapshot == sum(len(event) for _, event in read.events)
    tables = [table for table, _ in reading]
    assert (tables.count("heads"), tables.count("snaps"), tables.count("events")) == (1, 1, 40)
    assert sum(size for _, size in reading) < 40 * 70 + 300


async def test_catching_up_reads_the_newer_events_and_one_to_chain_them_to(
    store: Writer, reading: list[tuple[str, int]]
) -> None:
    await _grow(store, 1_000)
    reading.clear()

    read = await store.read("task/a", after=998)

    assert (read.snapshot, read.events) == (None, ((999, b"event 998"), (1_000, b"event 999")))
    assert [table for table, _ in reading] == ["heads", "events", "events", "events"]


@pytest.fixture
def reading(case: Case, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """List table and bytes of every record that is read from now on."""
    seen: list[tuple[str, int]] = []
    with case.backend.view() as view:
        view_class = type(view)
    get = view_class.get

    def counted(view: View, table: Table, key: bytes) -> bytes | None:
        found = get(view, table, key)
        seen.append((table, len(found or b"")))
        return found

    monkeypatch.setattr(view_class, "get", counted)
    return seen


async def test_the_whole_history_comes_in_pages_with_its_chain_checked(store: Writer) -> None:
    await _grow(store, 200)

    pages = [await store.history("task/a", after, 64) for after in (0, 64, 128, 192, 200)]

    assert [len(page) for page in pages] == [64, 64, 64, 8, 0]
    assert pages[3][-1] == (200, b"event 199")
