"""What a load costs: the newest snapshot and what follows it, never the history."""

import pytest

from osiris_actors.store.backend import RecordBackend
from osiris_actors.store.checksum import Table
from osiris_actors.store.contract import SNAPSHOT_EVENTS, Append, Committed, Unit
from osiris_actors.store.reads import View
from tests.actors.store_cases import Case


def _grow(backend: RecordBackend, events: int) -> None:
    """Write as an actor does: one event a unit, a snapshot when it is due."""
    for number in range(0, events, 100):
        units = tuple(_unit(version) for version in range(number, min(events, number + 100)))
        outcomes = backend.commit_batch(units)
        assert all(isinstance(outcome, Committed) for outcome in outcomes)


def _unit(version: int) -> Unit:
    return Unit((Append("task/a", version, (b"event %d" % version,), _snapshot(version + 1)),))


def _snapshot(version: int) -> bytes | None:
    return None if version % SNAPSHOT_EVENTS else b"state %d" % version


@pytest.mark.promise("bounded-load")
def test_loading_reads_no_more_whatever_the_history(
    case: Case, reading: list[tuple[str, int]]
) -> None:
    _grow(case.backend, 1_000)
    reading.clear()

    read = case.backend.read("task/a")

    assert read.snapshot == (960, b"state 960")
    assert [version for version, _ in read.events] == list(range(961, 1_001))
    assert read.head.version == 1_000
    assert read.head.events_since_snapshot == len(read.events) < SNAPSHOT_EVENTS
    assert read.head.bytes_since_snapshot == sum(len(event) for _, event in read.events)
    tables = [table for table, _ in reading]
    assert (tables.count("heads"), tables.count("snaps"), tables.count("events")) == (1, 1, 40)
    assert sum(size for _, size in reading) < 40 * 70 + 300


def test_catching_up_reads_the_newer_events_and_one_to_chain_them_to(
    case: Case, reading: list[tuple[str, int]]
) -> None:
    _grow(case.backend, 1_000)
    reading.clear()

    read = case.backend.read("task/a", after=998)

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


def test_the_whole_history_comes_in_pages_with_its_chain_checked(case: Case) -> None:
    _grow(case.backend, 200)

    pages = [case.backend.history("task/a", after, 64) for after in (0, 64, 128, 192, 200)]

    assert [len(page) for page in pages] == [64, 64, 64, 8, 0]
    assert pages[3][-1] == (200, b"event 199")
