"""The bridge as clients meet it: a real process, a real socket, owners that die."""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from osiris.core.errors import CODES
from osiris.home import Home
from osiris.lock import OwnerLock

FAKE_OWNER = Path(__file__).with_name("fake_owner.py")
RUN = "import sys; from osiris.bridge import main; sys.exit(main(sys.argv[1:]))"
DEADLINE_S = 20.0
MIB = 1 << 20

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in owner dies by signals")


class Client:
    """A client of one bridge process."""

    def __init__(self, home: Path, *serve: str, **environ: str) -> None:
        kept = {key: text for key, text in os.environ.items() if not key.startswith("OSIRIS_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, *(serve or (sys.executable, str(FAKE_OWNER)))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=kept | {"OSIRIS_HOME": str(home)} | environ,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, ident: object = None, **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if ident is not None:
            message["id"] = ident
        self.send_raw(json.dumps(message).encode() + b"\n")

    def next_line(self) -> bytes:
        return self._lines.get(timeout=DEADLINE_S)

    def next(self) -> Any:
        return json.loads(self.next_line())

    def ask(self, method: str, ident: object, **params: Any) -> Any:
        """Send a request and return the next line's result or error."""
        self.send(method, ident, **params)
        reply = self.next()
        assert reply["id"] == ident
        return reply.get("result", reply.get("error"))

    def heard(self) -> list[Any]:
        """Return (pid, message) of all lines that the owners of this home have read."""
        found = self.ask("heard", "heard")
        return [(item["pid"], json.loads(item["line"])) for item in found]

    def end(self) -> int:
        """Close the input, and return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE_S)

    def stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def close(self) -> None:
        self.process.kill()
        self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue


Start = Callable[..., Client]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    clients: list[Client] = []
    pipes: list[int] = []

    def begin(*serve: str, at: Path = home, **environ: str) -> Client:
        if not at.exists():
            at.mkdir()
            os.mkfifo(at / "alive")
            pipes.append(os.open(at / "alive", os.O_RDWR))
        clients.append(Client(at, *serve, **environ))
        return clients[-1]

    yield begin
    for client in clients:
        client.close()
    for pipe in pipes:
        os.close(pipe)


def kill_owner(home: Path, pid: int) -> None:
    """Kill an owner and wait until the kernel has taken its lock away."""
    os.kill(pid, signal.SIGKILL)
    lock = OwnerLock(Home(str(home)).lock_path)
    deadline = time.monotonic() + DEADLINE_S
    while not lock.acquire():
        assert time.monotonic() < deadline
    lock.release()


def hellos(heard: list[Any]) -> list[Any]:
    return [message["hello"] for _, message in heard if "osiris" in message]


def methods(heard: list[Any], pid: int) -> list[str]:
    return [message["method"] for by, message in heard if by == pid and "method" in message]


# forwarding


def test_lines_go_through_as_they_are_in_both_directions(start: Start) -> None:
    client = start()
    odd = '{ "result" : {"é": "\\u00e9\u2028"}, "id":  1 }\r'
    question = json.dumps({"params": {"text": odd}, "id": 1, "method": "raw"}, indent=None)
    spaced = f"  {question} \r\n".encode()

    client.send_raw(spaced)

    assert client.next_line() == odd.encode() + b"\n"
    assert client.ask("heard", 2)[1]["line"].encode() == spaced


def test_the_hello_says_who_calls_from_where_with_the_settings_as_given(start: Start) -> None:
    client = start(OSIRIS_ROOTS="~/a;@project", OSIRIS_DISPATCH_ONLY="1", OSIRIS_LOG_LEVEL="debug")

    (hello,) = hellos(client.heard())

    assert len(bytes.fromhex(hello.pop("nonce"))) == 16
    assert hello == {
        "version": "0.1.0",
        "pid": client.process.pid,
        "cwd": str(Path.cwd()),
        "settings": {"OSIRIS_ROOTS": "~/a;@project", "OSIRIS_DISPATCH_ONLY": "1"},
    }


def test_replies_keep_their_order_of_arrival_not_of_asking(start: Start) -> None:
    client = start()

    client.send("hold", 1)
    client.send("whoami", 2)
    client.send("release", 3)

    assert [client.next()["id"] for _ in range(3)] == [2, 1, 3]


def test_a_client_that_reads_late_stops_nobody(start: Start) -> None:
    client = start()
    line = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "echo", "params": {"a": "x" * 8000}})
    writer = threading.Thread(
        target=lambda: [client.send_raw(f"{line}\n".encode()) for _ in range(500)]
    )

    writer.start()
    sizes = {len(client.next_line()) for _ in range(500)}
    writer.join(DEADLINE_S)

    assert len(sizes) == 1


def test_a_line_over_8_mib_is_refused_by_its_id_and_the_next_call_works(start: Start) -> None:
    client = start()
    client.ask("whoami", 1)
    filler = b"x" * (9 * MIB)

    client.send_raw(b'{"jsonrpc":"2.0","id":"first","method":"echo","params":"' + filler + b'"}\n')
    client.send_raw(b'{"method":"echo","params":{"a":"' + filler + b'"},"jsonrpc":"2.0","id":7}\n')
    client.send_raw(filler + b"\n")
    refusals = [client.next() for _ in range(3)]

    assert [refusal["id"] for refusal in refusals] == ["first", 7, None]
    assert {refusal["error"]["code"] for refusal in refusals} == {-32600}
    assert all(r["error"]["message"].startswith("error line_too_long: ") for r in refusals)
    assert client.ask("echo", 8, a=1) == {"a": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_bounded_while_a_hundred_mebibytes_are_dropped(start: Start) -> None:
    client = start()
    client.ask("whoami", 1)

    for _ in range(100):
        client.send_raw(b"y" * MIB)
    client.send_raw(b"\n")
    client.next()

    status = Path(f"/proc/{client.process.pid}/status").read_text()
    peak_kib = int(status.split("VmHWM:")[1].split()[0])
    assert peak_kib < 48 * 1024


# owners that die


def test_a_request_in_flight_is_said_again_once_to_the_next_owner(start: Start) -> None:
    client = start()
    first = client.ask("whoami", 1)["pid"]

    second = client.ask("die_once", 2)["pid"]

    heard = client.heard()
    assert second != first
    assert methods(heard, second)[:1] == ["die_once"]
    assert len({hello["nonce"] for hello in hellos(heard)}) == 1


def test_the_session_is_said_again_and_its_answers_are_swallowed(start: Start) -> None:
    client = start()
    client.ask("initialize", 0)
    client.send("notifications/initialized")
    client.ask("resources/subscribe", 1, uri="osiris://kept")
    client.ask("resources/subscribe", 2, uri="osiris://left")
    client.ask("resources/unsubscribe", 3, uri="osiris://left")

    pid = client.ask("die_once", 4)["pid"]

    heard = client.heard()
    said = ["initialize", "notifications/initialized", "resources/subscribe", "die_once", "heard"]
    assert methods(heard, pid) == said
    assert [m["params"] for by, m in heard if by == pid and m.get("id") == 1] == [
        {"uri": "osiris://kept"}
    ]


def test_a_session_without_initialize_has_nothing_but_its_requests_said_again(
    start: Start,
) -> None:
    client = start()
    client.ask("server/discover", 1)
    client.ask("tools/list", 2)

    pid = client.ask("die_once", 3)["pid"]

    assert methods(client.heard(), pid) == ["die_once", "heard"]


def test_an_initialize_in_flight_is_said_again_and_answered(start: Start) -> None:
    client = start()

    second = client.ask("initialize", 1, die_once=True)["pid"]

    assert methods(client.heard(), second) == ["initialize", "heard"]


def test_requests_in_flight_at_two_deaths_are_answered_owner_died(start: Start) -> None:
    client = start()
    client.send("hold", "other")
    client.send("die", 1)

    refused = {reply["id"]: reply["error"] for reply in (client.next(), client.next())}

    assert set(refused) == {"other", 1}
    for error in refused.values():
        assert error["code"] == -32000
        assert error["message"].startswith("error owner_died: ")
        assert " | fix: " in error["message"]


def test_after_owner_died_the_next_call_works(start: Start) -> None:
    client = start()
    client.ask("die", 1)

    assert client.ask("echo", 2, a=1) == {"a": 1}


def test_a_cancelled_request_is_not_said_again(start: Start) -> None:
    client = start()
    client.send("hold", 1)
    client.send("notifications/cancelled", requestId=1)

    pid = client.ask("die_once", 2)["pid"]

    assert methods(client.heard(), pid) == ["die_once", "heard"]


def test_a_subscription_stream_outlives_more_than_one_death(start: Start) -> None:
    client = start()
    client.send("subscriptions/listen", "s")
    owners = [client.ask("whoami", 1)["pid"]]

    for ident in (2, 3):
        os.kill(owners[-1], signal.SIGKILL)
        owners.append(client.ask("whoami", ident)["pid"])

    heard = client.heard()
    assert [methods(heard, pid)[0] for pid in owners] == ["subscriptions/listen"] * 3


def test_owners_that_die_without_a_word_are_not_tried_for_ever(start: Start, home: Path) -> None:
    script = (
        "import os, sys; sys.argv[0] = 'x'; sys.path.insert(0, os.path.dirname(sys.argv[1]))\n"
        "import fake_owner; fake_owner.Client.serve = lambda self: os._exit(1); fake_owner.main()"
    )
    client = start(sys.executable, "-c", script, str(FAKE_OWNER))

    messages = [client.ask("echo", ident)["message"] for ident in (1, 2)]
    assert client.end() == 0

    assert all(message.startswith("error owner_died: ") for message in messages)
    assert len((home / "owners").read_text().split()) <= 8


def test_a_second_initialize_begins_a_new_session_with_a_new_nonce(start: Start) -> None:
    client = start()
    client.ask("initialize", 1)
    client.ask("initialize", 1)

    heard = client.heard()

    assert len({hello["nonce"] for hello in hellos(heard)}) == 2
    assert [m.get("method") for _, m in heard] == [None, "initialize", None, "initialize", "heard"]


def test_what_the_old_session_still_waits_for_is_answered_before_the_new_one(
    start: Start,
) -> None:
    client = start()
    client.ask("initialize", 1)
    client.send("hold", 2)
    client.send("initialize", 1)

    late, fresh = client.next(), client.next()

    assert late["id"] == 2
    assert late["error"]["message"].startswith("error timeout: ")
    assert fresh == {"jsonrpc": "2.0", "id": 1, "result": {}}


# no owner


def test_a_failed_start_answers_every_request_with_the_owners_last_word(start: Start) -> None:
    client = start(sys.executable, "-c", "import sys; sys.exit('the store is damaged')")

    for ident, method in enumerate(("initialize", "server/discover", "tools/call")):
        error = client.ask(method, ident)

        assert error["code"] == -32000
        assert error["message"].startswith("error no_owner: ")
        assert "the store is damaged" in error["message"]
        assert " | fix: " in error["message"]
    assert client.end() == 0


def test_a_home_that_is_a_file_is_said_in_the_answer(start: Start, tmp_path: Path) -> None:
    at = tmp_path / "file"
    at.write_text("")

    message = start(at=at).ask("initialize", 1)["message"]

    assert message.startswith("error no_owner: ")
    assert "OSIRIS_HOME" in message


def test_the_codes_that_the_bridge_answers_are_in_the_table() -> None:
    assert {"owner_died", "no_owner", "line_too_long", "payload_too_large", "timeout"} <= set(CODES)


# starting


def test_eight_bridges_at_once_share_one_owner(start: Start, home: Path) -> None:
    clients = [start() for _ in range(8)]

    for client in clients:
        client.send("whoami", 1)
    pids = {client.next()["result"]["pid"] for client in clients}

    assert len(pids) == 1
    assert (home / "owners").read_text().split() == [str(pid) for pid in pids]


def test_an_owner_outlives_the_bridge_that_started_it(start: Start) -> None:
    first, second = start(), start()
    pid = first.ask("whoami", 1)["pid"]

    assert first.end() == 0

    assert second.ask("whoami", 1)["pid"] == pid


def test_what_a_killed_owner_leaves_behind_stops_nobody(start: Start, home: Path) -> None:
    client = start()
    owner = client.ask("whoami", 1)["pid"]
    client.end()
    kill_owner(home, owner)
    left = sorted(path.name for path in (home / "run").iterdir())

    assert start().ask("echo", 1, a=1) == {"a": 1}
    assert left == ["osiris.sock", "owner.json", "owner.lock"]


def test_a_home_with_a_long_path_works(start: Start, tmp_path: Path) -> None:
    at = tmp_path / ("long" * 30)

    first, second = start(at=at), start(at=at, XDG_RUNTIME_DIR=str(tmp_path))

    assert first.ask("whoami", 1) == second.ask("whoami", 1)


def test_tcp_carries_the_token_in_the_hello(start: Start, home: Path) -> None:
    client = start(OSIRIS_TRANSPORT="tcp")
    (hello,) = hellos(client.heard())
    record = Home(str(home)).record()

    assert record is not None
    assert record.endpoints["mcp"].startswith("tcp:127.0.0.1:")
    assert hello["token"] == (home / "run" / "token").read_text()


def test_tcp_survives_a_death_with_a_new_port_and_token(start: Start) -> None:
    client = start(OSIRIS_TRANSPORT="tcp")

    client.ask("die_once", 1)

    tokens = [hello["token"] for hello in hellos(client.heard())]
    assert len(tokens) == len(set(tokens)) == 2


# ending


def test_the_end_of_input_waits_for_answers_that_are_due(start: Start) -> None:
    client = start()
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": 1}})
    client.send_raw(line.encode())  # no line end

    assert client.end() == 0
    assert client.next()["result"] == {"a": 1}
    assert client.stderr() == ""


def test_the_end_of_input_does_not_wait_for_ever(start: Start) -> None:
    client = start()
    client.ask("whoami", 1)
    client.send("hold", 2)

    assert client.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(start: Start, number: signal.Signals) -> None:
    client = start()
    client.ask("whoami", 1)
    client.send("hold", 2)

    client.process.send_signal(number)

    assert client.process.wait(DEADLINE_S) == 0
    assert client.stderr() == ""


def test_a_reader_that_is_gone_ends_it_cleanly(start: Start, home: Path) -> None:
    start().ask("whoami", 1)
    ours, theirs = socket.socketpair()
    bridge = subprocess.Popen(
        [sys.executable, "-c", RUN, "unused"],
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=os.environ | {"OSIRIS_HOME": str(home)},
    )
    theirs.close()
    ours.close()

    with bridge:
        assert bridge.stdin is not None
        bridge.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"whoami"}\n')
        bridge.stdin.flush()

        assert bridge.wait(DEADLINE_S) == 0
        assert bridge.stderr is not None
        assert bridge.stderr.read() == b""


def test_it_dies_with_its_parent_though_its_pipes_stay_open(home: Path) -> None:
    launch = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {RUN!r}, 'nothing'])"
    with subprocess.Popen(
        [sys.executable, "-c", launch],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"OSIRIS_HOME": str(home)},
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        parent.stdin.flush()
        assert b"no_owner" in parent.stdout.readline()
        parent.kill()

        assert parent.stdout.read() == b""  # it ends when the bridge lets go of it
