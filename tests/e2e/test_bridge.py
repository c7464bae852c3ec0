"""The bridge as clients meet it: a real process, a real socket, a stand-in for the owner."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from osiris.core.errors import CODES
from osiris.home import Home
from tests.e2e.bridge_client import DEADLINE_S, MIB, RUN, Start, hellos, kill_owner, starting

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners die by signals")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    with starting(home) as begin:
        yield begin


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
    writer = threading.Thread(target=client.send_raw, args=(f"{line}\n".encode() * 500,))

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
    reading, writing = os.pipe()
    bridge = subprocess.Popen(
        [sys.executable, "-c", RUN, "unused"],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        env=os.environ | {"OSIRIS_HOME": str(home)},
    )
    os.close(writing)
    os.close(reading)

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
