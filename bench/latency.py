"""How long a client waits, and for what: `python -m bench.latency --json`.

One run, on tmpfs and on disk, in rounds: every round times every probe in both places, so that a
slow minute of the machine is in all of them. p50 and p95 are those of a round, and then the median
over rounds; so is a difference, which is taken within its round.

Rule 1: what OSIRIS adds is what remains without the transport (noop) and the engine (commit).
Rule 2: exit code 1 when a budget of BUDGETS is broken, with its name on stderr.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import msgspec

from bench import owners
from bench.latency_pipeline import pipelined_per_s
from bench.latency_stand import action, stand
from bench.latency_start import Starts, measure_starts
from bench.progress import Progress
from bench.raw_commit import records_of

# probe -> calls a round; what each is: bench.latency_stand
CALLS = {"noop": 60, "commit": 60, "precheck": 60, "observe": 60, "grep": 10, "put": 4}
ROUNDS = 9
WARM_ROUNDS = 1
FEWEST_ROUNDS = 3
ENOUGH_S = 60.0  # on a slow machine there are fewer rounds
BUSY = 1.5  # processes a core; the bench alone comes to about one
TENFOLD = 10  # ratios are shown with two places, microseconds with none

# name -> the most it may be
MOST = {
    "precheck_minus_noop_us": 200.0,
    "observe_minus_noop_minus_commit_us": 500.0,
    "owner_up_first_reply_ms": 100.0,
}
# name -> the least it may be
LEAST = {"pipelined_observes_per_s": 1_000.0}

Round = dict[str, list[float]]  # probe -> microseconds of each call


class Spread(msgspec.Struct, frozen=True):
    """Medians over rounds, microseconds."""

    p50_us: float
    p95_us: float


class Report(msgspec.Struct, frozen=True):
    """`places` is place -> probe -> spread; `figures` are what the numbers come to."""

    places: dict[str, dict[str, Spread]]
    figures: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self.places), **self.figures}


def run() -> Report:
    """Measure everything, one thing after the other."""
    began = time.monotonic()
    rounds = measure_rounds(ROUNDS)
    rate, starts = pipelined_per_s(owners.disk()), measure_starts(owners.disk())
    return report(rounds, rate, starts, time.monotonic() - began)


def measure_rounds(count: int) -> dict[str, list[Round]]:
    """Return up to `count` rounds in each place that this machine has, as ENOUGH_S allows."""
    deadline = time.monotonic() + ENOUGH_S
    places = {"tmpfs": owners.memory(), "disk": owners.disk()}
    progress = Progress("rounds", count + WARM_ROUNDS)
    commits = records_of(action(n) for n in range((count + WARM_ROUNDS) * CALLS["commit"]))
    with ExitStack() as stack:
        stands = {
            name: stack.enter_context(stand(parent, commits))
            for name, parent in places.items()
            if parent is not None
        }
        found: dict[str, list[Round]] = {name: [] for name in stands}
        for number in range(count + WARM_ROUNDS):
            for name, probes in stands.items():
                times = {probe: _times(probes[probe], n) for probe, n in CALLS.items()}
                found[name] += [times] if number >= WARM_ROUNDS else []
            progress.step(number + 1)
            if number >= FEWEST_ROUNDS and time.monotonic() > deadline:
                break
        progress.end()
        return found


def report(
    rounds: dict[str, list[Round]], pipelined: float, starts: Starts, seconds: float
) -> Report:
    """Return what the measured numbers say."""
    # budgets hold where the disk is not what is measured
    own = rounds.get("tmpfs") or rounds["disk"]
    figures: dict[str, float] = {
        "precheck_minus_noop_us": _over(own, lambda p: p["precheck"] - p["noop"]),
        "precheck_over_noop": _over(own, lambda p: p["precheck"] / p["noop"]),
        "observe_minus_noop_minus_commit_us": _over(
            own, lambda p: p["observe"] - p["noop"] - p["commit"]
        ),
        "observe_over_noop_plus_commit": _over(
            own, lambda p: p["observe"] / (p["noop"] + p["commit"])
        ),
        "pipelined_observes_per_s": round(pipelined),
        "owner_up_first_reply_ms": round(starts.owner_up_ms, 1),
        "cold_first_reply_ms": round(starts.cold_ms, 1),
        "bare_python_ms": round(starts.bare_python_ms, 1),
        "seconds": round(seconds, 1),
        "load_per_core": round(owners.load_per_core(), 2),
    }
    places = {
        name: {probe: _spread(times[probe] for times in all_times) for probe in CALLS}
        for name, all_times in rounds.items()
    }
    return Report(places, figures)


def broken(found: Report) -> list[str]:
    """Return a line for each budget that is broken."""
    measured = found.figures
    over = [f"{n}: {measured[n]:,}, at most {m:,.0f}" for n, m in MOST.items() if measured[n] > m]
    under = [
        f"{n}: {measured[n]:,}, at least {m:,.0f}" for n, m in LEAST.items() if measured[n] < m
    ]
    return over + under


def _times(probe: Callable[[], float], calls: int) -> list[float]:
    return [probe() * 1e6 for _ in range(calls)]


def _over(rounds: Iterable[Round], figure: Callable[[dict[str, float]], float]) -> float:
    """Return the median over rounds of a figure made of each round's p50."""
    p50 = [{probe: statistics.median(times) for probe, times in one.items()} for one in rounds]
    value = statistics.median(figure(medians) for medians in p50)
    return round(value, 2) if abs(value) < TENFOLD else round(value)


def _spread(rounds: Iterable[list[float]]) -> Spread:
    pairs = [(statistics.median(times), _p95(times)) for times in rounds]
    p50, p95 = (round(statistics.median(column)) for column in zip(*pairs, strict=True))
    return Spread(p50, p95)


def _p95(times: list[float]) -> float:
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def _table(found: Report) -> str:
    """Return the report for a person, within 80 columns."""
    places = list(found.places)
    head = f"{'microseconds':<14}" + "".join(f"{f'{p} p50':>14}{f'{p} p95':>14}" for p in places)
    rows = [
        f"{probe:<14}"
        + "".join(f"{s.p50_us:>14,.0f}{s.p95_us:>14,.0f}" for s in _spreads(found, probe))
        for probe in CALLS
    ]
    budgets = {n: f"at most {m:,.0f}" for n, m in MOST.items()}
    budgets |= {n: f"at least {m:,.0f}" for n, m in LEAST.items()}
    figures = [
        f"{name:<38}{value:>12,.6g}   {budgets.get(name, '')}".rstrip()
        for name, value in found.figures.items()
    ]
    return "\n".join([head, *rows, "", *figures])


def _spreads(found: Report, probe: str) -> list[Spread]:
    return [spreads[probe] for spreads in found.places.values()]


def main() -> int:
    parser = argparse.ArgumentParser(description="measure how long a client waits, and for what")
    parser.add_argument("--json", action="store_true", help="print JSON alone on stdout")
    as_json = parser.parse_args().json
    found = run()
    problems = broken(found)
    print(json.dumps({**found.as_json(), "problems": problems}) if as_json else _table(found))
    for problem in problems:
        print(f"over budget: {problem}", file=sys.stderr)
    if (load := found.figures["load_per_core"]) > BUSY:
        print(
            f"the machine was busy: {load:.1f} processes a core, these among them", file=sys.stderr
        )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
