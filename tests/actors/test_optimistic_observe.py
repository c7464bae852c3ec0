"""An observe is decided on the state at hand; what that state misses is found by the commit."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from osiris.core import events as ev
from osiris.core import index
from osiris.service import Answer, Ask
from osiris_actors.store.contract import Append, Committed, Conflict, Duplicate, Outcome, Put, Unit
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import CALLER, Agent, system
from tests.sim.clients import NoTurn

FACT = {"kind": "fact", "text": "seen"}


class Noting(MemoryBackend):
    """Notes how each unit ended."""

    def __init__(self) -> None:
        super().__init__("5" * 32)
        self.outcomes: list[Outcome] = []

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        outcomes = super().commit_batch(units)
        self.outcomes += outcomes
        return outcomes


class Task:
    """A task with an actor at work, its stream, and what became of the units since it began."""

    def __init__(self, agent: Agent, backend: Noting, stream: str) -> None:
        self.agent = agent
        self.stream = stream
        self.outcomes = backend.outcomes
        self._backend = backend

    @property
    def version(self) -> int:
        return self._backend.head(self.stream).version

    def texts(self) -> list[str]:
        """Return the texts that were noted, in order."""
        raw = self._backend.history(self.stream, 0, 100)
        events = [ev.decode(event).event for _, event in raw]
        return [event.text for event in events if isinstance(event, ev.Noted)]

    async def observe(self, request_id: str, **arguments: object) -> Answer:
        ask = Ask("observe", arguments, request_id)
        return await self.agent.gateway.call(CALLER, ask, NoTurn())

    async def append_behind(self, event: ev.Event) -> None:
        """Grow the stream by a unit that the actor has not made."""
        stamped, before = ev.Stamped(1, "other", event), self.version
        append = Append(self.stream, before, (ev.encode(stamped),))
        puts = tuple(Put(*found) for found in index.puts(self.stream, before + 1, stamped, None))
        outcome = await self.agent.gateway.system.store.commit(Unit((append,), puts=puts))
        assert isinstance(outcome, Committed)
        self.outcomes.clear()


@asynccontextmanager
async def started() -> AsyncGenerator[Task]:
    backend = Noting()
    async with system(backend) as (agent, _):
        planned = await agent.call("plan", mode="start", objective="x")
        stream = f"task/{planned.text.partition('task=')[2].split()[0]}"
        backend.outcomes.clear()
        yield Task(agent, backend, stream)


async def test_an_observe_on_a_state_behind_the_store_is_stored_once_on_top_of_it() -> None:
    async with started() as task:
        await task.append_behind(ev.Noted("fact", "f1", "behind"))
        before = task.version

        answer = await task.observe("i:7", **FACT)

        after = Committed({task.stream: before + 2})
        assert task.outcomes == [Conflict(task.stream, before), after]
        assert task.texts() == ["behind", "seen"]
        assert "id=f2" in answer.text


async def test_an_observe_on_a_task_that_was_closed_behind_its_actor_is_refused() -> None:
    async with started() as task:
        await task.append_behind(ev.TaskClosed())
        before = task.version

        answer = await task.observe("i:7", **FACT)

        assert answer.text.startswith("error task_closed:")
        assert task.outcomes == [Conflict(task.stream, before)]
        assert (task.version, task.texts()) == (before, [])


async def test_an_observe_that_only_a_state_behind_would_refuse_is_stored() -> None:
    async with started() as task:
        await task.append_behind(ev.DecisionPinned("d1", "use tabs"))
        before = task.version

        answer = await task.observe("i:7", kind="decision", text="use spaces in YAML")

        assert "id=d2" in answer.text
        assert task.outcomes == [Committed({task.stream: before + 2})]


async def test_an_observe_repeated_under_its_key_is_answered_alike_and_stored_once() -> None:
    async with started() as task:
        first = await task.observe("i:7", **FACT)
        before = task.version
        task.outcomes.clear()

        again = await task.observe("i:7", **FACT)

        assert again == first
        assert [type(outcome) for outcome in task.outcomes] == [Duplicate]
        assert (task.version, task.texts()) == (before, ["seen"])


@pytest.mark.parametrize(
    "other", [{"kind": "fact", "text": "other"}, {"kind": "action"}], ids=["stored", "refused"]
)
async def test_an_observe_of_another_content_under_a_known_key_is_told_so(
    other: dict[str, str],
) -> None:
    async with started() as task:
        await task.observe("i:7", **FACT)
        before = task.version

        answer = await task.observe("i:7", **other)

        assert answer.is_error
        assert answer.text.startswith("error key_reused:")
        assert (task.version, task.texts()) == (before, ["seen"])


async def test_an_observe_that_would_be_refused_now_is_answered_as_it_was_under_its_key() -> None:
    async with started() as task:
        first = await task.observe("i:7", **FACT)
        await task.agent.call("plan", mode="update", done=True)
        before = task.version

        again = await task.observe("i:7", **FACT)
        fresh = await task.observe("i:8", **FACT)

        assert again == first
        assert fresh.text.startswith("error task_closed:")
        assert (task.version, task.texts()) == (before, ["seen"])


async def test_an_observe_that_changes_nothing_now_is_answered_as_it_was_under_its_key() -> None:
    pin = {"kind": "decision", "id": "d1", "text": "use tabs"}
    async with started() as task:
        first = await task.observe("i:7", **pin)
        known = await task.observe("i:8", **pin)

        again = await task.observe("i:7", **pin)

        assert "known=yes" in known.text
        assert again == first


async def test_an_observe_that_is_refused_stores_nothing_and_takes_no_key() -> None:
    async with started() as task:
        before = task.version

        refused = await task.observe("i:7", kind="action")
        assert refused.text.startswith("error missing_argument:")
        assert (task.version, task.outcomes) == (before, [])

        assert not (await task.observe("i:7", **FACT)).is_error
