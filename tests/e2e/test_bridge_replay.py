"""What a client notices of owners that die: as little as possible."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.bridge_client import FAKE_OWNER, Start, hellos, methods, starting

DIES_AT_HELLO = """
import os, pathlib, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import fake_owner
starts = pathlib.Path(os.environ["STARTS"])
fake_owner.Client.serve = lambda self: (starts.open("ab", buffering=0).write(b"."), os._exit(1))
fake_owner.main()
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners die by signals")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    with starting(home) as begin:
        yield begin


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


def test_much_in_flight_is_said_again_while_the_answers_come(start: Start) -> None:
    client = start()
    for ident in range(80):
        client.send("hold_once", ident, text="x" * 100_000)
    client.send("die_once", 80)

    assert {client.next()["id"] for _ in range(81)} == set(range(81))


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


def test_a_request_in_flight_is_answered_when_no_second_owner_starts(
    start: Start, home: Path
) -> None:
    once = f'test -e {home}/died && {{ echo "disk full" >&2; exit 3; }}; exec "$0" "$1"'
    client = start("sh", "-c", once, sys.executable, str(FAKE_OWNER))

    error = client.ask("die_once", 1)

    assert error["message"].startswith("error no_owner: the owner ended with status 3: disk full")


def test_owners_that_die_without_a_word_are_not_tried_for_ever(
    start: Start, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "starts")
    with (tmp_path / "starts").open("r+b", buffering=0) as pipe:
        serve = (sys.executable, "-c", DIES_AT_HELLO, str(FAKE_OWNER))
        client = start(*serve, STARTS=str(tmp_path / "starts"))
        messages = [client.ask("echo", ident)["message"] for ident in (1, 2)]
        starts = 0
        while starts < 20 and select.select([pipe], [], [], 1.0)[0]:
            starts += len(pipe.read(1))

    assert all(message.startswith("error owner_died: ") for message in messages)
    assert 4 <= starts <= 8


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
