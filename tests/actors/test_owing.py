"""What an observe costs is in the store with it, and is booked once."""

from collections.abc import Callable

import pytest
from trio.testing import MockClock

from osiris.core import canon, counting, tokens
from osiris.core import events as ev
from osiris_actors import owing
from osiris_actors.store.contract import Put
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import Agent, system

RESULT = "12 passed in 0.31 s\n"
ARGUMENTS = {"kind": "action", "tool": "Bash", "args": {"command": "pytest -x"}, "ok": True}
LOG = "".join(f"{number:05d} connection reset by peer\n" for number in range(400))


@pytest.fixture(autouse=True)
def _no_time_passes(mock_clock: MockClock) -> None:
    """Nothing is booked because a second is over."""


async def begun(agent: Agent) -> str:
    answer = await agent.call("plan", mode="start", objective="find out")
    return f"task/{answer.text.split('task=')[1][:8]}"


async def observe(agent: Agent, result: str = RESULT) -> str:
    return (await agent.call("observe", **ARGUMENTS, result=result)).text


def owed(backend: MemoryBackend) -> tuple[Put, ...]:
    return backend.index(owing.PREFIX)


def kinds(backend: MemoryBackend, stream: str) -> list[str]:
    return [type(each.event).__name__ for each in events(backend, stream)]


def events(backend: MemoryBackend, stream: str) -> list[ev.Stamped]:
    return [ev.decode(raw) for _, raw in backend.history(stream, 0, 1_000)]


def booked(backend: MemoryBackend) -> dict[str, int]:
    return {k: v for prefix in counting.PREFIXES for k, v in backend.counters(prefix).items()}


async def test_an_observe_is_stored_with_its_costs_as_texts_and_booked_by_a_later_unit() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, _):
        stream = await begun(agent)
        said = await observe(agent)

        assert kinds(backend, stream)[-2:] == ["ActionObserved", "RefStored"]
        [entry] = owed(backend)
        assert entry.key.startswith(f"owed/{stream}/")

    assert owed(backend) == ()
    charged = events(backend, stream)[-1].event
    assert isinstance(charged, ev.Charged)
    arguments = tokens.estimate(canon.canonical_json(ARGUMENTS).decode()).n
    assert charged.tokens == {
        "arguments/shell": arguments + tokens.estimate(RESULT).n,
        "reply/shell": tokens.estimate(said).n,
    }
    assert charged.calls == 1


@pytest.mark.parametrize("observes", [1, 5])
async def test_a_killed_owner_leaves_its_debts_to_the_next(observes: int) -> None:
    calm, backend = MemoryBackend("5" * 32), MemoryBackend("5" * 32)
    async with system(calm) as (agent, _):
        await begun(agent)
        for number in range(observes):
            await observe(agent, f"{number} {RESULT}")
    async with system(backend) as (agent, _):
        await begun(agent)
        for number in range(observes):
            await observe(agent, f"{number} {RESULT}")
        left = backend.reopen()
    assert len(owed(left)) == observes

    async with system(left):
        pass

    assert owed(left) == ()
    assert booked(left) == booked(calm)


async def test_what_keeps_tokens_out_is_committed_together_with_its_costs() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend, texts={"/p/log": LOG}) as (agent, _):
        stream = await begun(agent)
        await observe(agent)
        await agent.call("observe", kind="action", tool="Bash", path="/p/log")

        assert kinds(backend, stream)[-4:] == ["ActionObserved", "RefStored", "KeptOut", "Charged"]
        assert owed(backend) == ()


async def test_a_status_counts_what_is_not_booked_yet() -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, desk):
        await begun(agent)
        before = await overhead(agent)
        await observe(agent)
        between = await overhead(agent)
        await desk.ask("savings", {}, b"")
        booked_now = await overhead(agent)

    assert before < between < booked_now


async def overhead(agent: Agent) -> int:
    text = (await agent.call("plan", mode="status")).text
    return int(text.split("overhead=")[1].split()[0])


async def test_debts_that_cannot_be_read_keep_nobody_from_serving(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    backend = MemoryBackend("5" * 32)
    async with system(backend) as (agent, _):
        stream = await begun(agent)
        await observe(agent)
        left = backend.reopen(fault=failing("read"))
    async with system(left) as (agent, _):
        assert "could not be read" in caplog.text
        left.fault = failing("nothing")
        agent.calls = 10
        assert "task=" in (await agent.call("plan", mode="status", task=stream[5:])).text
    assert len(owed(left)) == 1

    async with system(left):
        pass
    assert owed(left) == ()


def failing(point: str) -> Callable[[str], None]:
    def fail(at: str) -> None:
        if at == point:
            raise OSError(point)

    return fail


async def test_a_precheck_under_a_budget_counts_what_is_not_booked_yet() -> None:
    async with system() as (agent, _):
        await agent.call("plan", mode="start", objective="find out", budget="calls=5")
        for _ in range(6):
            await agent.call("precheck", tool="Bash", args={"command": "ls"})
        answer = await agent.call("precheck", tool="Bash", args={"command": "ls"})

    assert "allow=no" in answer.text
    assert "budget" in answer.text
