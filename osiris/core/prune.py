"""Which payloads leave the prompt, and when.

Zones: A head and pinned items, B objective, plan and contract, C results of the step at work,
D results of finished steps, `history` the turns before them.

Rule 1: nothing is deleted. Only what has a ref can be cut, pinned items never, and a stub stays;
        a stub is never cut again.
Rule 2: the four modes are the table `MODES`.
Rule 3: a plan is one batch. It pays once, for its earliest cut, so it takes everything behind
        that is worth taking.
Rule 4: an agent that calls has just warmed its cache. What pays only in a dead one is *staged*,
        and the plan names the moments that can use it.
Rule 5: what was never sent costs nothing to leave out and would have been written: every mode
        takes it.
Rule 6: no batch leaves a prompt below the size that its model caches at all.
Rule 7: near a window or a price tier tokens must go whatever they cost: the cheapest batch that
        frees enough is taken.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from osiris.core.cache_model import Belief
from osiris.core.prices import Rates
from osiris.core.prune_cost import (
    REQUESTS_TO_COME,
    Cut,
    Recalls,
    Span,
    break_even,
    net_span,
)

ModeName = Literal["cache_ttl", "conservative", "balanced", "aggressive"]
Zone = Literal["A", "B", "C", "D", "history"]

DEAD_FROM: Final = 0.5
CERTAINLY_DEAD: Final = Belief(1.0, 1.0, 1.0, "declared")
ALL: Final[tuple[Zone, ...]] = ("A", "B", "C", "D", "history")
WORKING: Final[tuple[Zone, ...]] = ("C", "D")


class Mode(Struct, frozen=True):
    """When a mode wakes, what it may cut then, and how sure it must be.

    `share` of the prune threshold is the prompt size it wakes at; None: only in a dead cache.
    `bound` is the end of the estimate that must be above zero.
    """

    name: ModeName
    trigger: str
    share: float | None
    warm: tuple[Zone, ...]
    dead: tuple[Zone, ...]
    bound: Literal["low", "usual"]
    use: str


MODES: Final[dict[ModeName, Mode]] = {
    mode.name: mode
    for mode in (
        Mode("cache_ttl", "pause over TTL", None, WORKING, ALL, "low", "recommended default"),
        Mode("conservative", "very high", 2.5, WORKING, WORKING, "low", "high-cost models"),
        Mode(
            "balanced",
            "moderate",
            1.0,
            (*WORKING, "history"),
            (*WORKING, "history"),
            "low",
            "standard agents",
        ),
        Mode("aggressive", "low", 0.5, ALL, ALL, "usual", "fast local models"),
    )
}

# moment -> who can use a dead cache then
MOMENTS: Final = {
    "hook": "a client hook before the first request after a pause",
    "resume": "a resume from the manifest instead of the transcript",
    "slow_tool": "a tool call that lasts longer than the cache lives",
}


class Item(Struct, frozen=True):
    """A payload in the prompt: `behind` tokens follow it, `stub` would stay in its place.

    `recalls` is how often it is expected to be asked for again. `sent` False: no request carried
    it yet.
    """

    ref: str
    tokens: int
    behind: int
    zone: Zone
    stub: int = 0
    recalls: float = 0.0
    pinned: bool = False
    sent: bool = True


class Situation(Struct, frozen=True):
    """What a plan is made in.

    `belief` is P(cache_dead) at the next request. `must_free` tokens have to go, 0: none.
    """

    context_tokens: int
    threshold_tokens: int
    rates: Rates
    belief: Belief
    requests: Span = REQUESTS_TO_COME
    min_cacheable_tokens: int = 0
    must_free: int = 0


class Batch(Struct, frozen=True):
    """Refs to cut together, earliest in the prompt last; `net` in tokens times the input price."""

    refs: tuple[str, ...]
    removed: int
    stub: int
    behind: int
    net: Span
    break_even: float


class Plan(Struct, frozen=True):
    """`now` pays as things are; `staged` pays only at one of `moments`."""

    mode: ModeName
    now: Batch | None
    staged: Batch | None
    moments: tuple[str, ...]
    why: str


def plan(items: Sequence[Item], mode: ModeName, situation: Situation) -> Plan:
    """Return what `mode` cuts now and what it keeps ready for a dead cache."""
    rule = MODES[mode]
    now = _best(_allowed(items, rule, situation), rule, situation)
    if situation.belief.p >= DEAD_FROM:
        return Plan(mode, now, None, (), _why(now, dead=True))
    cut = set(now.refs) if now else set[str]()
    left = [item for item in items if item.ref not in cut]
    later = replace(situation, belief=CERTAINLY_DEAD, must_free=0)
    staged = _best(_allowed(left, rule, later), rule, later)
    return Plan(mode, now, staged, tuple(MOMENTS) if staged else (), _why(now, dead=False))


def is_awake(mode: Mode, situation: Situation) -> bool:
    """Say whether a mode touches what was already sent."""
    if situation.must_free:
        return True
    if mode.share is None:
        return situation.belief.p >= DEAD_FROM
    return situation.context_tokens >= mode.share * situation.threshold_tokens


def _allowed(items: Sequence[Item], mode: Mode, situation: Situation) -> list[Item]:
    """Return what the mode may cut and is worth cutting by itself, latest in the prompt first."""
    zones = mode.dead if situation.belief.p >= DEAD_FROM else mode.warm
    awake = is_awake(mode, situation)
    allowed = [
        item
        for item in items
        if item.ref
        and not item.pinned
        and item.zone in zones
        and item.tokens > item.stub
        and (awake or not item.sent)
        and _pays_alone(item, mode, situation)
    ]
    return sorted(allowed, key=lambda item: (item.sent, item.behind))


def _pays_alone(item: Item, mode: Mode, situation: Situation) -> bool:
    """Say whether an item's recalls leave a gain, the text behind it put aside."""
    if situation.must_free:
        return True
    return _bound(mode, _batch([replace(item, sent=False)], situation)) > 0


def _best(items: Sequence[Item], mode: Mode, situation: Situation) -> Batch | None:
    batches = list(_batches(items, situation))
    if situation.must_free:
        most = max((_freed(batch) for batch in batches), default=0)
        enough = min(most, situation.must_free)
        batches = [batch for batch in batches if _freed(batch) >= enough]
    else:
        batches = [batch for batch in batches if _bound(mode, batch) > 0]
    return max(batches, key=lambda batch: _bound(mode, batch), default=None)


def _batches(items: Sequence[Item], situation: Situation) -> Iterator[Batch]:
    """Yield the batch of everything behind each possible earliest cut."""
    context, least = situation.context_tokens, situation.min_cacheable_tokens
    for n in range(1, len(items) + 1):
        batch = _batch(items[:n], situation)
        if context < least or context - _freed(batch) >= least:
            yield batch


def _batch(items: Sequence[Item], situation: Situation) -> Batch:
    """Return `items`, latest first, as one cut: what later cuts remove is not written again."""
    sent = [item for item in items if item.sent]
    behind = (
        max(0, sent[-1].behind - sum(item.tokens - item.stub for item in sent[:-1])) if sent else 0
    )
    old = _cut(sent, behind, situation)
    fresh = _cut([item for item in items if not item.sent], 0, situation)
    rates, requests = situation.rates, situation.requests
    return Batch(
        tuple(item.ref for item in items),
        sum(item.tokens for item in items),
        sum(item.stub for item in items),
        behind,
        net_span(old, rates, situation.belief, requests)
        + net_span(fresh, rates, CERTAINLY_DEAD, requests),
        break_even(old, rates),
    )


def _cut(items: Sequence[Item], behind: int, situation: Situation) -> Cut:
    return Cut(
        sum(item.tokens for item in items),
        sum(item.stub for item in items),
        Span.of(behind),
        tuple(_recalls(item, situation) for item in items if item.recalls),
    )


def _freed(batch: Batch) -> int:
    return batch.removed - batch.stub


def _recalls(item: Item, situation: Situation) -> Recalls:
    """Return an item's expected recalls, as if they came half-way."""
    requests = max(1.0, situation.requests.usual / 2)
    return Recalls(item.recalls, item.tokens, requests, situation.context_tokens)


def _bound(mode: Mode, batch: Batch) -> float:
    return batch.net.low if mode.bound == "low" else batch.net.usual


def _why(now: Batch | None, *, dead: bool) -> str:
    if now is None:
        return "nothing pays before the next request"
    if dead:
        return "the cache is dead: what is cut is not written again"
    if now.behind == 0:
        return "nothing sent follows the cut"
    return f"pays after {now.break_even:.1f} more requests"
