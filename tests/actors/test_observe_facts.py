"""Heads, contracts, files and usage over a running system, and the compass's answer."""

import json

import pytest

from osiris.core import index, tokens
from osiris.service import Answer
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import CALLER, Agent, system

HEAD = "You are an agent.\nNow: 2026-11-30 12:04:11\n" + "Be brief.\n" * 400
ROWS = [{"name": f"tool_{n}", "description": f"does thing {n}"} for n in range(30)]
READER = {"name": "read_file", "description": "read a file from the disk"}
TOOLS = json.dumps({"tools": [*ROWS, READER]})
FILE = "".join(f"line {n}\n" for n in range(400))
MODEL = "claude-opus-5-5"


def value(answer: Answer, name: str) -> str:
    return answer.text.partition(f"{name}=")[2].split()[0]


@pytest.mark.promise("S3-volatile")
async def test_the_head_recorded_before_is_compared_with_across_a_restart() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        first = await agent.call("observe", kind="head", result=HEAD)
    async with system(backend.reopen()) as (agent, _):
        again = Agent(agent.gateway, CALLER, calls=50)
        second = await again.call("observe", kind="head", result=HEAD.replace("12:04", "12:05"))

    assert value(first, "verdict") == "none"
    assert value(second, "verdict") == "critical_drift"
    assert 'datetime seen "12:05:11"' in second.text


async def test_seals_from_before_a_new_head_or_contract_are_ancestors() -> None:
    async with system() as (agent, _):
        started = await agent.call("plan", mode="start", objective="x")
        headed = await agent.call("observe", kind="head", result=HEAD)
        await agent.call("observe", kind="contract", result=TOOLS)
        seals = [value(started, "SEAL").removeprefix("sha256:"), value(headed, "seal")]

        answers = [await agent.call("observe", kind="fact", text="y", seal=s) for s in seals]

    assert [value(answer, "stale") for answer in answers] == ["2", "1"]


@pytest.mark.promise("S4-compass")
async def test_a_contract_of_one_task_is_the_catalogue_of_the_next_in_its_project() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        await agent.call("observe", kind="contract", result=TOOLS)
        await agent.call("plan", mode="start", objective="y")

        answer = await agent.call("plan", mode="status", query="read a file")

    assert answer.text.splitlines()[0] == "match=clear tools=1 of=31"
    assert "read_file" in answer.text
    assert "from the disk" not in answer.text


async def test_a_newer_contract_replaces_the_catalogue() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        await agent.call("observe", kind="contract", result=TOOLS)
        await agent.call("plan", mode="status", query="read a file")
        await agent.call("observe", kind="contract", result=json.dumps([READER]))

        answer = await agent.call("plan", mode="status", query="read a file")

    assert value(answer, "of") == "1"


async def test_a_contract_that_lists_no_tools_is_recorded_without_a_catalogue() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        recorded = await agent.call("observe", kind="contract", result="be kind to files")

        answer = await agent.call("plan", mode="status", query="read a file")

    assert "tools=" not in recorded.text
    assert value(answer, "match") == "none"


async def test_a_large_contract_is_stored_before_its_unit_and_read_back() -> None:
    rows = [{"name": f"tool_{n}", "description": "x" * 500} for n in range(5_000)]
    listing = json.dumps([*rows, READER])
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        recorded = await agent.call("observe", kind="contract", result=listing)
        head = await agent.call("recall", op="head", n=1, ref=value(recorded, "ref"))

        answer = await agent.call("plan", mode="status", query="read a file")

    assert value(recorded, "tools") == "5001"
    assert "tool_0" in head.text
    assert "read_file" in answer.text


@pytest.mark.promise("S5-files")
async def test_a_file_sent_again_is_unchanged_or_differs_by_what_a_diff_shows() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        first = await agent.call("observe", kind="file", path="a.txt", text=FILE)
        same = await agent.call("observe", kind="file", path="a.txt", text=FILE)
        changed = FILE.replace("line 7\n", "line seven\n")
        other = await agent.call("observe", kind="file", path="a.txt", text=changed)
        found = await agent.call(
            "recall", op="diff", ref=value(other, "ref"), q=value(other, "since")
        )
        status = await agent.call("plan", mode="status")

    ref = value(first, "ref")
    assert same.text.startswith(f"ok unchanged=yes since={ref}")
    assert (value(other, "since"), value(other, "hunks")) == (ref, "1")
    assert "+line seven" in found.text
    assert "files=1 refs=2" in status.text


async def test_a_task_learns_from_what_the_requests_of_others_found() -> None:
    body = {"model": MODEL, "input": 0, "cache_read": 90_000, "gap_s": 5}
    async with system() as (agent, _):
        for task in "abcde":
            await agent.call("plan", mode="start", objective=task)
            for _ in range(6):
                await agent.call("observe", kind="usage", text=json.dumps(body))
        counted = await agent.gateway.system.store.counters("cache/")
        status = await agent.call("plan", mode="status")

    assert counted == {f"cache/anthropic/300/{MODEL}/0/alive": 25}
    assert "cache idle=0s p_dead=0.00 measured of 25 requests" in status.text


async def test_a_declared_state_stands_in_the_index_of_the_project() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        await agent.call("observe", kind="state", text="tests_passed", ok=True)

        raw = await agent.gateway.system.store.get_index("state/proj/tests_passed")

    assert raw is not None
    assert index.state_entry(raw).ok


@pytest.mark.promise("S3-compaction")
async def test_a_staged_plan_is_kept_for_a_hook_and_resume_names_the_same_refs() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        for n in range(3):
            await agent.call(
                "observe", kind="action", tool="bash", args={"n": n}, result=f"{n}" + FILE
            )
        prepared = await agent.call("checkpoint", mode="compact", id="cut")
        task = value(prepared, "task")
    async with system(backend.reopen()) as (agent, _):
        again = Agent(agent.gateway, CALLER, calls=50)
        resumed = await again.call("plan", mode="resume", task=task)
        raw = await agent.gateway.system.store.get_index(f"staged/{task}")
        refs = [line.split()[1] for line in prepared.text.splitlines() if line[:6] == "staged"]
        texts = [(await again.call("recall", op="head", n=1, ref=ref)).text for ref in refs]

    assert raw is not None
    assert len(index.staged_entry(raw).refs) == len(refs) == 3
    assert all(ref in resumed.text for ref in refs)
    assert all("line 0" in text for text in texts)


async def test_no_answer_about_a_prompt_is_longer_than_its_budget() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        calls = [
            await agent.call("observe", kind="head", result=HEAD),
            await agent.call("observe", kind="contract", result=TOOLS),
            await agent.call("observe", kind="head", result=HEAD.replace("12:04", "12:05")),
            await agent.call("observe", kind="contract", result=TOOLS.replace("thing", "work")),
        ]

    assert max(tokens.estimate(answer.text).n for answer in calls) <= 90


@pytest.mark.promise("S5-files")
async def test_a_file_read_again_by_path_is_unchanged_or_shows_what_changed() -> None:
    texts = {"a.txt": FILE}
    async with system(texts=texts) as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        first = await agent.call("observe", kind="file", path="a.txt")
        same = await agent.call("observe", kind="file", path="a.txt")
        texts["a.txt"] = FILE.replace("line 7\n", "line seven\n")
        other = await agent.call("observe", kind="file", path="a.txt")

    ref = value(first, "ref")
    assert same.text.startswith(f"ok unchanged=yes since={ref}")
    assert value(other, "since") == ref
    assert "+line seven" in other.text


@pytest.mark.parametrize("kind", ["head", "contract"])
async def test_a_head_or_contract_by_path_is_the_same_as_by_argument(kind: str) -> None:
    async with system(texts={"tools.json": TOOLS}) as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        await agent.call("observe", kind=kind, path="tools.json")
        again = await agent.call("observe", kind=kind, result=TOOLS)

    assert again.text == "ok verdict=none known=yes"
