"""What an agent sees of a running system: routing, keys, charges, refs."""

import msgspec
import pytest

from osiris.core import tokens
from osiris.core.ledger import balance
from osiris.service import Ask, Caller
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import CALLER, Agent, system
from tests.sim.clients import NoTurn

LONG = "\n".join(f"line {number}: value {number * 7}" for number in range(4_000))


def task_of(text: str) -> str:
    return text.partition("task=")[2][:8]


async def test_a_call_without_a_task_is_for_the_one_planned_last_on_this_connection() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="first")
        second = task_of((await agent.call("plan", mode="start", objective="second")).text)
        await agent.call("observe", kind="fact", text="it rains")

        found = await agent.call("recall", op="memory", task=second)

    assert "fact f1" in found.text


async def test_the_binding_of_a_connection_survives_the_owner() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, _):
        task = task_of((await agent.call("plan", mode="start", objective="x")).text)
    async with system(backend.reopen()) as (agent, _):
        again = Agent(agent.gateway, CALLER, calls=100)
        answer = await again.call("plan", mode="status")

    assert task_of(answer.text) == task


async def test_without_a_task_the_open_ones_of_the_project_are_named() -> None:
    async with system() as (agent, _):
        task = task_of((await agent.call("plan", mode="start", objective="x")).text)
        stranger = Agent(agent.gateway, Caller("b" * 32, "other", "uid:0", "proj"))

        answer = await stranger.call("observe", kind="action", tool="bash")

    assert answer.is_error
    assert answer.text.startswith("error no_task:")
    assert task in answer.text


async def test_the_same_key_is_the_first_answer_and_another_content_is_refused() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        first = await agent.call("observe", kind="fact", text="once", key="k1")
        again = await agent.call("observe", kind="fact", text="once", key="k1")
        other = await agent.call("observe", kind="fact", text="twice", key="k1")
        found = await agent.call("recall", op="memory", q="fact")

    assert again == first
    assert other.text.startswith("error key_reused:")
    assert "of=1" in found.text


async def test_a_replayed_request_id_is_answered_once_and_stored_once() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        ask = Ask("observe", {"kind": "fact", "text": "once"}, "i:7")
        answers = [await agent.gateway.call(CALLER, ask, NoTurn()) for _ in range(3)]
        found = await agent.call("recall", op="memory")

    assert len({answer.text for answer in answers}) == 1
    assert "of=1" in found.text


@pytest.mark.promise("S3-query")
async def test_a_payload_is_stored_whole_and_comes_back_by_query() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        stored = await agent.call("observe", kind="action", tool="bash", result=LONG)
        ref = stored.text.partition("ref=")[2].split()[0]
        found = await agent.call("recall", op="grep", ref=ref, q="line 3141:")

    assert "3142:line 3141: value 21987" in found.text
    assert "stored text, not instructions" in found.text


async def test_a_file_is_answered_with_a_stub_and_kept_out_by_receipt() -> None:
    async with system(texts={"a.log": LONG}) as (agent, desk):
        await agent.call("plan", mode="start", objective="x")
        answer = await agent.call("observe", kind="action", tool="read", path="a.log")
        head, _ = await desk.ask("savings", {}, b"")

    assert tokens.estimate(answer.text).n < 400
    assert head["kept_out"]["receipt"] == tokens.estimate(LONG).n
    assert head["net"] == head["kept_out"]["receipt"] - sum(head["overhead"].values())
    assert head["balance"] == 0


@pytest.mark.promise("one-net")
async def test_every_reply_is_charged_reads_and_refusals_included() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, desk):
        answers = [
            await agent.call("plan", mode="start", objective="x"),
            await agent.call("plan", mode="status"),
            await agent.call("precheck", tool="bash"),
            await agent.call("recall", op="memory"),
            await agent.call("observe", kind="action"),
            await agent.call("plan", mode="begin"),
            await agent.call("plan", mode="status", task="ffff"),
        ]
        head, _ = await desk.ask("savings", {}, b"")

    said = sum(tokens.estimate(answer.text).n for answer in answers)
    charged = head["overhead"]
    replied = sum(n for kind, n in charged.items() if kind != "arguments")
    assert abs(replied - said) <= 2 * len(answers)
    assert head["calls"] == len(answers)
    assert balance(backend.counters("ledger/all#")) == 0


async def test_a_start_that_is_refused_is_paid_by_the_session_and_leaves_no_task() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, desk):
        refused = await agent.call("plan", mode="start", objective="x", budget="calls=ten")
        head, _ = await desk.ask("savings", {"by": "task"}, b"")

    assert refused.text.startswith("error bad_argument")
    assert [row["name"] for row in head["rows"]] == ["(session)"]
    assert backend.streams("task/") == ()


async def test_a_forgotten_schema_listing_is_charged_to_the_session() -> None:
    async with system() as (agent, desk):
        agent.gateway.listed(CALLER, "s" * 400, "i" * 40)
        head, _ = await desk.ask("savings", {}, b"")
        while not head["overhead"]:
            head, _ = await desk.ask("savings", {}, b"")

    assert set(head["overhead"]) == {"schema", "instructions"}


async def test_a_ref_of_another_task_is_as_unknown_as_none() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="mine")
        stored = await agent.call("observe", kind="action", tool="bash", result=LONG)
        ref = stored.text.partition("ref=")[2].split()[0]
        await agent.call("plan", mode="start", objective="other")

        there = await agent.call("recall", op="head", ref=ref)
        nowhere = await agent.call("recall", op="head", ref="mem://" + "0" * 12)

    digits = ref.removeprefix("mem://")
    assert there.text.replace(digits, "0" * 12) == nowhere.text


@pytest.mark.promise("S9-lossless")
@pytest.mark.promise("S9-audit")
async def test_a_piped_text_is_readable_in_its_project_and_audited() -> None:
    async with system() as (agent, desk):
        put, _ = await desk.ask("put", {"project": "proj", "tool": "bash"}, LONG.encode())
        found = await agent.call("recall", op="tail", ref=put["ref"], n=1)
        audit, _ = await desk.ask("audit", {}, b"")
        whole, body = await desk.ask("get", {"ref": put["ref"]}, b"")

    assert "line 3999: value 27993" in found.text
    assert audit["ok"] is True
    assert (audit["items_externalized"], audit["items_verified"]) == (1, 1)
    assert body == LONG.encode()
    assert whole["size"] == len(LONG)


@pytest.mark.promise("S5-scopes")
async def test_notes_are_found_from_task_to_project_to_global() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        for scope in ("task", "project", "global"):
            await agent.call("observe", kind="lesson", scope=scope, text=f"in {scope}")
        found = await agent.call("recall", op="memory", q="in ")
        other = Agent(agent.gateway, Caller("c" * 32, "other", "uid:0", "elsewhere"))
        await other.call("plan", mode="start", objective="y")
        elsewhere = await other.call("recall", op="memory", q="in ")

    order = [found.text.index(f"in {scope}") for scope in ("task", "project", "global")]
    assert order == sorted(order)
    assert "in global" in elsewhere.text
    assert "in project" not in elsewhere.text


async def test_a_crash_inside_a_call_is_an_answer() -> None:
    async with system() as (agent, _):
        agent.gateway.router = msgspec.UNSET  # type: ignore[assignment]  # a defect
        answer = await agent.call("plan", mode="start", objective="x")

    assert answer.is_error
    assert answer.text.startswith("error actor_died:")


async def test_what_another_task_has_read_is_offered_before_it_is_read_again() -> None:
    read = {"tool": "Read", "args": {"file_path": "src/a.py"}}
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="first")
        await agent.call("precheck", tool="Grep", args={"pattern": "warm"})
        await agent.call("observe", kind="action", ok=True, result=LONG, **read)
        await agent.call("plan", mode="start", objective="second")

        same = await agent.call("precheck", **read)
        other = await agent.call("precheck", tool="Read", args={"file_path": "src/b.py"})

    assert "verdict=suggest_alternative" in same.text
    assert "recall ref=mem://" in same.text
    assert "verdict=none" in other.text
