"""Whether the files of an open store are still there: what is found, and what a look costs."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from osiris_actors.store import datafile, opened
from osiris_actors.store.opened import OpenedFiles

NAMES = (datafile.DATA, datafile.LOCK)
SETTLES_NS = 3_000_000_000
HOUR_NS = 3_600 * 10**9
settles = pytest.mark.skipif(sys.platform == "win32", reason="no folder settles on Windows")


class Clock:
    """Stands in for the module `time`; it stands still."""

    def __init__(self, now_ns: int) -> None:
        self._now_ns = now_ns

    def time_ns(self) -> int:
        return self._now_ns


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_bytes(name.encode())
    return folder


def set_clock(patch: pytest.MonkeyPatch, store: Path, after_ns: int) -> None:
    """Let it be `after_ns` after the last change of the folder."""
    patch.setattr(opened, "time", Clock(store.stat().st_ctime_ns + after_ns))


@pytest.fixture(params=["fresh", pytest.param("settled", marks=settles)])
def files(
    store: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> OpenedFiles:
    """Return the files of a store that was looked at twice."""
    is_settled = request.param == "settled"
    set_clock(monkeypatch, store, HOUR_NS if is_settled else 0)
    files = OpenedFiles(store)
    assert (files.moved(), files.moved()) == ("", "")
    assert (files._settled is not None) is is_settled
    wait_for_a_tick(store)
    return files


def wait_for_a_tick(store: Path) -> None:
    """Return when a change has another time than the last one in `store`: clocks are coarse."""
    beside, changed_ns = store.parent / "beside", store.stat().st_ctime_ns
    for _ in range(10_000_000):
        beside.touch()
        if beside.stat().st_ctime_ns > changed_ns:
            return
    raise AssertionError("the clock of the file system stands still")


def replace(path: Path) -> None:
    """Put another file with the same bytes where `path` is."""
    copy = path.with_name("copy")
    shutil.copy2(path, copy)
    copy.replace(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_unlinked_is_gone_at_every_look_from_the_next_on(
    files: OpenedFiles, store: Path, name: str
) -> None:
    (store / name).unlink()

    assert [files.moved() for _ in range(2)] == [f"{store / name} is gone"] * 2


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_replaced_is_another_at_the_next_look(
    files: OpenedFiles, store: Path, name: str
) -> None:
    replace(store / name)

    assert files.moved() == f"{store / name} is another file now"


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_moved_away_is_gone_until_it_is_back(
    files: OpenedFiles, store: Path, name: str
) -> None:
    (store / name).rename(store / "away")
    assert files.moved() == f"{store / name} is gone"
    (store / "away").rename(store / name)

    assert files.moved() == ""


def test_a_folder_that_was_moved_away_and_copied_back_is_found(
    files: OpenedFiles, store: Path
) -> None:
    away = store.with_name("away")
    store.rename(away)
    assert files.moved() == f"{store / datafile.DATA} is gone"
    shutil.copytree(away, store)

    assert files.moved() == f"{store / datafile.DATA} is another file now"


def test_setting_back_the_time_of_the_folder_hides_nothing(files: OpenedFiles, store: Path) -> None:
    before = store.stat()
    replace(store / datafile.DATA)
    os.utime(store, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert store.stat().st_mtime_ns == before.st_mtime_ns
    assert files.moved() == f"{store / datafile.DATA} is another file now"


def test_a_backup_by_hard_links_and_a_new_file_beside_move_nothing(
    files: OpenedFiles, store: Path
) -> None:
    for name in NAMES:
        (store.parent / name).hardlink_to(store / name)
    (store / "note").touch()

    assert files.moved() == ""
    assert files.moved() == ""


class Looks:
    """Notes the names of what is looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at: list[str] = []
        self._stat = opened._stat
        monkeypatch.setattr(opened, "_stat", self._look)

    def _look(self, path: str) -> os.stat_result | None:
        self.at.append(Path(path).name)
        return self._stat(path)

    def of(self, files: OpenedFiles) -> list[str]:
        """Return what one look at unmoved files looks at."""
        self.at.clear()
        assert files.moved() == ""
        return self.at.copy()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


@pytest.mark.parametrize("after_ns", [-HOUR_NS, 0, SETTLES_NS])
def test_a_folder_that_changed_lately_is_looked_at_with_its_files(
    store: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch, after_ns: int
) -> None:
    set_clock(monkeypatch, store, after_ns)
    files = OpenedFiles(store)
    looks.of(files)

    assert looks.of(files) == ["store", *NAMES]


@settles
@pytest.mark.parametrize("after_ns", [SETTLES_NS + 1, HOUR_NS])
def test_a_folder_that_settled_is_looked_at_alone_until_it_changes(
    store: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch, after_ns: int
) -> None:
    set_clock(monkeypatch, store, after_ns)
    files = OpenedFiles(store)

    assert looks.of(files) == ["store", *NAMES]
    assert looks.of(files) == ["store"]
    wait_for_a_tick(store)
    (store / "note").touch()
    set_clock(monkeypatch, store, after_ns)
    assert looks.of(files) == ["store", *NAMES]
    assert looks.of(files) == ["store"]
