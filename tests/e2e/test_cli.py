"""The command line with a real owner: started by it, beside it, and after it."""

import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from osiris.home import Home
from tests.server.fake_desk import ANSWERS

OSIRIS = [sys.executable, "-P", "-m", "osiris"]
TEXT = "".join(f"{n}: line of a long log that says nothing\n" for n in range(1, 5_001)).encode()
SHORT = b"a short text that lies in the store as it is: 5ae1d0c7\n"
TRANSPORTS = pytest.mark.parametrize("transport", ["unix", "tcp"])


class Shell:
    """Runs `osiris` in a folder of its own, with a home of its own."""

    def __init__(self, folder: Path, transport: str = "auto") -> None:
        self.home = Home(str(folder / "home"))
        self._folder = folder
        kept = {k: v for k, v in os.environ.items() if not k.startswith("OSIRIS_")}
        self._environ = kept | {"OSIRIS_HOME": self.home.root, "OSIRIS_TRANSPORT": transport}

    def run(self, *argv: str, piped: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*OSIRIS, *argv],
            cwd=self._folder,
            env=self._environ,
            input=piped,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def json(self, *argv: str, piped: bytes = b"") -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.run(*argv, "--json", piped=piped).stdout)
        return answer

    @contextmanager
    def owner(self, end: int = signal.SIGTERM) -> Generator[int]:
        """Let a command start an owner and yield its pid; in the end it gets the signal `end`."""
        assert self.run("grep", "x", "mem://000000000000").returncode == 1
        record = self.home.record()
        assert record is not None
        process = os.pidfd_open(record.pid)
        try:
            yield record.pid
        finally:
            os.kill(record.pid, end)
            left, _, _ = select.select([process], [], [], 30)
            os.close(process)
            assert left, "the owner did not leave"


@TRANSPORTS
def test_a_text_goes_in_is_searched_comes_out_and_is_proved(tmp_path: Path, transport: str) -> None:
    shell = Shell(tmp_path, transport)
    with shell.owner() as pid:
        stub = shell.run("put", "--tool", "Bash", piped=TEXT)
        ref = shell.json("put", piped=TEXT)["ref"]
        health = shell.json("health")
        audit = shell.json("audit")

        assert stub.returncode == 0
        assert 0 < len(stub.stdout) < len(TEXT) // 10
        assert shell.run("get", ref).stdout == TEXT
        assert shell.run("grep", "^4999:", ref).stdout.count(b"\n") == 1
        assert (health["ok"], health["owner_running"], health["pid"]) == (True, True, pid)
        assert (audit["ok"], audit["items_externalized"]) == (True, 1)
        assert shell.json("savings")["balance"] == 0


def test_looking_starts_no_owner_and_reading_a_ref_does(tmp_path: Path) -> None:
    shell = Shell(tmp_path)

    assert shell.json("health")["owner_running"] is False
    assert shell.json("tasks") == {"tasks": [], "of": 0}
    assert not shell.home.is_owned()
    with shell.owner() as pid:
        assert shell.json("health")["pid"] == pid


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Return a home whose owner stored two texts and left in order."""
    shell = Shell(tmp_path_factory.mktemp("left"))
    with shell.owner():
        shell.json("put", piped=TEXT)
        shell.json("put", piped=SHORT)
    return shell


def test_what_an_owner_stored_is_proved_after_it_left(left: Shell) -> None:
    audit = left.json("audit")

    assert (audit["ok"], audit["items_verified"], audit["unclean_stops"]) == (True, 2, 0)
    assert left.json("savings")["calls"] == 2
    assert not left.home.is_owned()


def test_an_owner_that_was_killed_is_counted_once_it_is_gone(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    with shell.owner(end=signal.SIGKILL):
        assert shell.json("audit")["unclean_stops"] == 0

    assert shell.json("audit")["unclean_stops"] == 1
    assert not shell.home.is_owned()


@pytest.mark.parametrize("op", ["health", "audit", "savings", "tasks"])
def test_the_fake_desk_answers_in_the_shape_of_the_real_one(left: Shell, op: str) -> None:
    added = {"health": {"owner_running", "problems"}, "savings": {"scope"}}

    assert set(left.json(op)) == set(ANSWERS[op]) | added.get(op, set())


def test_one_flipped_bit_is_exit_1_and_named(left: Shell, tmp_path: Path) -> None:
    shutil.copytree(left.home.root, tmp_path / "home")
    copy = Shell(tmp_path)
    _flip(Path(copy.home.store_dir), SHORT)

    found = copy.run("audit")
    assert found.returncode == 1
    assert hashlib.sha256(SHORT).hexdigest()[:12].encode() in found.stdout


def _flip(folder: Path, text: bytes) -> None:
    """Flip one bit wherever `text` lies in a store."""
    flipped = 0
    for path in (path for path in folder.iterdir() if path.is_file()):
        data = path.read_bytes()
        at = data.find(text)
        while at >= 0:
            with path.open("r+b") as file:
                file.seek(at)
                file.write(bytes([text[0] ^ 1]))
            flipped += 1
            at = data.find(text, at + 1)
    assert flipped
