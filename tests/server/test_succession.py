"""Which version owns a home next, and how the others let it."""

import sys
from pathlib import Path

import pytest

from osiris import succession
from osiris.home import Home
from osiris.reach import NoOwnerError, connect_or_start
from tests.server.homes import made


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made(tmp_path)


@pytest.mark.parametrize(
    ("version", "than"),
    [
        ("0.2.0", "0.1.9"),
        ("0.10", "0.9"),
        ("1", "0.99.99"),
        ("0.1.1", "0.1"),
        ("0.2.0rc1", "0.1.0"),
        ("0.0.1", "nonsense"),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, than: str) -> None:
    assert succession.is_newer(version, than)
    assert not succession.is_newer(than, version)
    assert succession.newest(than, version) == version


@pytest.mark.parametrize(
    ("one", "other"), [("0.1", "0.1.0"), ("0.1.0.dev3", "0.1.0"), ("", "nonsense"), ("v9", "")]
)
def test_versions_that_begin_with_the_same_numbers_are_the_same(one: str, other: str) -> None:
    assert not succession.is_newer(one, other)
    assert not succession.is_newer(other, one)


def test_an_heir_is_taken_once(home: Home) -> None:
    assert succession.heir(home) == ""

    succession.name_heir(home, "2.0")

    assert succession.heir(home) == "2.0"
    assert succession.take_heir(home) == "2.0"
    assert succession.take_heir(home) == ""


def test_a_home_that_is_left_to_a_newer_version_is_left_alone_for_a_moment(home: Home) -> None:
    succession.name_heir(home, "0.2.0")

    with pytest.raises(NoOwnerError):
        connect_or_start(home, "mcp", 0.2, serve=["must-not-be-run"], version="0.1.0")


@pytest.mark.parametrize("version", ["0.2.0", "0.3.0"])
def test_who_is_no_older_than_the_heir_starts_an_owner_at_once(home: Home, version: str) -> None:
    succession.name_heir(home, "0.2.0")
    fails = [sys.executable, "-c", "raise SystemExit(7)"]

    with pytest.raises(NoOwnerError, match="status 7"):
        connect_or_start(home, "mcp", serve=fails, version=version)


def test_an_heir_that_does_not_come_is_waited_for_no_longer(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("osiris.reach.HEIR_S", 0.1)
    succession.name_heir(home, "0.2.0")
    fails = [sys.executable, "-c", "raise SystemExit(7)"]

    with pytest.raises(NoOwnerError, match="status 7"):
        connect_or_start(home, "mcp", serve=fails, version="0.1.0")
