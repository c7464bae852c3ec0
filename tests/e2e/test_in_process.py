"""Owner and stdio server in one process, and those who go on when it ends."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.e2e.living import IN_PROCESS, Living, Talk
from tests.e2e.on_terms import bridge_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners are stopped by signals")

LAUNCHED = (
    sys.executable,
    "-c",
    "import subprocess, sys; subprocess.run(sys.argv[1:])",
    *IN_PROCESS,
)

End = Callable[[Talk, subprocess.Popen[bytes]], int]


def at_end_of_input(talk: Talk, process: subprocess.Popen[bytes]) -> int:
    talk.end()
    return process.wait(60)


def killed(_: Talk, process: subprocess.Popen[bytes]) -> int:
    process.kill()
    return process.wait(60)


@pytest.mark.parametrize(
    ("home", "argv", "end", "status", "unclean"),
    [
        ("tcp", IN_PROCESS, at_end_of_input, 0, 0),
        ("auto", IN_PROCESS, killed, -9, 1),
        ("auto", LAUNCHED, killed, -9, 0),
    ],
    indirect=["home"],
    ids=["end of input, over TCP", "killed", "its parent killed"],
)
def test_others_go_on_with_everything_when_the_owners_client_leaves(
    home: Living, argv: tuple[str, ...], end: End, status: int, unclean: int
) -> None:
    talk, process = home.talk(argv)
    first = talk.begin().plan("with the owner")
    owner = home.record()
    other = home.client(IN_PROCESS)
    second = other.plan("beside it")
    assert home.record().is_same(owner)

    assert end(talk, process) == status
    assert talk.rest() == []

    other.call("observe", kind="decision", id="d1", text="go on")
    assert first in other.call("plan", mode="resume", task=first)
    assert not home.record().is_same(owner)
    assert {row["task"] for row in home.real.ask("tasks")["tasks"]} == {first, second}
    kinds = [kind for _, kind in home.real.events(f"task/{second}")]
    assert kinds == ["TaskStarted", "Bound", "DecisionPinned"]
    assert home.real.ask("audit")["unclean_stops"] == unclean


def test_it_stays_for_its_client_though_a_newer_version_comes_and_leaves_when_told_to(
    home: Living,
) -> None:
    talk, process = home.talk(IN_PROCESS, OSIRIS_DISPATCH_ONLY="1")
    talk.begin()

    newer = home.client(bridge_of("99.0")).ask("tools/list")

    assert home.record().pid == process.pid
    assert len(talk.ask("tools/list")["result"]["tools"]) == 1  # as its environment has it
    assert len(newer["result"]["tools"]) == 6
    process.terminate()
    assert talk.rest() == []
    assert process.wait(60) == 0
    assert process.communicate()[1] == b""
