"""A home in trouble, with real owners: damaged, taken away, copied, put back."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from bench import owners
from bench.client import BridgeClient
from osiris.home import OwnerRecord
from tests.actors.small_disk import fill, small_disk
from tests.e2e.test_cli import Shell

WAIT_S = 30.0
TEXT = b"".join(b"%d: a line of a log that says nothing\n" % n for n in range(2_000))
SHORT = b"a short text that lies in the store as it is: 0c7e11\n"
posix = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be removed there")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    owners.stop(Path(shell.home.root))


def crash(shell: Shell) -> OwnerRecord:
    """End the owner as a crash would, and return who it was."""
    record = owners.living(Path(shell.home.root))
    assert record is not None
    owners.kill(record)
    owners.until(lambda: None if shell.home.is_owned() else True, WAIT_S, "the owner lives on")
    return record


def flip(shell: Shell, text: bytes) -> None:
    data = Path(shell.home.store_dir) / "data.mdb"
    raw = data.read_bytes()
    assert text in raw
    data.write_bytes(raw.replace(text, bytes([text[0] ^ 1]) + text[1:]))


def test_a_damaged_home_takes_no_writes_says_why_and_is_put_back(
    shell: Shell, tmp_path: Path
) -> None:
    kept = shell.json("put", piped=TEXT)["ref"]
    shell.json("put", piped=SHORT)
    assert shell.run("backup", "copy").returncode == 0
    crash(shell)
    flip(shell, SHORT)

    refused = shell.run("put", piped=b"one more text")
    health = shell.run("health")
    read = shell.run("get", kept)

    assert (refused.returncode, refused.stdout) == (1, b"one more text")
    assert b"error store_damaged: the store is damaged: " in refused.stderr
    assert b"fix: stop OSIRIS and run `osiris restore PATH`" in refused.stderr
    assert health.returncode == 1
    assert b"error store_damaged" in health.stderr
    assert read.stdout == TEXT

    in_use = shell.run("restore", "copy")
    assert (in_use.returncode, b"owns this home" in in_use.stderr) == (1, True)
    assert shell.run("restore", "copy", "--force").returncode == 0
    assert shell.run("put", piped=b"one more text").returncode == 0
    assert shell.run("get", kept).stdout == TEXT
    assert shell.json("audit")["ok"] is True
    assert len(list(tmp_path.glob("home/store.before-*/data.mdb"))) == 1


@posix
def test_an_owner_whose_files_are_taken_away_makes_room_for_one_that_finds_them(
    shell: Shell, tmp_path: Path
) -> None:
    with closing(BridgeClient(Path(shell.home.root), tmp_path)) as client:
        client.must_begin()
        task = client.must("plan", {"mode": "start", "objective": "outlive"}).pairs["task"]
        first = owners.living(Path(shell.home.root))
        (Path(shell.home.store_dir) / "lock.mdb").unlink()

        client.must("observe", {"kind": "fact", "text": "said to the next owner"})

        second = owners.next_owner(Path(shell.home.root), first, WAIT_S)
        assert first is not None
        assert second.pid != first.pid
        events = shell.json("events", task)["events"]
        texts = [row["text"] for row in events if row.get("text")]
        assert texts == ["said to the next owner"]


@posix
def test_a_data_file_taken_away_is_never_begun_afresh(shell: Shell) -> None:
    shell.json("put", piped=TEXT)
    (Path(shell.home.store_dir) / "data.mdb").unlink()

    ended = shell.run("put", piped=b"text")
    refused = shell.run("put", piped=b"text")

    assert (ended.returncode, refused.returncode) == (4, 1)
    assert b"store_damaged" in refused.stderr
    assert not (Path(shell.home.store_dir) / "data.mdb").exists()


def test_a_home_copied_while_live_is_another_home_and_says_so(shell: Shell, tmp_path: Path) -> None:
    ref = shell.json("put", piped=TEXT)["ref"]
    shutil.copytree(
        shell.home.root, tmp_path / "copied" / "home", ignore=shutil.ignore_patterns("*.sock")
    )
    copy = Shell(tmp_path / "copied")
    try:
        copy.json("put", piped=SHORT)

        health = copy.json("health")
        assert health["store_id"] == shell.json("health")["store_id"]
        assert health["copied_from"] == shell.home.store_dir
        assert shell.json("health")["copied_from"] == ""
        assert copy.run("get", ref).stdout == TEXT
        assert (copy.json("savings")["calls"], shell.json("savings")["calls"]) == (2, 1)
    finally:
        owners.stop(Path(copy.home.root))


@contextmanager
def read_only(folder: Path) -> Generator[None]:
    """Mount `folder` onto itself for reading only."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux may mount")
    bind = ("mount", "--bind", str(folder), str(folder))
    if subprocess.run(bind, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_read_only_home_is_read_and_whoever_would_write_is_told(
    shell: Shell, tmp_path: Path
) -> None:
    shell.json("put", piped=TEXT)
    owners.stop(Path(shell.home.root))
    with read_only(Path(shell.home.root)):
        verified = shell.json("verify", "--deep")
        exported = shell.run("export", "bundle")
        audit = shell.json("audit")
        health = shell.run("health")
        refused = shell.run("put", piped=TEXT)
        served = shell.run("serve")

    assert (verified["ok"], verified["blobs"], audit["ok"]) == (True, 1, True)
    assert exported.returncode == 0
    assert (health.returncode, b"Read-only file system" in health.stderr) == (1, True)
    assert (refused.returncode, refused.stdout) == (4, TEXT)
    assert b"Read-only file system" in refused.stderr
    assert served.returncode == 4
    assert b"Traceback" not in served.stderr


def test_a_full_disk_is_said_checkpoints_go_through_and_work_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", "24m") as disk:
        home = disk / "home"
        with ExitStack() as stack:
            stack.callback(owners.stop, home)
            client = stack.enter_context(closing(BridgeClient(home, tmp_path)))
            client.must_begin()
            client.must("plan", {"mode": "start", "objective": "fill the disk"})
            filler = fill(disk)

            told = client.call(
                "observe", {"kind": "action", "tool": "bash", "result": "x" * 90_000}
            )
            saved = client.call("checkpoint", {"mode": "snapshot", "id": "before"})
            read = client.call("plan", {"mode": "status"})

            assert told.code == "storage_full"
            assert not saved.is_error
            assert not read.is_error
            filler.unlink()
            client.must("observe", {"kind": "fact", "text": "there is room again"})


def test_an_owner_that_is_stopped_is_named_and_work_goes_on_when_it_wakes(
    shell: Shell, tmp_path: Path
) -> None:
    shell.json("put", piped=TEXT)
    record = owners.living(Path(shell.home.root))
    assert record is not None
    os.kill(record.pid, signal.SIGSTOP)
    try:
        refused = shell.run("backup", "copy")
    finally:
        os.kill(record.pid, signal.SIGCONT)

    assert refused.returncode == 4
    assert f"process {record.pid}".encode() in refused.stderr
    assert shell.run("backup", "copy2").returncode == 0
