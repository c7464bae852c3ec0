"""Many tasks against one day's budget: whatever the schedule, never above its ceiling.

`python -m tests.sim.budget --schedules 1000` runs that many seeds of 20 tasks each.
"""

import argparse
import json
import logging
import random
import sys

import trio

from osiris.core import events as ev
from osiris.service import Ask, Caller
from tests.sim import deterministic, handoff_model
from tests.sim.clients import NoTurn
from tests.sim.world import DAY_TOKENS, World

TASKS = 20
CHANGES = 4


def schedule(seed: int) -> dict[str, int]:
    """Run one schedule; return what was granted and refused. Raises AssertionError."""

    async def life() -> dict[str, int]:
        world = World(seed, faults=False)
        counts = {"granted": 0, "refused": 0, "highest": 0}
        async with trio.open_nursery() as owners:
            owners.start_soon(world.owners)
            await world.up.wait()
            async with trio.open_nursery() as nursery:
                for number in range(TASKS):
                    nursery.start_soon(_task, world, number, counts)
            _check(world, counts)
            world.stop()
        return counts

    return deterministic.run(seed, life)


async def _task(world: World, number: int, counts: dict[str, int]) -> None:
    rng = random.Random(f"{world.rng.random()}/{number}")
    caller = Caller(f"{number:032x}", "sim", "uid:0", "proj")
    for change in range(CHANGES):
        await trio.sleep(rng.random() / 10)
        budget = f"tokens={rng.choice((50, 150, 400, 900))}"
        arguments: dict[str, object] = {"mode": "update", "budget": budget}
        if change == 0:
            arguments = {"mode": "start", "objective": f"task {number}", "budget": budget}
        elif change == CHANGES - 1:
            arguments = {"op": "offer", "to": "any", "goal": f"part {number}", "budget": budget}
        tool = "handoff" if "op" in arguments else "plan"
        assert world.gateway is not None
        answer = await world.gateway.call(caller, Ask(tool, arguments, f"i:{change}"), NoTurn())
        counts["refused" if answer.is_error else "granted"] += 1
        counts["highest"] = max(counts["highest"], _held(world))
        assert _held(world) <= DAY_TOKENS, f"{_held(world)} of {DAY_TOKENS} are reserved"


def _held(world: World) -> int:
    counters = world.backend.counters("reserved/day/")
    return sum(amount for name, amount in counters.items() if name.endswith("/tokens"))


def _check(world: World, counts: dict[str, int]) -> None:
    """Compare the counter with the fold of the events, and see that both answers came up."""
    backend = world.backend
    history = {
        stream: [ev.decode(raw) for _, raw in backend.history(stream, 0, 1 << 30)]
        for stream in backend.streams("")
    }
    assert _held(world) == handoff_model.reserved_under_day(history)
    assert counts["granted"], "nothing was ever granted"
    assert counts["refused"], "the ceiling was never reached"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.getLogger("osiris_actors").setLevel(logging.CRITICAL + 1)
    totals = {"granted": 0, "refused": 0, "highest": 0}
    for seed in range(options.schedules):
        counts = schedule(seed)
        totals["granted"] += counts["granted"]
        totals["refused"] += counts["refused"]
        totals["highest"] = max(totals["highest"], counts["highest"])
    result = {"schedules": options.schedules, "tasks": TASKS, "ceiling": DAY_TOKENS, **totals}
    line = f"{options.schedules} schedules, 0 above the ceiling of {DAY_TOKENS}: {totals}"
    print(json.dumps({**result, "above_ceiling": 0}) if options.json else line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
