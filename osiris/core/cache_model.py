"""P(cache_dead): how likely the next request finds nothing of its prefix cached.

Rule 1: alive = survival of the entry over the gap, times the chance that its prefix was not
        changed. Both are tables: `PROVIDERS` and `BREAKS`.
Rule 2: a stated lifetime is a cliff. It is seen up to `SLACK_S` late, because a gap that can be
        observed includes the response before it. Where nothing is stated the half-life is a guess.
Rule 3: an answer says how it is known. *measured*: counted here, for this provider, model and gap
        bucket, at least `ENOUGH` times. *declared*: the provider states what holds at this gap.
        *prior*: neither; its band is then the whole of 0 to 1.
Rule 4: a prompt below the model's minimum is not cached at all.
Rule 5: counters only come from declared usage: a request is dead when it read less than half of
        the prompt before it from the cache.
"""

import math
import re
from bisect import bisect_right
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from osiris.core.prices import Lifetime

How = Literal["measured", "declared", "prior"]

SLACK_S: Final = 60.0
CAREFUL_S: Final = 15.0
ENOUGH: Final = 20
PRIOR_WEIGHT: Final = 10.0
MAX_CELLS: Final = 4_096
COUNTERS: Final = "cache/"
ALIVE_SHARE: Final = 0.5
_BAND: Final = 1.64  # standard deviations of a 90 % band


class Provider(Struct, frozen=True):
    """How one kind of cache forgets.

    `ttl_s`: lifetimes on offer, `default_s` the usual one (0: no promise). Hard: dead after it.
    Else it fades by `half_life_s`, and is gone at `gone_s` (0: never for certain).
    `refresh_on_read` False: the gap counts from the write, not from the last request.
    """

    name: str
    ttl_s: tuple[int, ...]
    default_s: int
    hard: bool
    half_life_s: float = 300.0
    gone_s: int = 0
    refresh_on_read: bool = True


PROVIDERS: Final = {
    row.name: row
    for row in (
        Provider("anthropic", (300, 3_600), 300, hard=True),
        Provider("bedrock", (300, 3_600), 300, hard=True),
        Provider("openai_before_5_6", (300,), 300, hard=False, gone_s=3_600),
        Provider("openai_5_6_on", (1_800,), 1_800, hard=False, half_life_s=1_800.0),
        Provider("gemini_explicit", (3_600,), 3_600, hard=True, refresh_on_read=False),
        Provider("gemini_implicit", (), 0, hard=False, half_life_s=1_800.0),
        Provider("deepseek", (), 0, hard=False, half_life_s=43_200.0),
        Provider("local_lru", (), 0, hard=False, half_life_s=3_600.0),
        Provider("unknown", (), 0, hard=False),
    )
}


class Break(Struct, frozen=True):
    """Chance that a prefix was changed between two requests `below_s` or less apart."""

    below_s: float
    low: float
    usual: float
    high: float


# Coding sessions: tool turns are short; long gaps are a person's turn, which strips and reminds.
BREAKS: Final = (
    Break(15, 0.001, 0.002, 0.004),
    Break(30, 0.005, 0.01, 0.02),
    Break(60, 0.01, 0.02, 0.04),
    Break(120, 0.02, 0.03, 0.04),
    Break(300, 0.03, 0.08, 0.13),
    Break(math.inf, 0.10, 0.15, 0.20),
)

# A bucket never spans a stated cliff.
BUCKETS_S: Final = (15, 30, 60, 120, 240, 300, 330, 360, 600, 1_800, 3_600, 3_660)

_VERSION: Final = re.compile(r"gpt-(\d{1,3})(?:[.-](\d{1,2})(?!\d))?")
_OPENAI_NEW: Final = (5, 6)
_FAMILIES: Final = (
    ("anthropic.", "bedrock"),
    ("amazon.", "bedrock"),
    ("claude", "anthropic"),
    ("gemini", "gemini_implicit"),
    ("deepseek", "deepseek"),
)


class Belief(Struct, frozen=True):
    """P(cache_dead) with a band, how it is known, and how many observations are in it."""

    p: float
    low: float
    high: float
    how: How
    observations: int = 0


class Cell(Struct, frozen=True, array_like=True):
    """What was seen in one gap bucket."""

    alive: int = 0
    dead: int = 0


class Calibration(Struct, frozen=True):
    """Observed outcomes by `cell_key`; holds at most `MAX_CELLS` keys, later ones are ignored."""

    cells: dict[str, Cell] = {}


NOTHING_SEEN: Final = Calibration()
LOCAL: Final = ("llama.cpp", "lmstudio", "ollama", "sglang", "vllm")


class Gap(Struct, frozen=True):
    """What is known before the next request.

    `gap_s` since the last request that used this prefix; `ttl_s` the lifetime it was written
    with, None: the provider's usual one; `prompt_tokens` None: unknown.
    """

    gap_s: float
    model: str = ""
    ttl_s: int | None = None
    prompt_tokens: int | None = None
    min_cacheable_tokens: int | None = None


def provider_of(model: str, provider: str = "") -> Provider:
    """Return how the cache of a model forgets, by its name and, where known, its provider."""
    if provider in PROVIDERS:
        return PROVIDERS[provider]
    name = model.lower().rpartition("/")[2]
    if provider in LOCAL:
        return PROVIDERS["local_lru"]
    if version := _VERSION.match(name):
        newer = (int(version[1]), int(version[2] or 0)) >= _OPENAI_NEW
        return PROVIDERS["openai_5_6_on" if newer else "openai_before_5_6"]
    if re.match(r"o\d", name):
        return PROVIDERS["openai_before_5_6"]
    return PROVIDERS[next((kind for start, kind in _FAMILIES if start in name), "unknown")]


def with_lifetime(provider: Provider, lifetime: Lifetime) -> Provider:
    """Return `provider` with the lifetimes that dated data states."""
    return replace(
        provider,
        ttl_s=lifetime.ttl_s,
        default_s=lifetime.default or 0,
        hard=lifetime.hard and bool(lifetime.default),
        refresh_on_read=lifetime.refresh_on_read,
    )


def p_dead(provider: Provider, gap: Gap, seen: Calibration = NOTHING_SEEN) -> Belief:
    """Return the chance that the next request finds its prefix dead."""
    if _is_too_short(gap):
        return Belief(1.0, 1.0, 1.0, "declared")
    prior = _prior(provider, gap)
    cell = seen.cells.get(cell_key(provider, gap))
    return _learned(prior, cell) if cell else prior


def survival(provider: Provider, ttl_s: float, gap_s: float) -> float:
    """Return the chance (0 to 1) that an unchanged entry is still held after `gap_s`."""
    late = gap_s - ttl_s
    if late < 0:
        return 1.0
    if provider.hard:
        return max(0.0, 1.0 - late / SLACK_S)
    if provider.gone_s and gap_s >= provider.gone_s:
        return 0.0
    return math.exp2(-late / provider.half_life_s)


def break_of(gap_s: float) -> Break:
    """Return the chance that the prefix itself changed over such a gap."""
    return next(row for row in BREAKS if gap_s < row.below_s or math.isinf(row.below_s))


def is_surely_alive(provider: Provider, gap: Gap) -> bool:
    """Answer for a careful decision: inside a stated lifetime by `CAREFUL_S` or more."""
    ttl_s = _ttl(provider, gap)
    return bool(ttl_s) and gap.gap_s < ttl_s - CAREFUL_S


def cell_key(provider: Provider, gap: Gap) -> str:
    """Return a gap's bucket; only lifetimes that the provider offers make buckets of their own."""
    ttl_s = _ttl(provider, gap)
    kept = ttl_s if ttl_s in provider.ttl_s else provider.default_s
    return f"{provider.name}/{kept}/{gap.model[:64]}/{bisect_right(BUCKETS_S, gap.gap_s)}"


def counter(cell: str, *, dead: bool) -> str:
    """Return the name of the counter of an outcome in a cell."""
    return f"{COUNTERS}{cell}/{'dead' if dead else 'alive'}"


def is_dead(prompt_before: int, cache_read: int) -> bool:
    """Say whether a request found its prefix dead: it read less than half of what was there."""
    return cache_read < ALIVE_SHARE * prompt_before


def observe(seen: Calibration, provider: Provider, gap: Gap, *, dead: bool) -> Calibration:
    """Return the counters with one more outcome."""
    key = cell_key(provider, gap)
    cell = seen.cells.get(key)
    if cell is None and len(seen.cells) >= MAX_CELLS:
        return seen
    cell = cell or Cell()
    counted = Cell(cell.alive + (not dead), cell.dead + dead)
    return Calibration({**seen.cells, key: counted})


def _ttl(provider: Provider, gap: Gap) -> int:
    return provider.default_s if gap.ttl_s is None else gap.ttl_s


def _is_too_short(gap: Gap) -> bool:
    if gap.prompt_tokens is None or gap.min_cacheable_tokens is None:
        return False
    return gap.prompt_tokens < gap.min_cacheable_tokens


def _prior(provider: Provider, gap: Gap) -> Belief:
    ttl_s, gap_s = _ttl(provider, gap), max(0.0, gap.gap_s)
    broken = break_of(gap_s)
    p = 1 - survival(provider, ttl_s, gap_s) * (1 - broken.usual)
    if not _is_stated(provider, ttl_s, gap_s):
        return Belief(p, 0.0, 1.0, "prior")
    low = 1 - survival(provider, ttl_s, gap_s - SLACK_S) * (1 - broken.low)
    high = 1 - survival(provider, ttl_s, gap_s + CAREFUL_S) * (1 - broken.high)
    return Belief(p, low, high, "declared")


def _is_stated(provider: Provider, ttl_s: int, gap_s: float) -> bool:
    """Say whether the provider's word covers this gap, not a guess about fading."""
    if provider.hard or (ttl_s and gap_s < ttl_s):
        return True
    return bool(provider.gone_s) and gap_s >= provider.gone_s


def _learned(prior: Belief, cell: Cell) -> Belief:
    n = cell.alive + cell.dead
    p = (PRIOR_WEIGHT * prior.p + cell.dead) / (PRIOR_WEIGHT + n)
    if n < ENOUGH:
        low, high = min(prior.low, p), max(prior.high, p)
        return Belief(p, low, high, prior.how, n)
    reach = _BAND * math.sqrt(p * (1 - p) / (PRIOR_WEIGHT + n + 1))
    return Belief(p, max(0.0, p - reach), min(1.0, p + reach), "measured", n)
