"""How clients reach an owner, and start one."""

import json
import socket
import sys
import threading
from pathlib import Path

import pytest

from osiris.home import Home, OwnerRecord
from osiris.reach import SERVE, NoOwnerError, connect, connect_or_start
from tests.server.homes import DEADLINE_S, holder, made, mode, owning

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file modes and Unix sockets")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made(tmp_path)


OWNER = """
import json, os, sys
from osiris.endpoints import Endpoints
from osiris.home import resolve
from osiris.lock import OwnerLock
home = resolve()
lock = OwnerLock(home.lock_path)
if not lock.acquire():
    sys.exit(0)
ends = Endpoints(home, lock)
listener = ends.listen("mcp")
listener.settimeout(30)  # one that was started too late finds no clients
said = {"pid": os.getpid(), "cwd": os.getcwd(), "session": os.getsid(0),
        "env": {k: v for k, v in os.environ.items() if k.startswith("OSIRIS_")}}
print("serving", flush=True)
ends.publish("1")
clients = []
for _ in range(int(sys.argv[1])):
    client, _ = listener.accept()
    client.sendall(json.dumps(said).encode())
    client.close()
"""


def serve(clients: int) -> list[str]:
    """Return the command of an owner that tells each client who it is, then ends."""
    return [sys.executable, "-c", OWNER, str(clients)]


def read_all(sock: socket.socket) -> bytes:
    with sock, sock.makefile("rb") as file:
        sock.settimeout(DEADLINE_S)
        return file.read()


def test_nobody_answers_in_a_home_without_an_owner(home: Home) -> None:
    assert connect(home, "mcp") is None
    assert connect(Home(f"{home.root}/not/there"), "mcp") is None


def test_an_owner_is_started_apart_from_its_client(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSIRIS_HOME", "elsewhere")
    monkeypatch.setenv("OSIRIS_ROOTS", "/")

    said = json.loads(read_all(connect_or_start(home, "mcp", serve=serve(1))))

    assert said == {
        "pid": said["pid"],
        "cwd": home.root,
        "session": said["pid"],
        "env": {"OSIRIS_HOME": home.root},
    }
    assert Path(home.log_path).read_text() == "serving\n"
    assert mode(home.log_path) == 0o600


def test_starters_at_once_share_one_owner(home: Home) -> None:
    said: list[bytes] = []
    gate = threading.Barrier(6)

    def begin() -> None:
        gate.wait(DEADLINE_S)
        said.append(read_all(connect_or_start(home, "mcp", serve=serve(6))))

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)

    assert len(said) == 6
    assert len(set(said)) == 1


def test_an_owner_that_fails_is_reported_at_once_with_its_last_word(home: Home) -> None:
    Path(home.log_path).write_text("an older line\n")
    failing = [
        sys.executable,
        "-c",
        "import sys; print('first', flush=True); sys.exit('disk \\x1b[31mfull')",
    ]

    with pytest.raises(NoOwnerError) as caught:
        connect_or_start(home, "mcp", serve=failing)

    assert caught.value.what == "the owner ended with status 1: disk [31mfull"
    assert "osiris serve" in caught.value.fix


def test_an_owner_that_fails_without_a_word_is_reported_without_an_old_one(home: Home) -> None:
    Path(home.log_path).write_text("an older line\n")

    with pytest.raises(NoOwnerError, match="status 7: no word"):
        connect_or_start(home, "mcp", serve=[sys.executable, "-c", "raise SystemExit(7)"])


def test_a_command_that_is_not_there_is_reported(home: Home) -> None:
    with pytest.raises(NoOwnerError, match="cannot run no-such-program"):
        connect_or_start(home, "mcp", serve=["no-such-program"])


def test_an_owner_that_never_answers_is_named(home: Home) -> None:
    record = OwnerRecord(4711, "", {}, 0, "")
    Path(home.record_path).write_bytes(record.to_json())

    with holder(home.lock_path), pytest.raises(NoOwnerError, match="process 4711 holds the home"):
        connect_or_start(home, "mcp", 0.05, serve=["must-not-be-run"])


def test_one_that_ends_well_without_owning_is_not_started_for_ever(home: Home) -> None:
    polite = [sys.executable, "-c", "print('went away')"]

    with pytest.raises(NoOwnerError, match="in time: went away"):
        connect_or_start(home, "mcp", 1.0, serve=polite)

    assert 1 <= Path(home.log_path).read_text().count("went away") <= 3


def test_a_lost_owner_is_not_believed_until_it_shows_that_it_lives(home: Home) -> None:
    with owning(home) as endpoints, endpoints.listen("mcp"):
        lost = endpoints.publish("1")

        with pytest.raises(NoOwnerError):
            connect_or_start(home, "mcp", 0.1, serve=["must-not-be-run"], lost=lost)
        connect_or_start(home, "mcp", serve=["must-not-be-run"], lost=lost).close()
        older = OwnerRecord(lost.pid, "1", {}, lost.started_ms - 1, "")
        connect_or_start(home, "mcp", 0.1, serve=["must-not-be-run"], lost=older).close()


def test_a_long_log_is_turned_over_before_a_start(home: Home) -> None:
    Path(home.log_path).write_bytes(b"x" * ((1 << 20) + 1))

    read_all(connect_or_start(home, "mcp", serve=serve(1)))

    assert Path(home.log_path).read_text() == "serving\n"
    assert Path(f"{home.log_path}.1").stat().st_size == (1 << 20) + 1


def test_the_command_that_starts_an_owner_ignores_the_users_folder() -> None:
    command = (sys.executable, "-P", "-m", "osiris", "serve")

    assert command == SERVE


KILLED_ONCE = """
import os, signal, sys
from pathlib import Path
mark = Path(sys.argv[2])
if not mark.exists():
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_owner_killed_while_it_starts_is_started_again(home: Home, tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED_ONCE + OWNER, "1", str(mark)]

    said = json.loads(read_all(connect_or_start(home, "mcp", serve=command)))

    assert mark.exists()
    assert said["pid"] > 0
