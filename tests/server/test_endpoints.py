"""What an owner binds and publishes, over Unix sockets and over TCP."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from osiris.endpoints import Endpoints, is_own_user, peer_uid
from osiris.home import Home, HomeError, OwnerRecord, parse_record
from osiris.lock import OwnerLock
from osiris.reach import connect
from tests.server.homes import AS_ROOT, holder, made, mode, owning, umask

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file modes and Unix sockets")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made(tmp_path)


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


# what the owner binds


def test_nothing_is_bound_without_the_lock(home: Home) -> None:
    with pytest.raises(RuntimeError, match="lock"):
        Endpoints(home, OwnerLock(home.lock_path))


def test_a_socket_is_private_whatever_the_umask(home: Home) -> None:
    with umask(0), owning(home) as endpoints, endpoints.listen("doors"):
        assert mode(home.socket_path("doors")) == 0o600
        assert os.umask(0) == 0


def test_a_dead_owners_socket_is_replaced(home: Home) -> None:
    with owning(home) as endpoints:
        endpoints.listen("mcp").close()
    assert connect(home, "mcp") is None

    with owning(home) as endpoints, endpoints.listen("mcp"):
        client = connect(home, "mcp")

        assert client is not None
        client.close()


def test_a_file_in_the_sockets_place_is_not_removed(home: Home) -> None:
    Path(home.socket_path("mcp")).write_text("mine")

    with owning(home) as endpoints, pytest.raises(HomeError, match="no socket"):
        endpoints.listen("mcp")

    assert Path(home.socket_path("mcp")).read_text() == "mine"


def test_the_record_says_where_the_owner_is(home: Home) -> None:
    with owning(home) as endpoints, endpoints.listen("mcp"):
        endpoints.add("http", "tcp:127.0.0.1:8765")
        published = endpoints.publish("1.2.3")

    record = home.record()
    assert record is not None
    assert json.loads(record.to_json()) == json.loads(published.to_json())
    assert record.pid == os.getpid()
    assert record.version == "1.2.3"
    assert record.endpoints == {
        "mcp": f"unix:{home.socket_path('mcp')}",
        "http": "tcp:127.0.0.1:8765",
    }
    assert mode(home.record_path) == 0o600
    assert names(home.run_dir) == ["osiris.sock", "owner.json", "owner.lock"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"pid": 1}',
        b'{"pid":"x","version":"","endpoints":{},"started_ms":0,"boot":""}',
        b'{"pid":1,"version":"","endpoints":[],"started_ms":0,"boot":""}',
    ],
)
def test_a_broken_record_is_none(raw: bytes) -> None:
    assert parse_record(raw) is None


def test_an_owner_forgets_what_the_last_one_published_before_it_binds(home: Home) -> None:
    with owning(home, "tcp") as endpoints, endpoints.listen("mcp"):
        endpoints.publish("1")

    with owning(home):
        assert home.record() is None
        assert home.token() is None


def test_an_owner_that_leaves_takes_its_traces_along(home: Home) -> None:
    with owning(home) as endpoints, endpoints.listen("mcp"), endpoints.listen("doors"):
        endpoints.publish("1")
        endpoints.withdraw()

    assert names(home.run_dir) == ["owner.lock"]


def test_an_owner_that_lost_its_home_touches_nothing_of_the_next(home: Home) -> None:
    with owning(home) as old, old.listen("mcp"):
        old.publish("old")
        Path(home.lock_path).unlink()
        with owning(home) as new, new.listen("mcp"):
            new.publish("new")

            old.withdraw()

            assert Path(home.socket_path("mcp")).exists()
            record = home.record()
            assert record is not None
            assert record.version == "new"


def test_the_user_at_the_other_end_is_known() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()
        assert is_own_user(ours)


@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
def test_another_user_at_the_other_end_is_not_ours() -> None:
    os.seteuid(65534)
    try:
        ours, theirs = socket.socketpair()
    finally:
        os.seteuid(0)

    with ours, theirs:
        assert peer_uid(ours) == 65534
        assert not is_own_user(ours)


# TCP


def test_tcp_is_on_the_loopback_with_a_private_token(home: Home) -> None:
    with owning(home, "tcp") as endpoints, endpoints.listen("mcp") as listener:
        endpoints.publish("1")
        token = home.token()
        client = connect(home, "mcp")

        assert client is not None
        client.close()
        assert listener.getsockname()[0] == "127.0.0.1"
        assert mode(home.token_path) == 0o600
        assert endpoints.accepts(token)
        assert not any(endpoints.accepts(wrong) for wrong in (None, "", "x", f"{token}x", "é"))


def test_each_owner_has_its_own_token(home: Home) -> None:
    tokens: list[str | None] = []
    for _ in range(2):
        with owning(home, "tcp") as endpoints, endpoints.listen("mcp"), endpoints.listen("doors"):
            tokens.append(home.token())

    assert None not in tokens
    assert len(set(tokens)) == 2


def test_an_owner_on_unix_sockets_accepts_no_token(home: Home) -> None:
    with owning(home) as endpoints, endpoints.listen("mcp"):
        assert not endpoints.accepts("")


def test_a_dead_owners_port_is_not_believed(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        where = f"tcp:127.0.0.1:{stranger.getsockname()[1]}"
        record = OwnerRecord(1, "", {"mcp": where}, 0, "")
        Path(home.record_path).write_bytes(record.to_json())

        assert connect(home, "mcp") is None
        with holder(home.lock_path):
            believed = connect(home, "mcp")
            assert believed is not None
            believed.close()
