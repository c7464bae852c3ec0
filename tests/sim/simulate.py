"""One seed, one life: `simulate(seed)` raises when a promise is broken.

`python -m tests.sim.simulate --seeds 2000` runs many and prints the first failing seed.
"""

import argparse
import logging
import sys
import time
import traceback

import trio

from osiris_actors.writer import Writer
from tests.sim import deterministic, model
from tests.sim.clients import Call, Client
from tests.sim.world import World

CLIENTS = 5
ACTIONS = 14
LIMIT_S = 4_000


def simulate(seed: int, *, writer: type[Writer] = Writer) -> dict[str, int]:
    """Return how often each fault came up. Raises what went wrong."""

    async def life() -> dict[str, int]:
        world = World(seed, writer=writer)
        calls = await _live(world)
        model.check(world.backend, calls)
        acknowledged = sum(call.is_acknowledged for call in calls)
        assert acknowledged * 2 > len(calls), f"only {acknowledged} of {len(calls)} succeeded"
        handed = model.handoffs(world.backend)
        return {**world.counts, **handed, "calls": len(calls), "acknowledged": acknowledged}

    return deterministic.run(seed, life)


async def _live(world: World) -> list[Call]:
    shared: list[str] = []
    offers: list[tuple[str, str]] = []
    clients = [Client(world, number, shared, offers) for number in range(CLIENTS)]
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as owners:
            owners.start_soon(world.owners)
            async with trio.open_nursery() as nursery:
                for client in clients:
                    nursery.start_soon(client.work, ACTIONS)
            world.stop()
    return [call for client in clients for call in client.calls]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    logging.getLogger("osiris_actors").setLevel(logging.CRITICAL + 1)
    began, totals = time.perf_counter(), dict[str, int]()
    for seed in range(options.first, options.first + options.seeds):
        try:
            counts = simulate(seed)
        except BaseException:
            traceback.print_exc()
            print(f"FAILED seed {seed}: python -m tests.sim.simulate --first {seed} --seeds 1")
            return 1
        totals = {key: totals.get(key, 0) + counts.get(key, 0) for key in {**totals, **counts}}
    shown = ", ".join(f"{value} {key}" for key, value in sorted(totals.items()))
    print(f"{options.seeds} seeds, 0 failures in {time.perf_counter() - began:.1f} s: {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
