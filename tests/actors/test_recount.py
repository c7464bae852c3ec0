"""Savings of a living system row by row, and counters checked against events and put right."""

from typing import Any, get_args

import pytest

from osiris.core import events as ev
from osiris.core.ledger import PROOFS
from osiris.core.savings import By
from osiris_actors import recount
from osiris_actors.store.contract import Delta, Unit
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import CALLER, Agent, system

LONG = "".join(f"line {n} of a long result\n" for n in range(900))
FILES = {"/p/log.txt": LONG}


async def work(agent: Agent) -> None:
    """Two tasks, a recall, a refused call and a listing."""
    agent.gateway.listed(CALLER, "s" * 400, "i" * 40)
    await agent.call("plan", mode="start", objective="one", agent="ana")
    await agent.call("observe", kind="action", tool="Bash", path="/p/log.txt")
    await agent.call("recall", op="grep", path="/p/log.txt", q="line 7 ")
    await agent.call("plan", mode="begin")
    await agent.call("plan", mode="start", objective="two", agent="bob")
    await agent.call("observe", kind="action", tool="Grep", args={"q": 1}, result=LONG[:9_000])


@pytest.mark.promise("one-net")
@pytest.mark.parametrize("by", get_args(By))
async def test_savings_by_anything_sum_to_the_one_net(by: By) -> None:
    async with system(texts=FILES) as (agent, desk):
        await work(agent)
        head, _ = await desk.ask("savings", {}, b"")
        found, _ = await desk.ask("savings", {"by": by}, b"")

    rows: list[dict[str, Any]] = found.pop("rows")
    assert {**found, "rows": []} == head
    assert len(rows) > (by == "tool")
    assert sum(row["net"] for row in rows) == head["net"]
    for proof in PROOFS:
        assert sum(row["kept_out"][proof] for row in rows) == head["kept_out"][proof]


async def test_rows_are_named_by_task_agent_and_source() -> None:
    async with system(texts=FILES) as (agent, desk):
        await work(agent)
        tables = {
            by: (await desk.ask("savings", {"by": by}, b""))[0]["rows"] for by in get_args(By)
        }

    assert {row["what"] for row in tables["task"]} == {"one", "two", ""}
    assert [row["what"] for row in tables["task"] if row["name"] == "(session)"] == [""]
    assert {row["name"] for row in tables["agent"]} == {"ana", "bob", "(session)"}
    assert {row["name"] for row in tables["tool"]} == {"shell", "search", "read", "(osiris)"}
    shell = next(row for row in tables["tool"] if row["name"] == "shell")
    assert shell["kept_out"]["receipt"] > 5_000
    assert set(shell["overhead"]) == {"arguments", "reply", "stub"}


async def test_a_table_that_there_is_not_is_refused() -> None:
    async with system() as (_, desk):
        refused, _ = await desk.ask("savings", {"by": "moon"}, b"")

    assert refused == {
        "error": "bad_argument",
        "what": "savings by 'moon'",
        "fix": "say one of day, task, tool, agent",
    }


async def test_counters_are_what_the_events_say_and_a_wrong_one_is_named_and_mended() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend, FILES) as (agent, desk):
        await work(agent)
        await agent.call("observe", kind="usage", args={"model": "m", "input": 90_000})
        await agent.call("observe", kind="usage", args={"model": "m", "input": 90_000})
        sound = await recount.off(desk.store)
        wrong = Unit(deltas=(Delta("ledger/all#calls", 7), Delta("cache/x/0/m/1/alive", -2)))
        await desk.store.commit(wrong)
        off, failed = await recount.mend(desk.store)
        mended = await recount.off(desk.store)

    assert sum(backend.counters("cache/").values()) == 1
    assert sound == {}
    assert (off, failed) == ({"cache/x/0/m/1/alive": -2, "ledger/all#calls": 7}, None)
    assert mended == {}


async def test_what_is_committed_while_events_are_read_is_not_taken_for_damage() -> None:
    async with system() as (agent, desk):
        await agent.call("plan", mode="start", objective="one")
        await desk.system.flush()
        found = recount.Recount(desk.store)
        await found.begin()
        await agent.call("plan", mode="update", constraints=["be kind"])
        seen: list[ev.Stamped] = []
        for stream in await desk.store.streams(""):
            async for stamped in recount.history(desk.store, stream):
                found.take(stream, stamped)
                seen.append(stamped)
        await agent.call("plan", mode="update", constraints=["be brief"])

        assert sum(isinstance(each.event, ev.Charged) for each in seen) == 2
        assert await found.off() == {}
