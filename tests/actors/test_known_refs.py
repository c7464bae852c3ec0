"""What a task's actor knows of its refs without asking the store."""

import pytest

from osiris_actors import task_facts
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import Agent, system

TEXTS = tuple(f"{number} passed in 0.1{number} s\n" for number in range(4))


class Counting(MemoryBackend):
    """A store that counts how often it is asked for a ref."""

    asked = 0

    def get_index(self, key: str) -> bytes | None:
        self.asked += key.startswith("ref/")
        return super().get_index(key)


async def observe(agent: Agent, *texts: str) -> None:
    for text in texts:
        answer = await agent.call("observe", kind="action", tool="Bash", ok=True, result=text)
        assert not answer.is_error


async def stored(agent: Agent) -> int:
    text = (await agent.call("plan", mode="status")).text
    manifest = (await agent.call("plan", mode="resume")).text
    assert "status=open" in text
    return int(manifest.split("refs=")[1].split()[0])


async def test_a_new_payload_of_a_new_task_is_looked_up_nowhere() -> None:
    backend = Counting("5" * 32)
    async with system(backend) as (agent, _):
        await agent.call("plan", mode="start", objective="find out")
        await observe(agent, *TEXTS)

    assert backend.asked == 0


@pytest.mark.parametrize("known", [2, 100])
async def test_a_payload_that_comes_again_is_stored_once(
    known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_facts, "KNOWN_REFS", known)
    async with system(Counting("5" * 32)) as (agent, _):
        await agent.call("plan", mode="start", objective="find out")
        await observe(agent, *TEXTS, *reversed(TEXTS), *TEXTS)

        assert await stored(agent) == len(TEXTS)


async def test_an_actor_that_was_loaded_later_asks_the_store() -> None:
    backend = Counting("5" * 32)
    async with system(backend) as (agent, _):
        await agent.call("plan", mode="start", objective="find out")
        await observe(agent, *TEXTS[:2])
        calls = agent.calls
    async with system(backend) as (agent, _):
        agent.calls = calls
        await observe(agent, *TEXTS, *TEXTS)

        assert await stored(agent) == len(TEXTS)
    assert backend.asked == 2 * len(TEXTS)
