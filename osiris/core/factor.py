"""How many of a provider's tokens one token of the ruler is: a band, learned from declared usage.

Rule 1: from one declared request to the next a prompt grows by what the model wrote, which the
        provider counted, and by what was put before it. Where at least LEAST_TOLD of that were
        counted here, the growth over the count is the factor. Smaller ones are not added up: what
        wraps each message would be.
Rule 2: what nobody told of grows a prompt too, and a compaction shrinks it. So only a growth
        between LOWEST and HIGHEST times the count is an observation, each is one, whatever its
        size, and the band is that of their quartiles.
Rule 3: *measured* needs ENOUGH observations of the model; before, *prior*: what coding sessions
        showed, or exactly 1 where the provider counts on this very ruler.
Rule 4: savings use the low end, budgets the high end.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

How = Literal["measured", "prior"]

COUNTERS: Final = "factor/"
LEAST_TOLD: Final = 2_000
LOWEST, HIGHEST = 0.9, 1.8
ENOUGH: Final = 20
_STEPS: Final = 20  # buckets of 0.05
_ON_THE_RULER: Final = re.compile(r"(?:^|/)(?:gpt-(?:4o|4\.1|[5-9])|o[134]\b)")


class Factor(Struct, frozen=True):
    """A factor with its band, and how many observations are in it."""

    usual: float
    low: float
    high: float
    how: How
    observations: int = 0


CLAUDE: Final = Factor(1.22, 1.14, 1.36, "prior")
SAME: Final = Factor(1.0, 1.0, 1.0, "prior")
UNKNOWN: Final = Factor(1.2, 1.0, 1.36, "prior")


def prior(model: str) -> Factor:
    """Return what is known of a model's tokens before anything was observed."""
    name = model.lower()
    if "claude" in name:
        return CLAUDE
    return SAME if _ON_THE_RULER.search(name) else UNKNOWN


def bucket_of(grown: int, told: int) -> int | None:
    """Return the bucket of an observation; None when it says nothing."""
    if told < LEAST_TOLD or not LOWEST <= grown / told < HIGHEST:
        return None
    return int(grown / told * _STEPS)


def learned(model: str, seen: Mapping[int, int]) -> Factor:
    """Return the factor after `seen`: how many observations are in each bucket."""
    count = sum(seen.values())
    if count < ENOUGH:
        known = prior(model)
        return Factor(known.usual, known.low, known.high, "prior", count)
    low, usual, high = (_quantile(seen, count * share) for share in (0.25, 0.5, 0.75))
    return Factor(usual, low, high, "measured", count)


def pooled(counters: Mapping[str, int]) -> Factor:
    """Return the factor over all models, by the whole names of their counters."""
    seen: dict[int, int] = {}
    for name, amount in counters.items():
        bucket = int(name.rpartition("/")[2])
        seen[bucket] = seen.get(bucket, 0) + amount
    return learned("", seen)


def _quantile(seen: Mapping[int, int], below: float) -> float:
    """Return where `below` observations lie below, inside its bucket by proportion."""
    passed = 0
    for bucket, amount in sorted(seen.items()):
        if amount and passed + amount >= below:
            return round((bucket + (below - passed) / amount) / _STEPS, 3)
        passed += amount
    return HIGHEST
