"""What observes cost, when the owner that owes it is killed."""

import os
import select
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.client import BridgeClient
from tests.e2e.test_cli import Shell

OBSERVES = 5

pytestmark = pytest.mark.skipif(os.name == "nt", reason="owners are killed by signals")


def action(number: int) -> dict[str, Any]:
    args = {"command": f"pytest -x tests/test_{number}.py"}
    result = f"{number} passed in 0.31 s"
    return {"kind": "action", "tool": "Bash", "args": args, "ok": True, "result": result}


def worked(folder: Path, end: int) -> dict[str, Any]:
    """Observe a few things, end the owner by a signal at once, and return what is booked then.

    The client's bridge may have started the next owner by then, or not.
    """
    folder.mkdir()
    shell = Shell(folder)
    with closing(BridgeClient(Path(shell.home.root), folder)) as client:
        client.must_begin()
        client.must("plan", {"mode": "start", "objective": "find out"})
        for number in range(OBSERVES):
            client.must("observe", action(number))
        record = shell.home.record()
        assert record is not None
        ended(record.pid, end)
    try:
        assert shell.json("audit")["ok"]
        return shell.json("savings")
    finally:
        if shell.home.is_owned() and (record := shell.home.record()):
            ended(record.pid, signal.SIGTERM)


def ended(pid: int, end: int) -> None:
    process = os.pidfd_open(pid)
    os.kill(pid, end)
    assert select.select([process], [], [], 30)[0]
    os.close(process)


def test_a_kill_loses_nothing_of_what_observes_cost(tmp_path: Path) -> None:
    calm = worked(tmp_path / "calm", signal.SIGTERM)
    killed = worked(tmp_path / "killed", signal.SIGKILL)

    assert killed["calls"] == calm["calls"] == 1 + OBSERVES
    assert killed["overhead"]["arguments"] == calm["overhead"]["arguments"] > 0
    assert killed["balance"] == 0
