"""How many durable observes a second one stdio connection carries."""

import statistics
from contextlib import closing
from itertools import count
from pathlib import Path
from time import perf_counter

from bench import owners
from bench.client import BridgeClient
from bench.latency_stand import action

TASKS = 32
OUTSTANDING = 64
OBSERVES = 1_600
RUNS = 5
ENOUGH_S = 20.0  # on a slow machine there are fewer runs


def pipelined_per_s(parent: Path) -> float:
    """Return the median rate of up to RUNS runs in a home under `parent`, one to warm up first.

    TASKS tasks are observed in turn with OUTSTANDING calls on their way.
    """
    rates: list[float] = []
    with (
        owners.home_folder(parent) as home,
        closing(BridgeClient(home, home)) as client,
    ):
        client.must_begin()
        tasks = [_started(client) for _ in range(TASKS)]
        numbers = count()
        _rate(client, tasks, numbers)
        deadline = perf_counter() + ENOUGH_S
        while not rates or (len(rates) < RUNS and perf_counter() < deadline):
            rates.append(_rate(client, tasks, numbers))
    return statistics.median(rates)


def _started(client: BridgeClient) -> str:
    return client.must("plan", {"mode": "start", "objective": "measure"}).pairs["task"]


def _rate(client: BridgeClient, tasks: list[str], numbers: "count[int]") -> float:
    began = perf_counter()
    for number in range(OBSERVES):
        if number >= OUTSTANDING:
            _take(client)
        client.send("observe", {**action(next(numbers)), "task": tasks[number % TASKS]})
    for _ in range(OUTSTANDING):
        _take(client)
    return OBSERVES / (perf_counter() - began)


def _take(client: BridgeClient) -> None:
    reply = client.receive()
    if reply.is_error:
        raise RuntimeError(f"observe answered: {reply.text}")
