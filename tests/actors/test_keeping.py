"""What the desk says about the store itself: verified, backed up under load, exported, held."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from osiris.core import audit
from osiris_actors.bundle_audit import audit_bundle
from osiris_actors.desk import RuntimeDesk
from osiris_actors.env import RealEnv
from osiris_actors.keeping import Keeping
from osiris_actors.store import bundle_check
from osiris_actors.store.contract import Committed, Selection
from osiris_actors.store.kept import KeptBackend
from osiris_actors.store.opening import open_store
from osiris_actors.writer import Writer
from tests.actors.keeper_child import place, unit
from tests.actors.running import Agent, system

TEXT = "".join(f"{n}: a line that says nothing\n" for n in range(2_000))
EVENT = b"event" * 20


@asynccontextmanager
async def desk(folder: Path) -> AsyncGenerator[tuple[Agent, RuntimeDesk]]:
    """Run a system on the store in `folder`."""
    kept = open_store(place(folder))
    try:
        async with system(kept, {"log": TEXT}) as (agent, _):
            keeping = Keeping(agent.gateway, place(folder).store, copied_from=kept.copied_from)
            yield agent, RuntimeDesk(agent.gateway, keeping=keeping)
    finally:
        kept.close()


async def work(agent: Agent) -> str:
    """Plan a task, store a payload in it, and return its id."""
    planned = await agent.call("plan", mode="start", objective="look after the store")
    task = planned.text.partition("task=")[2].partition(" ")[0]
    await agent.call("observe", kind="action", tool="bash", path="log")
    return task


async def test_a_sound_store_is_verified_while_it_is_in_use(tmp_path: Path) -> None:
    async with desk(tmp_path) as (agent, it):
        await work(agent)

        quick, _ = await it.ask("verify", {}, b"")
        deep, _ = await it.ask("verify", {"deep": True}, b"")

    assert (quick["ok"], quick["deep"], deep["ok"], deep["deep"]) == (True, False, True, True)
    assert deep["blobs"] == 1
    assert deep["damage"] == []


async def test_a_backup_holds_what_was_answered_and_what_was_pending(tmp_path: Path) -> None:
    async with desk(tmp_path / "home") as (agent, it):
        task = await work(agent)
        await agent.call("plan", mode="status")

        said, _ = await it.ask("backup", {"path": str(tmp_path / "backup")}, b"")

        events = (await it.ask("events", {"task": task}, b""))[0]["events"]
    assert (said["ok"], said["blobs"], said["damage"]) == (True, 1, [])
    kinds = [event["kind"] for event in events]
    assert kinds.count("Charged") == 3  # of the plan, of the action, and of asking for the status
    assert sorted(path.name for path in (tmp_path / "backup").iterdir()) == ["data.mdb", "marker"]
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o700
    (tmp_path / "again").mkdir()
    shutil.copytree(tmp_path / "backup", tmp_path / "again" / "store")
    async with desk(tmp_path / "again") as (_, it):
        assert (await it.ask("events", {"task": task}, b""))[0]["events"] == events
        assert (await it.ask("audit", {}, b""))[0]["ok"] is True


@pytest.mark.parametrize("op", ["backup", "export"])
@pytest.mark.parametrize("path", ["", "relative", "there", "store/x", "missing/x"])
async def test_a_path_that_cannot_be_is_refused(tmp_path: Path, op: str, path: str) -> None:
    (tmp_path / "there").mkdir()
    async with desk(tmp_path) as (_, it):
        named = path if path in {"", "relative"} else str(tmp_path / path)

        said, _ = await it.ask(op, {"path": named}, b"")

    assert said["error"] == "bad_argument"
    assert list((tmp_path / "there").iterdir()) == []


async def test_one_task_is_exported_with_its_payloads(tmp_path: Path) -> None:
    async with desk(tmp_path) as (agent, it):
        task = await work(agent)
        other = Agent(agent.gateway, calls=100)
        await other.call("plan", mode="start", objective="something else")

        said, _ = await it.ask("export", {"path": str(tmp_path / "x"), "task": task[:4]}, b"")

    assert (said["ok"], said["streams"], said["blobs"]) == (True, 1, 1)
    found = bundle_check.check(tmp_path / "x")
    assert (found.streams, found.events, found.damage) == (1, said["events"], ())


async def test_a_bundle_is_audited_like_the_store_it_is_from(tmp_path: Path) -> None:
    async with desk(tmp_path) as (agent, it):
        await work(agent)
        await it.ask("export", {"path": str(tmp_path / "x")}, b"")
        store, _ = await it.ask("audit", {}, b"")

    bundle = audit.as_json(audit_bundle(tmp_path / "x"))

    same = ("ok", "items_externalized", "items_verified", "events", "streams", "ledger_balance")
    assert [bundle[name] for name in same] == [store[name] for name in same]
    assert (bundle["scope"], bundle["items_externalized"]) == ("bundle", 1)


async def test_a_payload_that_a_bundle_names_and_lacks_is_missing(tmp_path: Path) -> None:
    async with desk(tmp_path) as (agent, _):
        task = await work(agent)
        selection = Selection((f"task/{task}",), ())
        await agent.gateway.system.store.export(tmp_path / "x", selection)

    found = audit_bundle(tmp_path / "x")

    assert (found.is_lossless, len(found.missing), found.findings) == (False, 1, ())


async def test_an_unknown_task_is_not_exported(tmp_path: Path) -> None:
    async with desk(tmp_path) as (_, it):
        said, _ = await it.ask("export", {"path": str(tmp_path / "x"), "task": "abcd"}, b"")

    assert said["error"] == "unknown_task"
    assert not (tmp_path / "x").exists()


def damage(folder: Path, text: bytes) -> None:
    """Flip a bit of every copy of `text` in the data file of a store."""
    data = folder / "store" / "data.mdb"
    data.write_bytes(data.read_bytes().replace(text, bytes([text[0] ^ 1]) + text[1:]))


async def test_a_damaged_store_is_read_says_so_and_saves_what_is_sound(tmp_path: Path) -> None:
    async with desk(tmp_path) as (agent, it):
        task = await work(agent)
        await agent.call("observe", kind="fact", text="a fact that a bit will flip in")
        await agent.call("observe", kind="fact", text="another fact")
    damage(tmp_path, b"a fact that a bit")

    async with desk(tmp_path) as (agent, it):
        health, _ = await it.ask("health", {}, b"")
        refused = await agent.call("observe", kind="fact", task=task, text="one more")
        verified, _ = await it.ask("verify", {}, b"")
        backup, _ = await it.ask("backup", {"path": str(tmp_path / "b")}, b"")
        export, _ = await it.ask("export", {"path": str(tmp_path / "x")}, b"")

    assert (health["ok"], health["trouble"]["code"]) == (False, "store_damaged")
    assert refused.is_error
    assert refused.text.startswith("error store_damaged: ")
    assert "osiris restore PATH" in refused.text
    record = verified["damage"][0]["record"]
    assert (verified["ok"], record.startswith(f"event task/{task}@")) == (False, True)
    assert backup["error"] == "store_damaged"
    assert not (tmp_path / "b").exists()
    assert (export["ok"], export["blobs"]) == (False, 1)
    assert [row["record"] for row in export["damage"]] == [record]
    assert bundle_check.check(tmp_path / "x").damage == ()


async def test_a_store_that_cannot_be_opened_still_answers_every_question(tmp_path: Path) -> None:
    async with desk(tmp_path) as (agent, it):
        await work(agent)
    (tmp_path / "store" / "data.mdb").write_bytes(b"")

    async with desk(tmp_path) as (agent, it):
        health, _ = await it.ask("health", {}, b"")
        answer = await agent.call("plan", mode="start", objective="begin again")
        asked = {op: (await it.ask(op, {"task": "abcd"}, b""))[0] for op in ("tasks", "show")}
        audit, _ = await it.ask("audit", {}, b"")
        verified, _ = await it.ask("verify", {}, b"")

    assert health["trouble"]["code"] == "store_damaged"
    assert answer.text.startswith("error store_damaged: the store is damaged: data.mdb is empty")
    assert {said["error"] for said in (*asked.values(), audit)} == {"store_damaged"}
    assert verified["ok"] is False


class Load:
    """Clients that commit one stream after the other and note what was acknowledged."""

    def __init__(self, store: Writer) -> None:
        self.acknowledged: list[int] = []
        self._store = store
        self._numbers = iter(range(1_000_000))
        self._grew = trio.Event()

    async def run(self) -> None:
        for number in self._numbers:
            if isinstance(await self._store.commit(unit(number)), Committed):
                self.acknowledged.append(number)
                self._grew.set()

    async def reach(self, count: int) -> None:
        while len(self.acknowledged) < count:
            self._grew = trio.Event()
            await self._grew.wait()


async def test_a_backup_under_load_holds_all_that_was_acknowledged_when_it_began(
    tmp_path: Path,
) -> None:
    kept = open_store(place(tmp_path))
    store = Writer(kept, RealEnv())
    load = Load(store)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            await nursery.start(store.run)
            for _ in range(50):
                nursery.start_soon(load.run)
            await load.reach(2_000)
            before = set(load.acknowledged)

            (tmp_path / "backup").mkdir()
            await store.backup(tmp_path / "backup")

            await load.reach(len(before) + 500)
            nursery.cancel_scope.cancel()
    kept.close()

    copied = streams_of(tmp_path / "backup", tmp_path)
    assert before <= copied
    assert len(before) >= 2_000


def streams_of(backup: Path, folder: Path) -> set[int]:
    shutil.copytree(backup, folder / "again" / "store")
    kept: KeptBackend = open_store(place(folder / "again"))
    try:
        assert kept.verify(deep=True).damage == ()
        return {int(name.removeprefix("task/")) for name in kept.streams("task/")}
    finally:
        kept.close()
