"""What is remembered, in which scope, how it gets out of it, and how it is shown."""

import re

import pytest
from msgspec.structs import replace

from osiris.service import Caller
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import CALLER, Agent, system

FAILED = "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'x'\n"
READ = {"kind": "action", "tool": "Read", "args": {"file_path": "a.py"}, "ok": True}


def rows(text: str) -> list[str]:
    """Return the lines of a data block, without the day of each."""
    inside = text.partition("not instructions\n")[2].partition("\n--- end")[0]
    return [re.sub(r", \d{4}-\d\d-\d\d(?=[,)])", "", line) for line in inside.splitlines()]


async def started(agent: Agent, objective: str = "x") -> str:
    answer = await agent.call("plan", mode="start", objective=objective)
    return answer.text.partition("task=")[2][:8]


@pytest.mark.promise("S5-scopes")
async def test_memory_is_shown_from_the_task_outward() -> None:
    async with system() as (agent, _):
        await started(agent)
        for scope in ("global", "agent", "project", None):
            more = {"scope": scope} if scope else {}
            await agent.call("observe", kind="lesson", text=f"of {scope or 'task'}", **more)
        await agent.call("observe", kind="note", id="n", text="look later")

        found = await agent.call("recall", op="memory")

    assert [line.partition(" ")[2].partition("): ")[2] for line in rows(found.text)] == [
        "of task",
        "look later",
        "of project",
        "of agent",
        "of global",
    ]


async def test_another_project_sees_nothing_that_was_not_let_out() -> None:
    async with system() as (agent, _):
        await started(agent)
        await agent.call("observe", kind="lesson", text="here", scope="project")
        await agent.call("observe", kind="lesson", text="everywhere", scope="global")
        other = Agent(agent.gateway, Caller("b" * 32, "other", "uid:0", "elsewhere"))

        found = await other.call("recall", op="memory")

    assert [line.rpartition(": ")[2] for line in rows(found.text)] == ["everywhere"]


@pytest.mark.promise("S5-supersede")
async def test_another_text_under_an_id_supersedes_the_first_which_stays_and_says_so() -> None:
    async with system() as (agent, _):
        await started(agent)
        first = await agent.call("observe", kind="lesson", id="paths", text="quote paths")
        again = await agent.call("observe", kind="lesson", id="paths", text="quote paths")
        second = await agent.call("observe", kind="lesson", id="paths", text="quote all")
        now = await agent.call("recall", op="memory")
        before = await agent.call("recall", op="memory", q="superseded:")

    assert (first.text, again.text) == ("ok id=paths", "ok id=paths known=yes")
    assert second.text.startswith("ok id=paths supersedes=v")
    assert rows(now.text) == ["lesson paths (task, whole-aaaa, supersedes 1): quote all"]
    assert rows(before.text) == ["lesson paths (task, whole-aaaa, superseded): quote paths"]


@pytest.mark.promise("S5-promotion")
async def test_a_promoted_entry_keeps_who_learned_it_and_where() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, _):
        task = await started(agent)
        await agent.call("observe", kind="lesson", id="paths", text="quote paths")
        promoted = await agent.call("observe", kind="lesson", id="paths", scope="project")
        again = await agent.call("observe", kind="lesson", id="paths", scope="project")
        here = await agent.call("recall", op="memory")
        bob = Agent(agent.gateway, replace(CALLER, nonce="b" * 32, client="bob"))
        await started(bob, "y")
        outward = await bob.call("observe", kind="lesson", id="paths", scope="global")
        there = await bob.call("recall", op="memory")

    assert promoted.text == f"ok id=paths scope=project from=task/{task}"
    assert again.text == f"{promoted.text} known=yes"
    assert outward.text == f"ok id=paths scope=global from=task/{task}"
    assert rows(here.text) == ["lesson paths (task, whole-aaaa): quote paths"]
    assert rows(there.text) == [
        f"lesson paths (project, whole-aaaa, from task {task}): quote paths",
        f"lesson paths (global, whole-aaaa, from task {task}): quote paths",
    ]


async def test_a_promoted_entry_takes_no_id_that_is_something_elses() -> None:
    async with system() as (agent, _):
        task = await started(agent)
        await agent.call("observe", kind="lesson", id="l1", text="theirs", scope="project")
        await agent.call("observe", kind="lesson", id="l1", text="ours")
        other = f"l1-{task[:4]}"

        promoted = await agent.call("observe", kind="lesson", id="l1", scope="project")
        await agent.call("observe", kind="lesson", id="l1", text="ours, better")
        better = await agent.call("observe", kind="lesson", id="l1", scope="project")
        found = await agent.call("recall", op="memory", q="lesson: ours")

    assert promoted.text.startswith(f"ok id={other} scope=project")
    assert "supersedes=v" in better.text
    assert rows(found.text) == ["lesson l1 (task, whole-aaaa, supersedes 1): ours, better"]


async def test_what_nobody_remembers_cannot_be_promoted() -> None:
    async with system() as (agent, _):
        await started(agent)
        unknown = await agent.call("observe", kind="lesson", id="nope", scope="project")
        pinned = await agent.call("observe", kind="decision", id="d1", scope="project")
        inward = await agent.call("observe", kind="lesson", id="nope", scope="task")

    assert unknown.text.startswith("error unknown_entry:")
    assert pinned.text.startswith("error bad_argument:")
    assert inward.text.startswith("error missing_argument:")


@pytest.mark.promise("S5-failures")
async def test_a_failure_is_remembered_with_attempts_and_the_lesson_of_its_id() -> None:
    async with system() as (agent, _):
        task = await started(agent)
        for number in range(2):
            command = {"command": f"python a.py {number}"}
            await agent.call(
                "observe", kind="action", tool="bash", args=command, ok=False, result=FAILED
            )
        bare = await agent.call("recall", op="memory", q="failure:")
        item = rows(bare.text)[0].split()[1]
        await agent.call("observe", kind="lesson", id=item, text="pass x")
        taught = await agent.call("recall", op="memory", q="failure: keyerror")
        promoted = await agent.call("observe", kind="lesson", id=item, scope="project")
        resumed = await agent.call("plan", mode="resume", task=task)

    said = rows(bare.text)[0]
    assert said.startswith(f"failure {item} (task, whole-aaaa): bash failed 2 times, args ")
    assert "KeyError: 'x'" in said or "Traceback" in said
    assert rows(taught.text) == [f"{said}; lesson: pass x"]
    assert promoted.text.startswith(f"ok id={item} scope=project from=task/")
    assert f"failure {item} bash failed 2 times" in resumed.text


async def test_a_call_that_went_well_is_no_failure() -> None:
    async with system() as (agent, _):
        await started(agent)
        await agent.call("observe", **READ, result="print(1)\n" * 20)

        found = await agent.call("recall", op="memory", q="failure:")

    assert found.text == "ok op=memory shown=0 of=0"


@pytest.mark.promise("S5-results")
async def test_a_result_is_remembered_for_its_call_until_something_is_changed() -> None:
    async with system() as (agent, _):
        await started(agent)
        await agent.call("observe", **READ, result="print(1)\n" * 20)
        good = await agent.call("recall", op="memory", q="tool_result:")
        edit = {"file_path": "a.py", "old_string": "1", "new_string": "2"}
        await agent.call("observe", kind="action", tool="Edit", args=edit, ok=True, result="done")
        stale = await agent.call("recall", op="memory", q="tool_result:")
        usual = await agent.call("recall", op="memory")

    one, two = rows(good.text)[0], rows(stale.text)[0]
    assert one.startswith("tool_result ")
    assert "Read 180 bytes, " in one
    assert re.search(r", good for 2\d h$", one)
    assert two == re.sub("good for .*", "stale: something was changed since", one)
    assert usual.text == "ok op=memory shown=0 of=0"


@pytest.mark.promise("S3-duplicate")
async def test_the_answer_of_another_task_is_not_offered_after_a_change() -> None:
    async with system() as (agent, _):
        await started(agent)
        await agent.call("observe", **READ, result="print(1)\n" * 20)
        bob = Agent(agent.gateway, replace(CALLER, nonce="b" * 32))
        await started(bob, "y")
        asked = {"tool": "Read", "args": READ["args"]}
        before = await bob.call("precheck", **asked)
        edit = {"file_path": "b.py", "old_string": "1", "new_string": "2"}
        await agent.call("observe", kind="action", tool="Edit", args=edit, ok=True, result="done")
        after = await bob.call("precheck", **asked)

    assert "verdict=suggest_alternative" in before.text
    assert after.text == "allow=yes verdict=none"


@pytest.mark.promise("S5-files")
async def test_files_are_remembered_with_hash_size_times_and_ref() -> None:
    async with system(texts={"a.py": "print(1)\n" * 20}) as (agent, _):
        await started(agent)
        await agent.call("observe", kind="file", path="a.py")

        found = await agent.call("recall", op="memory", q="file: a.py")
        other = await agent.call("recall", op="memory", q="file: b.py")

    said = rows(found.text)[0].partition("): ")[2]
    assert re.fullmatch(r"a\.py 180 bytes, \d+ tokens, read [-\dT:]+Z, mem://[0-9a-f]{12}", said)
    assert other.text == "ok op=memory shown=0 of=0"


async def test_a_page_of_memory_keeps_to_its_tokens_and_goes_on_exactly() -> None:
    async with system() as (agent, _):
        await started(agent)
        for number in range(18):
            await agent.call("observe", kind="fact", text=f"{number} " + "word " * 180)
        pages = [await agent.call("recall", op="memory")]
        while "cursor=" in pages[-1].text:
            cursor = pages[-1].text.partition("cursor=")[2].split()[0]
            pages.append(await agent.call("recall", op="memory", cursor=cursor))

    shown = [line.partition("): ")[2].split()[0] for page in pages for line in rows(page.text)]
    assert len(pages) > 1
    assert shown == [str(number) for number in range(18)]
    assert max(len(page.text) for page in pages) < 9_000


async def test_of_thousands_of_entries_the_last_is_found_and_none_is_outdated() -> None:
    async with system() as (agent, _):
        await started(agent)
        await agent.call("observe", kind="fact", id="port", text="it listens on 8080")
        for number in range(1_100):
            await agent.call("observe", kind="fact", text=f"fact {number}.")
        await agent.call("observe", kind="fact", id="port", text="it listens on 9090")
        last = await agent.call("recall", op="memory", q="fact 1099.")
        port = await agent.call("recall", op="memory", q="it listens")
        whole = await agent.call("recall", op="memory", q="fact: ")

    assert [line.rpartition(": ")[2] for line in rows(last.text)] == ["fact 1099."]
    assert [line.rpartition(": ")[2] for line in rows(port.text)] == ["it listens on 9090"]
    assert " of=1101 " in whole.text
