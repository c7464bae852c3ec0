"""Long lists: whole, the newest of too many, and with turns for others in between."""

import msgspec
import pytest
import trio

from osiris.core.index import TaskEntry
from osiris_actors import auditing, listings, recount
from osiris_actors.store.contract import Committed, Put, Unit
from tests.actors.running import Agent, system

EVENTS = 450


class Turns:
    """Counts how often somebody else had a turn."""

    def __init__(self) -> None:
        self.taken = 0

    async def take(self) -> None:
        while True:
            self.taken += 1
            await trio.lowlevel.checkpoint()


async def long_task(agent: Agent) -> str:
    """Return the id of a task with more than EVENTS events."""
    planned = await agent.call("plan", mode="start", objective="a long one")
    for number in range(EVENTS):
        await agent.call("observe", kind="fact", text=f"fact {number}")
    return planned.text.partition("task=")[2].split()[0]


async def test_events_are_listed_page_by_page_up_to_the_limit() -> None:
    async with system() as (agent, desk):
        task = await long_task(agent)
        whole, _ = await desk.ask("events", {"task": task, "limit": 10_000}, b"")
        some, _ = await desk.ask("events", {"task": task, "after": 7, "limit": 250}, b"")

    versions = [row["version"] for row in whole["events"]]
    assert versions == list(range(1, len(versions) + 1))
    assert len(versions) > EVENTS
    assert some["events"] == whole["events"][7:257]


async def test_while_a_long_store_is_read_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listings, "PAGE", 10)
    monkeypatch.setattr(recount, "PAGE", 10)
    async with system() as (agent, desk):
        task = await long_task(agent)
        async with trio.open_nursery() as nursery:
            turns = Turns()
            nursery.start_soon(turns.take)
            audited = await auditing.audit_store(desk.store, owners=1)
            while_audited = turns.taken
            listed, _ = await desk.ask("events", {"task": task, "limit": 10_000}, b"")
            while_listed = turns.taken - while_audited
            nursery.cancel_scope.cancel()

    assert audited.events >= len(listed["events"]) > EVENTS
    assert while_audited > EVENTS // recount.PAGE
    assert while_listed > EVENTS // listings.PAGE


async def test_of_too_many_tasks_the_newest_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "LISTED", 120)
    async with system() as (_, desk):
        entries = [
            TaskEntry(f"{n * 7919 % 1000:08x}", "proj", f"task {n}", "open", n, "ana")
            for n in range(500)
        ]
        puts = tuple(Put(f"tasks/proj/{e.task}", msgspec.msgpack.encode(e)) for e in entries)
        assert isinstance(await desk.store.commit(Unit(puts=puts)), Committed)
        found, _ = await desk.ask("tasks", {"project": "proj"}, b"")

    assert [row["at_ms"] for row in found["tasks"]] == list(range(380, 500))
    assert found["of"] == 500


async def test_a_ref_is_found_in_whatever_stream_it_is() -> None:
    async with system() as (agent, desk):
        for number in range(150):
            await agent.call("plan", mode="start", objective=f"task {number}")
        stored = await agent.call("observe", kind="action", tool="bash", result="line\n" * 900)
        ref = stored.text.partition("ref=")[2].split()[0]
        got, body = await desk.ask("get", {"ref": ref}, b"")
        unknown, _ = await desk.ask("get", {"ref": "mem://ffffffffffff"}, b"")

    assert got["ref"].startswith(ref.replace("mem://", "mem://sha256:"))
    assert body == b"line\n" * 900
    assert unknown["error"] == "unknown_ref"
