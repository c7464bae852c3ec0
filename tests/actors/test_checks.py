"""Acceptance checks that OSIRIS runs: states, and commands that a person named."""

import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from msgspec import Struct

from osiris.service import Answer, Caller
from osiris_actors import running_command
from tests.actors.ruled import Worker, working
from tests.actors.running import Agent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its commands are those of a shell")

PYTHON = sys.executable
RULES = f"""
[[check]]
id = "passes"
command = ["{PYTHON}", "-c", "print('7 passed')"]

[[check]]
id = "fails"
command = ["{PYTHON}", "-c", "import os; print('1 failed in', os.getcwd()); raise SystemExit(3)"]
cwd = "src"

[[check]]
id = "silent"
command = "true"

[[check]]
id = "missing"
command = "./no-such-program"

[[check]]
id = "slow"
command = ["sh", "-c", "echo started > started; sleep 600"]
timeout_s = 1

[[check]]
id = "endless"
command = ["sh", "-c", "echo $$ > pid; sleep 600"]
"""


class Pair(Struct):
    """Who offers and who works, in one project."""

    issuer: Worker
    holder: Agent

    async def returned(self, *checks: str, result: str = "done") -> str:
        """Return a contract with these checks, once its result is there."""
        offer = await self.issuer.agent.call(
            "handoff", op="offer", to="any", goal="mend it", checks=list(checks)
        )
        contract = word(offer, "contract")
        await self.holder.call("handoff", op="accept", contract=contract)
        await self.holder.call("handoff", op="return", contract=contract, result=result)
        return contract

    async def verify(self, contract: str) -> Answer:
        return await self.issuer.agent.call("handoff", op="verify", contract=contract)


def word(answer: Answer, key: str) -> str:
    assert f"{key}=" in answer.text, answer.text
    return answer.text.partition(f"{key}=")[2].split()[0]


async def gone(kill: Callable[[int, int], None], pid: int) -> None:
    """Return when nothing is left to be signalled."""
    with trio.fail_after(10):
        while True:
            try:
                kill(pid, 0)
            except ProcessLookupError:
                return
            await trio.lowlevel.checkpoint()


@asynccontextmanager
async def pair(root: Path, rules: str | None = RULES) -> AsyncGenerator[Pair]:
    (root / "src").mkdir()
    async with working(root, rules) as worker:
        await worker.begin("issue")
        caller = Caller("b" * 32, "holder", "uid:0", "proj", root=str(root))
        yield Pair(worker, Agent(worker.agent.gateway, caller))


async def test_a_command_that_ends_with_0_verifies_and_its_output_is_kept(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        contract = await both.returned("check:passes", "check:silent")
        verified = await both.verify(contract)
        ref = verified.text.partition("check:passes printed ")[2].split()[0]
        printed = await both.issuer.agent.call("recall", op="head", ref=ref)

    assert "status=verified" in verified.text
    assert "check:silent" not in verified.text
    assert "7 passed" in printed.text


async def test_a_command_that_fails_refuses_and_says_where_its_output_is(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        contract = await both.returned("check:passes", "check:fails")
        refused = await both.verify(contract)
        ref = refused.text.partition("check:fails printed ")[2].split()[0]
        printed = await both.issuer.agent.call("recall", op="head", ref=ref)
        dropped = await both.issuer.agent.call("observe", kind="dropped", ref=ref)
        rejected = await both.issuer.agent.call("handoff", op="reject", contract=contract)

    assert refused.is_error
    assert refused.text.startswith("error checks_failed: check:fails: exit 3 | fix: reject it")
    assert f"1 failed in {tmp_path}/src" in printed.text
    assert "booked=0 why=never_shown" in dropped.text
    assert "status=offered" in rejected.text


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ("check:missing", "it cannot be run: No such file or directory"),
        ("check:slow", "it took longer than 1 s"),
    ],
)
async def test_a_command_that_does_not_end_by_itself_fails(
    tmp_path: Path, check: str, why: str
) -> None:
    async with pair(tmp_path) as both:
        contract = await both.returned(check)
        with trio.fail_after(30):
            refused = await both.verify(contract)

    assert refused.text.startswith(f"error checks_failed: {check}: {why} |")


async def test_a_state_is_a_check_and_may_be_stale(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        both.issuer.file("src/a.py")
        contract = await both.returned("state:tests_passed")
        never = await both.verify(contract)
        await both.holder.call("plan", mode="start", objective="test")
        await both.holder.call(
            "observe", kind="action", tool="Bash", args={"command": "pytest"}, ok=True
        )
        both.issuer.file("src/a.py", at_s=2_000_000_000)
        stale = await both.verify(contract)
        both.issuer.file("src/a.py")
        verified = await both.verify(contract)

    assert "state:tests_passed: tests_passed was never set" in never.text
    assert "tests_passed is stale: src/a.py changed after it" in stale.text
    assert "status=verified" in verified.text


@pytest.mark.parametrize(
    ("check", "what", "fix"),
    [
        ("check:unit", "no check 'unit'", "use passes, fails, silent, missing, slow, endless"),
        ("state:built", "no state 'built'", "use tests_passed, lint_passed"),
    ],
)
async def test_what_the_rules_do_not_name_is_refused_at_the_offer(
    tmp_path: Path, check: str, what: str, fix: str
) -> None:
    async with pair(tmp_path) as both:
        offer = await both.issuer.agent.call(
            "handoff", op="offer", to="any", goal="mend it", checks=[check]
        )

    assert offer.text == f"error unknown_check: the rules name {what} | fix: {fix}"


async def test_without_a_file_no_such_check_is_offered(tmp_path: Path) -> None:
    async with pair(tmp_path, None) as both:
        offer = await both.issuer.agent.call(
            "handoff", op="offer", to="any", goal="mend it", checks=["state:tests_passed"]
        )

    assert offer.text.startswith("error unknown_check: this project has no file of rules | fix: ")


async def test_only_the_issuer_makes_a_command_run(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        contract = await both.returned("check:slow")
        await both.holder.call("plan", mode="start", objective="other")
        refused = await both.holder.call("handoff", op="verify", contract=contract)

    assert refused.text.startswith("error not_holder:")
    assert not (tmp_path / "started").exists()


async def test_a_cancelled_verify_kills_its_command(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        contract = await both.returned("check:endless")
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(both.verify, contract)
                while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
        again = await both.issuer.precheck(command="ls")

    await gone(os.killpg, int((tmp_path / "pid").read_text()))
    assert again == "allow=yes verdict=none"


async def test_other_calls_of_the_connection_do_not_wait_for_a_check(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        contract = await both.returned("check:endless")
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(both.verify, contract)
                answer = await both.issuer.precheck(command="ls")
                nursery.cancel_scope.cancel()

    assert answer == "allow=yes verdict=none"


async def test_of_much_output_the_beginning_and_the_end_are_kept() -> None:
    code = "print('first'); print('x' * 10_000_000); print('last')"
    with trio.fail_after(30):
        ran = await running_command.run((PYTHON, "-c", code), "/", 20)

    most = running_command.HEAD_BYTES + running_command.TAIL_BYTES
    assert (ran.ok, ran.status) == (True, 0)
    assert ran.output.startswith(b"first\n")
    assert ran.output.endswith(b"last\n")
    assert len(ran.output) <= most + 100
    assert b"bytes left out]" in ran.output


async def test_what_a_command_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! > {tmp_path}/pid; echo out"
    with trio.fail_after(30):
        ran = await running_command.run(("sh", "-c", script), "/", 20)

    assert (ran.status, ran.output) == (0, b"out\n")
    await gone(os.kill, int((tmp_path / "pid").read_text()))
