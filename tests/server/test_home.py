"""A home on a real disk: its folders, its settings for others, its lock."""

import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from osiris import home as homes
from osiris.home import Home, HomeError
from osiris.lock import OwnerLock, is_locked
from tests.server.homes import AS_ROOT, DEADLINE_S, holder, made, mode, owning, umask

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file modes and Unix sockets")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made(tmp_path)


# the folder


def test_the_home_is_named_by_the_environment_and_tilde_is_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    roots = [homes.resolve(env).root for env in ({}, {"OSIRIS_HOME": ""}, {"OSIRIS_HOME": "~/x"})]

    assert roots == [f"{tmp_path}/.osiris", f"{tmp_path}/.osiris", f"{tmp_path}/x"]


def test_a_tilde_that_names_nobody_is_refused() -> None:
    with pytest.raises(HomeError, match="OSIRIS_HOME"):
        Home("~no-such-user-here/x")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_every_folder_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        Home(str(tmp_path / "home")).make()

    found = {path.name: mode(path) for path in (tmp_path / "home").iterdir()}
    assert found == dict.fromkeys(("run", "log", "store", "reports"), 0o700)
    assert mode(tmp_path / "home") == 0o700


def test_making_a_home_twice_keeps_it_and_closes_what_was_open(home: Home) -> None:
    Path(home.store_dir).chmod(0o755)
    Path(home.store_dir, "kept").touch()

    home.make()

    assert mode(home.store_dir) == 0o700
    assert Path(home.store_dir, "kept").exists()


def test_a_home_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "home").touch()

    with pytest.raises(HomeError) as caught:
        Home(str(tmp_path / "home")).make()

    assert str(tmp_path / "home") in caught.value.what
    assert "OSIRIS_HOME" in caught.value.fix


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "run").symlink_to(tmp_path)

    with pytest.raises(HomeError, match="not a folder"):
        Home(str(tmp_path / "home")).make()


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(home: Home) -> None:
    os.chown(home.run_dir, 65534, -1)

    with pytest.raises(HomeError, match="another user"):
        home.make()


def test_two_names_of_one_home_lead_to_one_socket(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    paths = {Home(str(tmp_path / name)).socket_path("mcp") for name in ("real", "link")}

    assert paths == {str(tmp_path / "real" / "run" / "osiris.sock")}


def test_a_socket_path_that_is_too_long_moves_to_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    short = tempfile.TemporaryDirectory(prefix="osiris-")
    request.addfinalizer(short.cleanup)
    monkeypatch.setenv("XDG_RUNTIME_DIR", short.name)
    long = [Home(str(tmp_path / (name * 30))) for name in ("long", "list")]
    for each in long:
        each.make()

    paths = [each.socket_path("mcp") for each in long]
    with owning(long[0]) as endpoints, endpoints.listen("mcp"):
        assert mode(Path(paths[0]).parent) == 0o700

    assert len(set(paths)) == 2
    assert all(len(os.fsencode(path)) <= homes.SOCKET_PATH_MAX for path in paths)
    assert all(Path(path).parents[1] == Path(short.name) for path in paths)


def test_the_hello_carries_only_what_a_client_may_decide() -> None:
    environ = {"OSIRIS_ROOTS": "", "OSIRIS_TOOL_NAMES": "dotted", "OSIRIS_HOME": "x", "PATH": "y"}

    assert homes.connection_settings(environ) == {
        "OSIRIS_ROOTS": "",
        "OSIRIS_TOOL_NAMES": "dotted",
    }


def test_an_owner_inherits_no_setting_of_a_connection(home: Home) -> None:
    environ = {"OSIRIS_ROOTS": "/", "OSIRIS_TRANSPORT": "tcp", "OSIRIS_HOME": "~", "PATH": "y"}

    assert homes.owner_environ(home, environ) == {
        "OSIRIS_HOME": home.root,
        "OSIRIS_TRANSPORT": "tcp",
        "PATH": "y",
    }


# the lock


def test_one_process_holds_the_lock(home: Home) -> None:
    with holder(home.lock_path):
        assert home.is_owned()
        assert not OwnerLock(home.lock_path).acquire()


def test_a_killed_holder_leaves_a_file_and_no_lock(home: Home) -> None:
    with holder(home.lock_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(DEADLINE_S)
        lock = OwnerLock(home.lock_path)

        assert Path(home.lock_path).exists()
        assert not home.is_owned()
        assert lock.acquire()
        lock.release()


def test_asking_whether_it_is_locked_neither_takes_nor_creates_it(home: Home) -> None:
    assert not is_locked(home.lock_path)
    assert not Path(home.lock_path).exists()

    lock = OwnerLock(home.lock_path)
    assert lock.acquire()
    assert is_locked(home.lock_path)
    lock.release()
    assert not is_locked(home.lock_path)


def test_a_released_lock_can_be_taken_again_and_keeps_its_file(home: Home) -> None:
    lock = OwnerLock(home.lock_path)
    assert lock.acquire()

    lock.release()

    assert not lock.held
    assert mode(home.lock_path) == 0o600
    assert lock.acquire()
    lock.release()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_whose_file_was_removed_or_replaced_is_not_intact(
    home: Home, *, replaced: bool
) -> None:
    lock = OwnerLock(home.lock_path)
    assert lock.acquire()
    assert lock.is_intact()

    Path(home.lock_path).unlink()
    if replaced:
        Path(home.lock_path).touch()

    assert lock.held
    assert not lock.is_intact()
    lock.release()
