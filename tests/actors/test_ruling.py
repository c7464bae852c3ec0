"""The rules of a project between an agent and its actions: judged, observed, stale, broken."""

import os
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from osiris.core import tokens
from osiris_actors import rulebook
from osiris_actors.store.memory import MemoryBackend
from tests.actors.ruled import FORBIDDEN, working

NEVER_SET = "evidence: tests_passed was never set"
LATER_S = 2_000_000_000


async def test_a_commit_is_forbidden_until_the_tests_were_seen_to_pass(tmp_path: Path) -> None:
    async with working(tmp_path) as worker:
        worker.file("src/a.py")
        await worker.begin()
        before = await worker.precheck()
        tested = await worker.observe()
        after = await worker.precheck()

    assert before.startswith(FORBIDDEN + 'required_action="run the tests by themselves')
    assert before.splitlines()[1:] == ["Cannot commit while tests are failing", NEVER_SET]
    assert "holds=tests_passed" in tested
    assert after == "allow=yes verdict=none"


async def test_a_failed_run_ends_the_state_and_says_so(tmp_path: Path) -> None:
    async with working(tmp_path) as worker:
        await worker.begin()
        await worker.observe()
        failed = await worker.observe(ok=False)
        after = await worker.precheck()

    assert "ended=tests_passed" in failed
    assert "tests_passed does not hold: pytest failed" in after


async def test_an_observed_edit_ends_the_state_once(tmp_path: Path) -> None:
    async with working(tmp_path) as worker:
        await worker.begin()
        await worker.observe()
        first = await worker.observe("Edit", file_path="src/a.py")
        second = await worker.observe("Edit", file_path="src/b.py")
        after = await worker.precheck()

    assert "ended=tests_passed" in first
    assert "ended=" not in second
    assert "does not hold: src/a.py changed" in after


async def test_an_edit_nobody_observed_makes_the_state_stale(tmp_path: Path) -> None:
    async with working(tmp_path) as worker:
        worker.file("src/a.py")
        worker.file("node_modules/x/a.js", at_s=LATER_S)
        await worker.begin()
        await worker.observe()
        before = await worker.precheck()
        worker.file("src/a.py", at_s=LATER_S)
        after = await worker.precheck()

    assert before == "allow=yes verdict=none"
    assert after.startswith(FORBIDDEN)
    assert "tests_passed is stale: src/a.py changed after it" in after


async def test_the_test_run_of_one_task_counts_for_another_and_after_a_restart(
    tmp_path: Path,
) -> None:
    backend = MemoryBackend("5" * 32)
    async with working(tmp_path, backend=backend) as worker:
        await worker.begin()
        await worker.observe()
        other = worker.other("b")
        await other.begin("y")
        seen = await other.precheck()
    async with working(tmp_path, backend=backend.reopen()) as worker:
        await worker.begin("z")
        later = await worker.precheck()

    assert seen == later == "allow=yes verdict=none"


async def test_what_an_agent_declares_satisfies_no_rule_but_may_break_one(tmp_path: Path) -> None:
    async with working(tmp_path) as worker:
        await worker.begin()
        await worker.agent.call("observe", kind="state", text="tests_passed", ok=True)
        declared = await worker.precheck()
        await worker.observe()
        seen = await worker.precheck()
        await worker.agent.call("observe", kind="state", text="tests_passed", ok=False)
        taken_back = await worker.precheck()

    assert NEVER_SET in declared
    assert seen == "allow=yes verdict=none"
    assert "tests_passed does not hold: declared by" in taken_back


async def test_a_forbidden_call_made_anyway_is_recorded_and_answered_with_its_rule(
    tmp_path: Path,
) -> None:
    async with working(tmp_path) as worker:
        task = await worker.begin()
        answer = await worker.observe(command="git commit -m x")
        head, _ = await worker.desk.ask("events", {"task": task}, b"")

    assert "verdict=block code=invariant rule=tests-before-commit" in answer
    assert NEVER_SET in answer
    assert [row["kind"] for row in head["events"]].count("ActionObserved") == 1


async def test_a_rule_that_warns_lets_the_call_go_ahead(tmp_path: Path) -> None:
    rules = "[[invariant]]\nid = 'w'\nwhen = { tool = 'git.push' }\nverdict = 'warn'\n"
    async with working(tmp_path, rules) as worker:
        await worker.begin()
        answer = await worker.precheck(command="git push")

    assert answer.startswith("allow=yes verdict=warn code=invariant rule=w required_action=")


async def test_a_pipelined_precheck_sees_the_run_before_it(tmp_path: Path) -> None:
    async with working(tmp_path) as worker:
        await worker.begin()
        answers: dict[str, str] = {}

        async def check() -> None:
            answers["precheck"] = await worker.precheck()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(worker.observe)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(check)

    assert answers["precheck"] == "allow=yes verdict=none"


async def test_a_changed_file_of_rules_holds_within_a_second(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with working(tmp_path, None) as worker:
        await worker.begin()
        without = await worker.precheck()
        worker.write("[[invariant]]\nid = 'n'\nwhen = { tool = 'git.commit' }\n")
        await trio.sleep(rulebook.LOOK_S)
        new = await worker.precheck()
        (tmp_path / rulebook.PLACE).unlink()
        await trio.sleep(rulebook.LOOK_S)
        gone = await worker.precheck()

    assert without == gone == "allow=yes verdict=none"
    assert "rule=n " in new


async def test_while_the_file_is_broken_the_last_good_rules_hold_and_every_answer_says_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with working(tmp_path) as worker:
        await worker.begin()
        await worker.precheck()
        worker.write("[[invariant]\n")
        await trio.sleep(rulebook.LOOK_S)
        forbidden = await worker.precheck()
        free = await worker.precheck(command="ls")
        health, _ = await worker.desk.ask("health", {}, b"")

    said = "error bad_rules: .osiris/invariants.toml line 1: Expected"
    assert forbidden.startswith(FORBIDDEN)
    assert free.startswith("allow=yes verdict=none rules=broken\n" + said)
    assert said in forbidden
    assert "| fix: correct the TOML there" in free
    assert list(health["rules"]) == [str(tmp_path / rulebook.PLACE)]
    assert health["ok"] is False


async def test_where_there_never_were_good_rules_none_hold_but_the_file_is_guarded(
    tmp_path: Path,
) -> None:
    async with working(tmp_path, "x = 1") as worker:
        await worker.begin()
        commit = await worker.precheck()
        write = await worker.precheck("Write", file_path=".osiris/invariants.toml")

    assert commit.startswith("allow=yes verdict=none rules=broken\nerror bad_rules: ")
    assert write.startswith("allow=no verdict=block code=invariant rule=osiris.rules ")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
async def test_a_file_of_rules_that_is_no_file_is_broken_and_blocks_nobody(
    tmp_path: Path, make: object
) -> None:
    assert callable(make)
    async with working(tmp_path, None) as worker:
        (tmp_path / ".osiris").mkdir()
        make(tmp_path / rulebook.PLACE)
        await worker.begin()
        with trio.fail_after(5):
            answer = await worker.precheck()

    assert "rules=broken\nerror bad_rules: .osiris/invariants.toml: " in answer


async def test_an_agent_is_told_that_it_does_not_approve_even_without_rules(
    tmp_path: Path,
) -> None:
    async with working(tmp_path, None) as worker:
        await worker.begin()
        answers = [
            await worker.precheck(command="osiris approve no-test-edit --task 7c"),
            await worker.precheck(command="osiris app''rove x"),
            await worker.precheck(command="sh -c 'python -m osiris --json approve x'"),
            await worker.precheck("mcp__osiris__osiris_approve", rule="x"),
        ]
        free = await worker.precheck(command="git log --grep approve")

    assert {answer.partition(" required")[0] for answer in answers} == {
        "allow=no verdict=block code=invariant rule=osiris.approve"
    }
    assert free == "allow=yes verdict=none"


async def test_an_agent_does_not_loosen_the_rules(tmp_path: Path) -> None:
    async with working(tmp_path) as worker:
        await worker.begin()
        answers = [
            await worker.precheck("Write", file_path=f"{tmp_path}/.osiris/invariants.toml"),
            await worker.precheck(command="sed -i s/block/warn/ .osiris/invariants.toml"),
            await worker.precheck(command='python -c \'open(".osiris/invariants.toml", "w")\''),
        ]

    assert [answer.partition("rule=")[2].split()[0] for answer in answers] == [
        "osiris.rules",
        "osiris.rules",
        "osiris.script",
    ]


async def test_rules_that_cannot_be_judged_deny(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(tmp_path) as worker:
        await worker.begin()
        monkeypatch.setattr("osiris_actors.ruling.judge", _fails)
        denied = await worker.precheck(command="ls")
        observed = await worker.observe()
        monkeypatch.undo()
        free = await worker.precheck(command="ls")

    assert denied.startswith("allow=no verdict=block code=invariants_failed required_action=")
    assert observed.startswith("ok")
    assert free == "allow=yes verdict=none"


def _fails(*_: object) -> None:
    raise ZeroDivisionError


async def test_a_verdict_with_its_evidence_stays_within_90_tokens(tmp_path: Path) -> None:
    rules = f"""
[[invariant]]
id = "{"a-long-name-" * 3}"
when = {{ tool = "git.commit" }}
message = "{"a long message that explains all of it " * 7}"
"""
    async with working(tmp_path, rules) as worker:
        await worker.begin()
        answer = await worker.precheck()

    assert tokens.estimate(answer).n <= 90, answer


async def test_too_many_files_to_compare_are_stale_and_a_narrower_state_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = """
[[state]]
name = "built"
set_by = "make.all"
files = "services/a/**"

[[invariant]]
id = "built-first"
when = { tool = "git.push" }
require = { state = "built" }

[[invariant]]
id = "tests-first"
when = { tool = "git.push" }
require = { state = "tests_passed" }
"""
    monkeypatch.setattr("osiris_actors.newest.MAX_ENTRIES", 10)
    monkeypatch.setattr("osiris.core.invariant_states.MAX_ENTRIES", 10)
    async with working(tmp_path, rules) as worker:
        for number in range(12):
            worker.file(f"services/b/{number}.py")
        worker.file("services/a/main.py")
        await worker.begin()
        await worker.observe(command="make all && pytest")
        answer = await worker.precheck(command="git push")

    assert "rule=tests-first " in answer
    assert "narrow `files`" in answer
