"""Is P(cache_dead) right? `python -m bench.cache OBSERVED_GAPS.jsonl [--json]`.

Each row is a pair of consecutive requests of a real session. *Dead*: the later one read less than
half of the earlier one's prompt from the cache. The model is asked with the gap and the lifetime of
the writes alone, priors only: nothing is learned from the file that is scored. (The priors are the
published figures of the study that the file is a part of; they are no fit to it.)

Brier score: mean of (p - dead)^2, 0 is perfect. `constant` is the best constant for the rows
scored, their own base rate; `step` says 0 below the lifetime and 1 from it on.
Then the break-even table n*: after how many requests a cut in a living cache has paid.
"""

import argparse
import json
import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from osiris.core.cache_model import Gap, is_dead, p_dead, provider_of
from osiris.core.prices import Rates
from osiris.core.prune_cost import Cut, Span, break_even

TTL_S: Final = {"5m": 300, "1h": 3_600}
LONG_S: Final = 240
TENTHS_BELOW: Final = 12

# (label, write, read), then (removed, behind); None: as much as is removed.
RATES: Final = (
    ("1.25 / 0.1", 1.25, 0.1),
    ("1.25 / 0.05", 1.25, 0.05),
    ("1.25 / 0.025", 1.25, 0.025),
    ("2.0 / 0.1", 2.0, 0.1),
    ("1.0 / 0.1", 1.0, 0.1),
    ("1.0 / 0.5", 1.0, 0.5),
    ("1.0 / 0.02", 1.0, 0.02),
)
CUTS: Final = (
    ("S=5k X=20k", 5_000, 20_000),
    ("S=X", 5_000, 5_000),
    ("S=40k X=10k", 40_000, 10_000),
    ("S=2k X=50k", 2_000, 50_000),
)


class Pair(Struct, frozen=True):
    gap_s: float
    ttl: str
    prev_ctx: int
    cache_read: int
    model: str

    @property
    def ttl_s(self) -> int:
        return TTL_S[self.ttl]

    @property
    def dead(self) -> bool:
        return is_dead(self.prev_ctx, self.cache_read)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Is P(cache_dead) right?")
    parser.add_argument("gaps", type=Path, help="observed_gaps.jsonl")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    chosen = parser.parse_args(arguments)
    pairs = load(chosen.gaps)
    report = {**scores(pairs), "break_even": break_even_table()}
    print(json.dumps(report) if chosen.json else _text(report))
    return 0


def load(path: Path) -> list[Pair]:
    return [msgspec.json.decode(line, type=Pair) for line in path.read_bytes().splitlines()]


def scores(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return the Brier scores over all pairs and over those with a gap of more than 240 s."""
    long = [pair for pair in pairs if pair.gap_s > LONG_S]
    return {
        **_scores("brier", pairs),
        **_scores(f"brier_gap_over_{LONG_S}s", long),
        "pairs": len(pairs),
        f"pairs_gap_over_{LONG_S}s": len(long),
        "dead": sum(pair.dead for pair in pairs),
    }


def _scores(name: str, pairs: Sequence[Pair]) -> dict[str, float]:
    rate = statistics.fmean(pair.dead for pair in pairs)
    return {
        name: _brier(pairs, prior),
        f"{name}_constant": _brier(pairs, lambda _: rate),
        f"{name}_step": _brier(pairs, lambda pair: pair.gap_s >= pair.ttl_s),
    }


def prior(pair: Pair) -> float:
    gap = Gap(pair.gap_s, pair.model, pair.ttl_s)
    return p_dead(provider_of(pair.model), gap).p


def _brier(pairs: Sequence[Pair], forecast: Callable[[Pair], float]) -> float:
    return round(statistics.fmean((forecast(pair) - pair.dead) ** 2 for pair in pairs), 6)


def break_even_table() -> dict[str, dict[str, float]]:
    """Return n* by write / read multiplier and cut, to a tenth below `TENTHS_BELOW`."""
    return {
        label: {
            name: _requests(break_even(Cut(removed, 0, Span.of(behind)), Rates(1, write, read, 5)))
            for name, removed, behind in CUTS
        }
        for label, write, read in RATES
    }


def _requests(n: float) -> float:
    exact = round(n, 6)
    return round(exact, 1) if exact < TENTHS_BELOW else math.floor(exact + 0.5)


def _text(report: dict[str, Any]) -> str:
    lines = [f"{name:32}{value}" for name, value in report.items() if name != "break_even"]
    names = "".join(f"{name:>14}" for name, _, _ in CUTS)
    rows = [
        f"{label:14}" + "".join(f"{row[name]:14g}" for name, _, _ in CUTS)
        for label, row in report["break_even"].items()
    ]
    return "\n".join([*lines, "", f"{'n*  w / r':14}{names}", *rows])


if __name__ == "__main__":
    raise SystemExit(main())
