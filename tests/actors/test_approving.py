"""Approvals: which rule, in which task, until when, and who may not."""

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from osiris.config import project_id
from osiris.service import Caller
from osiris_actors.store.memory import MemoryBackend
from tests.actors.ruled import Worker, working

EDIT = {"file_path": "tests/a.py"}
DENIED = "allow=no verdict=block code=invariant rule=no-test-edit "
ALLOWED = "allow=yes verdict=none"


async def approve(worker: Worker, task: str, /, **more: Any) -> dict[str, Any]:
    given = {"rule": "no-test-edit", "task": task, "for_s": 600, "root": str(worker.root), **more}
    return (await worker.desk.ask("approve", given, b""))[0]


async def begin(worker: Worker) -> str:
    """Start a task in the project that the folder is."""
    project = project_id(str(worker.root))
    worker.agent.caller = Caller("a" * 32, "whole", "uid:0", project, root=str(worker.root))
    return await worker.begin()


async def test_an_approval_lifts_one_rule_in_one_task_until_its_time_is_over(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with working(tmp_path) as worker:
        task = await begin(worker)
        before = await worker.precheck("Edit", **EDIT)
        said = await approve(worker, task)
        lifted = await worker.precheck("Edit", **EDIT)
        observed = await worker.observe("Edit", file_path=EDIT["file_path"])
        other_rule = await worker.precheck()
        shown, _ = await worker.desk.ask("show", {"task": task}, b"")
        await worker.begin("y")
        other_task = await worker.precheck("Edit", **EDIT)
        await trio.sleep(600)
        over = (await worker.agent.call("precheck", task=task, tool="Edit", args=EDIT)).text
        gone, _ = await worker.desk.ask("show", {"task": task}, b"")

    assert before.startswith(DENIED)
    assert f"osiris approve no-test-edit --task {task} --for 10m" in before
    assert (said["task"], said["rule"], said["for_s"]) == (task, "no-test-edit", 600)
    assert lifted == ALLOWED
    assert "verdict" not in observed
    assert "rule=tests-before-commit" in other_rule
    assert shown["approvals"] == [{"rule": "no-test-edit", "until_ms": said["until_ms"]}]
    assert other_task.startswith(DENIED)
    assert over.startswith(DENIED)
    assert gone["approvals"] == []


async def test_an_approval_survives_the_owner_and_is_an_event(tmp_path: Path) -> None:
    backend = MemoryBackend("5" * 32)
    async with working(tmp_path, backend=backend) as worker:
        task = await begin(worker)
        await approve(worker, task, who="ana")
        events, _ = await worker.desk.ask("events", {"task": task}, b"")
    async with working(tmp_path, backend=backend.reopen()) as worker:
        worker.agent.calls = 100
        answer = await worker.agent.call("precheck", task=task, tool="Edit", args=EDIT)

    [row] = [row for row in events["events"] if row["kind"] == "RuleApproved"]
    assert (row["rule"], row["who"]) == ("no-test-edit", "ana")
    assert answer.text == ALLOWED


@pytest.mark.parametrize(
    ("more", "code", "fix"),
    [
        ({"rule": "no-test-edits"}, "unknown_rule", "write no-test-edit"),
        ({"rule": "zzz"}, "unknown_rule", "see `osiris invariants check`"),
        ({"rule": "osiris.approve"}, "unknown_rule", "do it yourself"),
        ({"task": "ffff"}, "unknown_task", "look it up with `osiris tasks`, or start one"),
        ({"root": "/elsewhere"}, "bad_argument", "run it in the folder of that project"),
    ],
)
async def test_what_cannot_be_approved_is_refused_and_changes_nothing(
    tmp_path: Path, more: dict[str, str], code: str, fix: str
) -> None:
    async with working(tmp_path) as worker:
        task = await begin(worker)
        said = await approve(worker, task, **more)
        after = await worker.precheck("Edit", **EDIT)

    assert (said["error"], said["fix"]) == (code, fix)
    assert after.startswith(DENIED)


async def test_a_closed_task_gets_no_approval(tmp_path: Path) -> None:
    async with working(tmp_path) as worker:
        task = await begin(worker)
        await worker.agent.call("plan", mode="update", done=True)
        said = await approve(worker, task)

    assert said["error"] == "task_closed"
