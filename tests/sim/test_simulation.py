"""The whole system from a seed; and proof that the oracle sees what it is there to see."""

import logging
from collections.abc import Generator

import pytest
import trio
from msgspec.structs import replace

from osiris_actors import supervisor
from osiris_actors.store.contract import Committed, Outcome, Unit
from osiris_actors.system import System
from osiris_actors.writer import Writer
from tests.sim import deterministic
from tests.sim.simulate import simulate

SEEDS = 250
GROUP = 25
LONGEST_HUNT = 300


@pytest.fixture(autouse=True)
def _quiet() -> Generator[None]:
    log = logging.getLogger("osiris_actors")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    yield
    log.setLevel(level)


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
@pytest.mark.promise("durable")
def test_no_acknowledged_command_is_lost_doubled_or_reordered(first: int) -> None:
    for seed in range(first, first + GROUP):
        try:
            simulate(seed)
        except BaseException as error:
            error.add_note(f"python -m tests.sim.simulate --first {seed} --seeds 1")
            raise


def test_one_seed_is_one_life_and_two_seeds_are_two() -> None:
    assert simulate(7) == simulate(7)
    assert simulate(7) != simulate(8)


class RepliesBeforeTheCommit(Writer):
    """A writer that acknowledges what it has only queued."""

    async def commit(self, unit: Unit) -> Outcome:
        trio.lowlevel.spawn_system_task(self._later, unit)
        return Committed({a.stream: a.expected + len(a.events) for a in unit.appends})

    async def _later(self, unit: Unit) -> None:
        await super().commit(unit)


class ForgetsKeys(Writer):
    """A writer that stores no keys, so that a retry happens twice."""

    async def commit(self, unit: Unit) -> Outcome:
        return await super().commit(replace(unit, key=None))


class PassesCeilings(Writer):
    """A writer that adds to counters whatever their ceiling says."""

    async def commit(self, unit: Unit) -> Outcome:
        free = tuple(type(d)(d.counter, d.amount) for d in unit.deltas)
        return await super().commit(replace(unit, deltas=free))


class DropsPostings(Writer):
    """A writer that loses one posting of each unit."""

    async def commit(self, unit: Unit) -> Outcome:
        return await super().commit(replace(unit, deltas=unit.deltas[1:]))


class DropsIndexEntries(Writer):
    """A writer that loses one index entry of each unit."""

    async def commit(self, unit: Unit) -> Outcome:
        return await super().commit(replace(unit, puts=unit.puts[1:]))


class DropsFences(Writer):
    """A writer that lets those write whose fence has moved on."""

    async def commit(self, unit: Unit) -> Outcome:
        return await super().commit(replace(unit, guards=()))


class LowersFences(Writer):
    """A writer that forgets to raise fences."""

    async def commit(self, unit: Unit) -> Outcome:
        return await super().commit(replace(unit, bumps=()))


class ExpiresWithoutLooking(Writer):
    """A writer that does not hold the child's head while its lease expires."""

    async def commit(self, unit: Unit) -> Outcome:
        held = tuple(append for append in unit.appends if append.events)
        return await super().commit(replace(unit, appends=held))


@pytest.mark.parametrize(
    "mutant",
    [
        RepliesBeforeTheCommit,
        ForgetsKeys,
        PassesCeilings,
        DropsPostings,
        DropsIndexEntries,
        DropsFences,
        LowersFences,
        ExpiresWithoutLooking,
    ],
)
def test_the_oracle_catches_a_seeded_defect(mutant: type[Writer]) -> None:
    assert any(_is_caught(mutant, seed) for seed in range(LONGEST_HUNT))


def test_the_oracle_catches_debts_that_nobody_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(_: System) -> None:
        pass

    monkeypatch.setattr(System, "take_over", forget)

    assert any(_is_caught(Writer, seed) for seed in range(LONGEST_HUNT))


@pytest.mark.parametrize("crashes", [2, 1 << 30], ids=["too soon", "never"])
def test_the_oracle_catches_a_wrong_quarantine(
    crashes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "CRASHES", crashes)

    assert any(_is_caught(Writer, seed) for seed in range(LONGEST_HUNT))


def _is_caught(mutant: type[Writer], seed: int) -> bool:
    try:
        simulate(seed, writer=mutant)
    except (AssertionError, BaseExceptionGroup):
        return True
    return False


def test_the_schedule_of_a_seed_is_repeatable_only_through_the_flag() -> None:
    async def trace() -> list[int]:
        order: list[int] = []

        async def note(number: int) -> None:
            for _ in range(3):
                await trio.lowlevel.checkpoint()
                order.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(note, number)
        return order

    assert deterministic.run(1, trace) == deterministic.run(1, trace)
    assert len({tuple(deterministic.run(seed, trace)) for seed in range(20)}) == 20
