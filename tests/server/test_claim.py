"""Whose a home is, found out before anything else."""

import os
import socket
import sys
from pathlib import Path

import pytest

from osiris import claim
from osiris.home import Home, HomeError, OwnerRecord
from osiris.reach import connect
from tests.server.homes import holder, made, owning

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file modes and Unix sockets")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made(tmp_path)


def published(home: Home, record: OwnerRecord) -> None:
    Path(home.record_path).write_bytes(record.to_json())


def test_a_home_is_claimed_once(home: Home) -> None:
    first, second = claim.claim(home), claim.claim(home)

    assert first is not None
    assert second is None
    first.release()
    again = claim.claim(home)
    assert again is not None
    again.release()


def test_who_claims_forgets_what_the_last_owner_published(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        host, port = stranger.getsockname()
        published(home, OwnerRecord(1, "0.1.0", {"mcp": f"tcp:{host}:{port}"}, 0, ""))
        Path(home.token_path).write_text("the dead owner's")

        lock = claim.claim(home)

        assert lock is not None
        assert connect(home, "mcp") is None
        assert (home.record(), home.token()) == (None, None)
        lock.release()


def test_who_comes_too_late_changes_nothing_and_hears_who_was_first(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with owning(home) as endpoints, endpoints.listen("mcp"):
        endpoints.publish("0.1.0")
        before = Path(home.record_path).read_bytes()

        status = claim.own(home, lambda _: 99)

        assert (status, Path(home.record_path).read_bytes()) == (0, before)
    said = f"osiris: {home.root}: process {os.getpid()}, version 0.1.0, owns this home already\n"
    assert capsys.readouterr().err == said


def test_an_owner_that_has_published_nothing_yet_is_still_starting(home: Home) -> None:
    with holder(home.lock_path):
        assert claim.claim(home) is None
        assert "another process, still starting, owns" in claim.said_of_owner(home)


def test_the_home_is_held_while_it_is_lived_in_and_free_afterwards(home: Home) -> None:
    assert claim.own(home, lambda _: 7 if home.is_owned() else 0) == 7
    assert not home.is_owned()


def test_a_home_that_cannot_be_had_is_one_line_and_status_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    assert claim.own(Home(str(tmp_path / "file")), lambda _: 0) == claim.NO_HOME
    assert capsys.readouterr().err.startswith("error no_owner: ")


def test_a_lock_that_is_no_file_is_said_with_a_fix(home: Home) -> None:
    Path(home.lock_path).symlink_to("nowhere")

    with pytest.raises(HomeError, match=r"owner\.lock: .* \| fix: "):
        claim.claim(home)


def test_what_a_copy_of_a_home_says_of_its_owner_is_not_believed(
    home: Home, tmp_path: Path
) -> None:
    with owning(home) as endpoints, endpoints.listen("mcp"):
        endpoints.publish("0.1.0")
        copy = made(tmp_path / "elsewhere")
        Path(copy.record_path).write_bytes(Path(home.record_path).read_bytes())

        assert copy.record() is None
        assert connect(copy, "mcp") is None


def test_an_owner_that_does_not_name_its_home_is_believed(home: Home) -> None:
    said = '{"pid": 5, "version": "0.1.0", "endpoints": {}, "started_ms": 0, "boot": ""}'
    Path(home.record_path).write_text(said)

    record = home.record()

    assert record is not None
    assert record.pid == 5
