"""Owners that take connections and answer nothing."""

import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from osiris import liveness
from osiris.doors import frames
from osiris.home import Home
from osiris.reach import NoOwnerError
from tests.server.homes import DEADLINE_S, made, owning

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Unix sockets")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("OSIRIS_HOME", str(tmp_path / "home"))
    return made(tmp_path)


@contextmanager
def owner(home: Home, *, answers: bool) -> Generator[socket.socket]:
    """Own a home whose doors are open; somebody answers there or nobody does."""
    with owning(home) as endpoints, endpoints.listen("doors") as listener:
        endpoints.publish("0.1.0")
        if answers:
            threading.Thread(target=_answer, args=(listener,), daemon=True).start()
        yield listener
        listener.shutdown(socket.SHUT_RDWR)


def _answer(listener: socket.socket) -> None:
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        with sock:
            length = frames.header_length(sock.recv(frames.LENGTH_BYTES))
            header, _ = frames.parse_header(sock.recv(length))
            sock.sendall(frames.pack({"heard": header["op"]}, 0))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "ANSWER_S", 0.1)
    monkeypatch.setattr(liveness, "PATIENCE_S", 0.05)
    monkeypatch.setattr(liveness, "AGAIN_S", 0.05)


def test_what_waits_for_a_silent_owner_is_told_within_three_seconds() -> None:
    rounds_s = liveness.PATIENCE_S + liveness.PATIENCE_S / 2

    assert rounds_s + liveness.ANSWER_S < 3


def test_an_owner_that_answers_is_not_silent(home: Home) -> None:
    with owner(home, answers=True):
        assert liveness.silence(home) is None


@pytest.mark.usefixtures("hasty")
def test_one_that_answers_nothing_is_named_with_what_to_do(home: Home) -> None:
    with owner(home, answers=False):
        found = liveness.silence(home)
        record = home.record()

    assert found is not None
    assert record is not None
    assert found.what == f"owner pid {record.pid} does not answer"
    assert f"kill -CONT {record.pid}" in found.fix


@pytest.mark.usefixtures("hasty")
def test_so_is_one_whose_queue_of_connections_is_full(home: Home) -> None:
    with owner(home, answers=False) as listener:
        listener.listen(0)
        for _ in range(4):
            liveness.silence(home)

        assert liveness.silence(home) is not None


def test_an_owner_that_takes_no_connection_is_not_called_silent(home: Home) -> None:
    assert liveness.silence(home) is None
    with owning(home) as endpoints:
        endpoints.publish("0.1.0")
        assert liveness.silence(home) is None


@pytest.mark.usefixtures("hasty")
def test_waiting_for_a_silent_owner_ends_with_its_name(home: Home) -> None:
    ours, theirs = socket.socketpair()
    with (
        owner(home, answers=False),
        ours,
        theirs,
        pytest.raises(NoOwnerError, match="does not answer"),
        liveness.watched(home, ours),
    ):
        frames.ask(ours, "health", {})


@pytest.mark.usefixtures("hasty")
def test_waiting_for_an_owner_that_lives_goes_on(home: Home) -> None:
    ours, theirs = socket.socketpair()
    late = threading.Timer(0.5, theirs.sendall, [frames.pack({"a": 1}, 0)])
    with owner(home, answers=True), ours, theirs, liveness.watched(home, ours):
        late.start()
        answer, _ = frames.ask(ours, "health", {})
        late.join(DEADLINE_S)

    assert answer["a"] == 1


def test_a_connection_that_breaks_for_another_reason_is_that_error(home: Home) -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(ConnectionError), liveness.watched(home, ours):
        frames.ask(ours, "health", {})


class Ledger:
    """What an owner owes, and what was told when it was silent."""

    def __init__(self) -> None:
        self.is_owed = True
        self.told: list[NoOwnerError] = []
        self.is_told = threading.Event()

    def tell(self, found: NoOwnerError) -> None:
        self.told.append(found)
        self.is_owed = False
        self.is_told.set()


@contextmanager
def kept(ledger: Ledger) -> Generator[liveness.Vigil]:
    vigil = liveness.Vigil()
    keep = (lambda: ledger.is_owed, ledger.tell)
    threading.Thread(target=vigil.keep, args=keep, daemon=True).start()
    yield vigil
    ledger.is_owed = False


@pytest.mark.usefixtures("hasty")
def test_a_silent_owner_is_told_of_once_a_request(home: Home) -> None:
    ledger = Ledger()
    with owner(home, answers=False), kept(ledger) as vigil:
        vigil.asked()
        assert ledger.is_told.wait(DEADLINE_S)
        ledger.is_told.clear()
        ledger.is_owed = True
        vigil.asked()
        assert ledger.is_told.wait(DEADLINE_S)

    assert len(ledger.told) == 2


@pytest.mark.usefixtures("hasty")
def test_a_request_after_one_that_was_taken_back_is_watched_too(home: Home) -> None:
    ledger = Ledger()
    ledger.is_owed = False
    with owner(home, answers=False), kept(ledger) as vigil:
        vigil.asked()
        assert not ledger.is_told.wait(0.3)
        ledger.is_owed = True
        vigil.asked()
        assert ledger.is_told.wait(DEADLINE_S)


@pytest.mark.usefixtures("hasty")
def test_an_owner_that_takes_long_and_answers_when_asked_is_left_in_peace(home: Home) -> None:
    ledger = Ledger()
    with owner(home, answers=True), kept(ledger) as vigil:
        vigil.asked()
        assert not ledger.is_told.wait(0.5)


@pytest.mark.usefixtures("hasty")
def test_an_owner_that_says_something_meanwhile_is_not_silent(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "AGAIN_S", 60)
    ledger = Ledger()
    with owner(home, answers=False) as listener, kept(ledger) as vigil:
        vigil.asked()
        asking, _ = listener.accept()
        with asking:
            vigil.heard()
            assert not ledger.is_told.wait(0.5)
