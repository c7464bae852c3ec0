"""An owner from its lock to its end: races, leftovers, silence, idleness, orders to leave."""

import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from osiris import __version__
from osiris.home import OwnerRecord
from osiris.succession import name_heir
from osiris_actors.ingest import READY_S
from osiris_actors.store import identity, records
from osiris_actors.store.lmdb import LmdbBackend
from tests.actors.store_cases import edit
from tests.e2e.living import (
    IN_PROCESS,
    OSIRIS,
    SERVE,
    Living,
    go_on,
    living,
    stop,
    text,
    word,
)
from tests.e2e.on_terms import owner_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners are stopped by signals")

HEAVY = ("trio", "lmdb", "msgspec", "mcp", "osiris_actors")
RACERS = 4
MIB = 1 << 20


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory, rules: Path) -> Iterator[Living]:
    """Return a home with an owner."""
    with living(tmp_path_factory.mktemp("owned"), rules) as found:
        found.serve()
        yield found


# its beginning


def test_what_a_dead_machine_left_stops_nobody_and_of_many_at_once_one_owns(home: Living) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        _leave(home, f"tcp:127.0.0.1:{stranger.getsockname()[1]}")
        racers = [home.start(SERVE, stdin=subprocess.DEVNULL) for _ in range(RACERS)]

        client = home.client()

        record = home.record()
        [winner] = [process for process in racers if process.pid == record.pid]
        losers = [process for process in racers if process is not winner]
        assert "result" in client.ask("tools/list")
        assert [process.wait(60) for process in losers] == [0] * (RACERS - 1)
        assert winner.poll() is None
        for process in losers:
            assert b" owns this home already\n" in process.communicate()[1]


def _leave(home: Living, endpoint: str) -> None:
    """Leave all that an owner leaves which loses its machine; its pid is somebody else's now."""
    dead = OwnerRecord(1, "0.0.1", dict.fromkeys(("mcp", "doors"), endpoint), 1, "another boot")
    Path(home.home.record_path).write_bytes(dead.to_json())
    Path(home.home.token_path).write_text("0" * 64)
    Path(home.home.lock_path).write_text("1\n")
    name_heir(home.home, "99.0")
    for kind in ("mcp", "doors"):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(home.home.socket_path(kind))


def test_a_second_owner_says_whose_the_home_is_before_it_loads_anything(owned: Living) -> None:
    verbose = (sys.executable, "-X", "importtime", *SERVE[1:])

    second = owned.start(verbose, stdin=subprocess.DEVNULL)

    said = second.communicate(timeout=60)[1].decode()
    imported = {line.rpartition("|")[2].strip() for line in said.splitlines() if "|" in line}
    record = owned.record()
    assert second.returncode == 0
    assert f"process {record.pid}, version {record.version}, owns this home already" in said
    assert "osiris.claim" in imported
    assert not imported & set(HEAVY)


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        (
            'transport = "pigeon"',
            "error bad_setting: transport in config.toml is 'pigeon' | fix: one of auto, unix, tcp",
        ),
        ("transport = ", "error bad_config: config.toml: "),
    ],
)
def test_settings_that_are_wrong_are_one_line_and_status_1(
    home: Living, setting: str, line: str
) -> None:
    home.write_settings(setting)

    failed = home.start(SERVE, stdin=subprocess.DEVNULL)

    said = failed.communicate(timeout=60)[1].decode()
    assert failed.returncode == 1
    assert said.startswith(line)
    assert said.count("\n") == 1


def test_a_store_of_a_newer_version_is_one_line_and_left_as_it_is(home: Living) -> None:
    store = Path(home.home.store_dir)
    LmdbBackend(store).close()
    newer = records.stamped("meta", b"format", records.encode(identity.FORMAT + 1))
    edit(store, "meta", b"format", newer)
    before = (store / "data.mdb").read_bytes()

    failed = home.start(SERVE, stdin=subprocess.DEVNULL)

    said = failed.communicate(timeout=60)[1].decode()
    assert failed.returncode == 1
    assert said.startswith(f"error storage_error: store format {identity.FORMAT + 1}, ")
    assert said.endswith(" | fix: update OSIRIS; the store was not touched\n")
    assert said.count("\n") == 1
    assert (store / "data.mdb").read_bytes() == before


def test_a_client_is_told_why_there_is_no_owner_and_how_to_mend_it(home: Living) -> None:
    home.write_settings('transport = "pigeon"')
    talk, _ = home.talk(IN_PROCESS)

    error = talk.ask("initialize")["error"]

    assert error["message"] == (
        "error no_owner: the owner ended with status 1: bad_setting: transport in config.toml is"
        " 'pigeon' | fix: one of auto, unix, tcp"
    )


# while it lives


def test_a_copy_of_a_home_that_lives_gets_an_owner_of_its_own(
    owned: Living, tmp_path: Path, rules: Path
) -> None:
    first = owned.record()
    subprocess.run(["cp", "-a", owned.home.root, str(tmp_path / "home")], check=True)
    shutil.rmtree(tmp_path / "home" / "rules")

    with living(tmp_path, rules) as copy:
        assert "result" in copy.client().ask("tools/list")
        second = copy.record()
        assert second.pid != first.pid

        assert "result" in owned.client().ask("tools/list")
        assert owned.record().is_same(first)


def test_a_stopped_owner_is_named_instead_of_waited_for_and_goes_on_when_it_may(
    owned: Living,
) -> None:
    one, other = owned.client(), owned.client()
    pid = owned.record().pid
    stop(pid)
    try:
        command = owned.start([*OSIRIS, "health"])
        other.sent_call("plan", objective="x" * MIB)
        messages = [one.ask("tools/list"), other.next(), other.ask("tools/list")]
        said = command.communicate(timeout=60)[1].decode()
    finally:
        go_on(pid)

    named = f"error no_owner: owner pid {pid} does not answer | fix: let process {pid} go on"
    for message in (*(message["error"]["message"] for message in messages), said):
        assert message.startswith(named)
    assert command.returncode == 4
    assert "result" in one.ask("tools/list")
    assert "result" in other.ask("tools/list")
    healthy = owned.run("health")
    assert (healthy.returncode, healthy.stderr) == (0, b"")


# its end


def test_told_to_leave_it_answers_what_is_under_way_and_counts_what_that_cost(
    home: Living,
) -> None:
    owner = home.serve(owner_of(__version__, grace_s=f"{READY_S - 1}"))
    client = home.dial().begin()
    calls = [client.sent_call("plan", mode="start", objective=f"task {n}") for n in range(5)]
    calls += [client.sent_call("plan", mode="status") for _ in range(5)]
    calls += [client.sent_call("handoff", op="wait")]  # longer than the owner would stay
    ping = client.send("ping")
    assert client.next()["id"] == ping  # so all have been read, and wait for the ruler

    owner.send_signal(signal.SIGTERM)

    answers = {answer["id"]: text(answer) for answer in client.rest()}
    assert sorted(answers) == calls
    assert owner.wait(60) == 0
    assert home.real.complaints() == []
    assert home.lives() == (1, 1)
    assert home.offline("audit")["lossless"]
    assert home.offline("savings")["calls"] == len(calls)


def test_an_idle_owner_leaves_with_all_that_was_done(home: Living) -> None:
    home.write_settings("idle_exit_s = 1")
    talk, bridge = home.talk()
    task = talk.begin().plan("be remembered")
    talk.call("observe", kind="decision", id="d1", text="leave soon")

    bridge.terminate()

    home.wait_unowned()
    assert home.lives() == (1, 1)
    assert home.offline("audit")["lossless"]
    assert [row["task"] for row in home.offline("tasks")["tasks"]] == [task]
    assert home.real.complaints() == []


def test_an_idle_owner_stays_while_a_lease_runs(home: Living) -> None:
    home.write_settings("idle_exit_s = 1")
    talk, bridge = home.talk()
    talk.begin().plan("hand over")
    offer = talk.call("handoff", op="offer", to="bob", goal="find it")
    talk.call("handoff", op="accept", contract=word(offer, "contract"), agent="bob")

    bridge.terminate()

    with pytest.raises(AssertionError, match="goes on"):
        home.wait_unowned(2.5)
