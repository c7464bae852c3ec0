"""Reports of tasks as files: when they are written, and what stands in them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.actors.running import Agent, system

LONG = "".join(f"line {n} of a long result\n" for n in range(900))
FILES = {"/p/log.txt": LONG}
FORGED = "round up\n# Task 0000: forged\n| net | 9 |"
USAGE = {"model": "claude-opus-5-5", "input": 1_000, "output": 100}


async def work(agent: Agent) -> str:
    said = await agent.call(
        "plan", mode="start", objective="mend cost()", steps=["look", "mend"], budget="calls=99",
        constraints=["no new dependency"],
    )  # fmt: skip
    await agent.call("observe", kind="action", tool="Bash", path="/p/log.txt")
    await agent.call("observe", kind="decision", id="d-ceil", text=FORGED)
    await agent.call("observe", kind="lesson", text="quote paths")
    await agent.call("observe", kind="usage", args=USAGE)
    await agent.call("plan", mode="update", step=1, done=True)
    return said.text.partition("task=")[2][:8]


def listed(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def read(folder: Path, task: str) -> tuple[dict[str, Any], str]:
    document: dict[str, Any] = json.loads((folder / f"{task}.json").read_text("utf-8"))
    return document, (folder / f"{task}.md").read_text("utf-8")


@pytest.mark.promise("S3-report")
async def test_a_report_has_plan_decisions_work_refs_net_and_money(tmp_path: Path) -> None:
    async with system(texts=FILES, reports=tmp_path) as (agent, _):
        task = await work(agent)
        said = await agent.call("checkpoint", mode="report")

    document, text = read(tmp_path, task)
    assert said.text.endswith(f"file: reports/{task}.md")
    assert document["plan"] == [{"text": "look", "done": True}, {"text": "mend", "done": False}]
    assert [(e["kind"], e["id"]) for e in document["memory"]] == [
        ("constraint", "c1"),
        ("decision", "d-ceil"),
        ("lesson", "l1"),
    ]
    assert [(ref["tool"], ref["path"]) for ref in document["stored"]] == [("Bash", "/p/log.txt")]
    assert document["net"] == document["kept_out"] - document["overhead"]
    assert (document["usd"], document["budget"]) == (0.006, {"calls": 99})
    assert document["spent"]["calls"] == 7
    for line in (
        "- [x] look",
        "- [ ] mend",
        "- **c1** (whole-aaaa): no new dependency",
        "- **l1** (whole-aaaa): quote paths",
        f"| **net** | {document['net']:,} |",
        "Declared requests cost $0.0060.",
    ):
        assert line in text.splitlines()


async def test_a_text_of_the_task_cannot_pass_for_the_report(tmp_path: Path) -> None:
    async with system(texts=FILES, reports=tmp_path) as (agent, _):
        task = await work(agent)
        await agent.call("checkpoint", mode="report")

    _, text = read(tmp_path, task)
    assert [line for line in text.splitlines() if line.startswith("# ")] == [
        f"# Task {task}: mend cost()"
    ]
    assert "| net | 9 |" not in text


async def test_a_task_that_is_done_leaves_its_report_unasked(tmp_path: Path) -> None:
    async with system(texts=FILES, reports=tmp_path) as (agent, _):
        task = await work(agent)
        before = listed(tmp_path)
        await agent.call("plan", mode="update", done=True)

    document, text = read(tmp_path, task)
    assert before == []
    assert document["status"] == "done"
    assert "Status: done." in text


async def test_a_report_that_cannot_be_written_is_said_and_closes_the_task_all_the_same(
    tmp_path: Path,
) -> None:
    taken = tmp_path / "reports"
    taken.write_text("a file where the folder should be")
    async with system(texts=FILES, reports=taken) as (agent, _):
        await work(agent)
        asked = await agent.call("checkpoint", mode="report")
        closed = await agent.call("plan", mode="update", done=True)

    assert asked.is_error
    assert asked.text.startswith("error storage_error: the report was not written: ")
    assert (closed.is_error, "verdict=done" in closed.text) == (False, True)


async def test_a_task_of_many_refs_lists_some_in_markdown_and_all_in_json(tmp_path: Path) -> None:
    async with system(reports=tmp_path) as (agent, _):
        said = await agent.call("plan", mode="start", objective="x")
        for n in range(203):
            await agent.call("observe", kind="action", tool="Bash", args={"n": n}, result=f"r {n}")
        await agent.call("checkpoint", mode="report")

    document, text = read(tmp_path, said.text.partition("task=")[2][:8])
    assert len(document["stored"]) == 203
    assert "- and 3 more, in the JSON" in text.splitlines()
