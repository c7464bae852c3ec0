"""No schedule of many tasks takes more than the day has."""

import pytest

from tests.sim import budget
from tests.sim.test_simulation import PassesCeilings
from tests.sim.world import World


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_twenty_tasks_never_reserve_more_than_the_day_has(first: int) -> None:
    for seed in range(first, first + 20):
        budget.schedule(seed)


def test_a_writer_that_passes_ceilings_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless(World):
        def __init__(self, seed: int, *, faults: bool = True) -> None:
            super().__init__(seed, writer=PassesCeilings, faults=faults)

    monkeypatch.setattr(budget, "World", Careless)

    with pytest.raises(BaseExceptionGroup):
        budget.schedule(1)
