"""What taking text out of a prompt gains and costs.

Units: tokens times the uncached input price. `w`, `r`, `o` are write, read and output multipliers.

Rule 1: gain = removed tokens less the stub, over every request still to come:
        (S - s) [p w + (1 - p) r + r (n - 1)].
Rule 2: cost = text behind the earliest cut, written again where the cache is alive,
        (1 - p) X (w - r), and each recall: R (w + r (m - 1)) + r C + out o.
Rule 3: with no request to come there is neither.
Rule 4: an estimate has two ends. What is unknown (n, p, X) is taken at its worst for the low one.
Rule 5: money is one thing, tokens another: nothing here counts tokens kept out.
"""

import math
from itertools import product
from typing import Final

from msgspec import Struct

from osiris.core.cache_model import Belief
from osiris.core.prices import Rates

PING_S: Final = 270
HOUR_S: Final = 3_600
FIVE_MINUTES_S: Final = 300


class Span(Struct, frozen=True):
    """A number that is not known exactly."""

    low: float
    usual: float
    high: float

    @classmethod
    def of(cls, known: float) -> "Span":
        return cls(known, known, known)

    def __add__(self, other: "Span") -> "Span":
        return Span(self.low + other.low, self.usual + other.usual, self.high + other.high)


# Requests that follow a result of over 2,000 tokens before the next reset: quartiles and median.
REQUESTS_TO_COME: Final = Span(24, 51, 87)


class Recalls(Struct, frozen=True):
    """`times` recalls of `tokens` each, carried by `requests`, the first an extra one.

    `context` is the prompt that the extra request reads, `out_tokens` what it writes.
    """

    times: float
    tokens: float
    requests: float = 1.0
    context: float = 0.0
    out_tokens: float = 0.0


class Cut(Struct, frozen=True):
    """`removed` tokens go, `stub` stay, `behind` follow the earliest place that changes."""

    removed: float
    stub: float
    behind: Span
    recalls: tuple[Recalls, ...] = ()


def gain(cut: Cut, rates: Rates, p_dead: float, requests: float) -> float:
    """Return what the requests to come save."""
    if requests < 1:
        return 0.0
    first = p_dead * rates.write + (1 - p_dead) * rates.read
    return (cut.removed - cut.stub) * (first + rates.read * (requests - 1))


def cost(cut: Cut, rates: Rates, p_dead: float, requests: float, behind: float) -> float:
    """Return what the cut makes the provider write again, and what its recalls cost."""
    if requests < 1:
        return 0.0
    rewritten = (1 - p_dead) * behind * (rates.write - rates.read)
    return rewritten + sum(recall_cost(recalls, rates) for recalls in cut.recalls)


def recall_cost(recalls: Recalls, rates: Rates) -> float:
    carried = recalls.tokens * (rates.write + rates.read * (recalls.requests - 1))
    asked = rates.read * recalls.context + rates.output * recalls.out_tokens
    return recalls.times * (carried + asked)


def net(cut: Cut, rates: Rates, p_dead: float, requests: float) -> float:
    """Return gain less cost at the usual text behind; above zero pays."""
    usual = cut.behind.usual
    return gain(cut, rates, p_dead, requests) - cost(cut, rates, p_dead, requests, usual)


def net_span(cut: Cut, rates: Rates, belief: Belief, requests: Span) -> Span:
    """Return the net with both ends: over all corners of what is unknown."""
    corners = [
        gain(cut, rates, p, n) - cost(cut, rates, p, n, x)
        for p, n, x in product(
            (belief.low, belief.high),
            (requests.low, requests.high),
            (cut.behind.low, cut.behind.high),
        )
    ]
    return Span(min(corners), net(cut, rates, belief.p, requests.usual), max(corners))


def break_even(cut: Cut, rates: Rates) -> float:
    """Return after how many requests a cut in a living cache has paid; infinity for never.

    Recalls are left out: this is the n* of a cut that nobody asks back.
    """
    saved = (cut.removed - cut.stub) * rates.read
    rewritten = cut.behind.usual * (rates.write - rates.read)
    if rewritten <= 0:
        return 0.0
    return rewritten / saved if saved > 0 else math.inf


class TtlAdvice(Struct, frozen=True):
    """How to bridge pauses: the lifetime to write with, what that saves, and how far pings reach.

    `saving` is in tokens times the input price against 5 minute writes. `pings` reads of the prefix
    cost no more than one rebuild, so pinging pays for pauses up to `pings_cover_s`.
    """

    write_ttl_s: int
    saving: float
    pings: int
    pings_cover_s: int


def ttl_advice(
    prefix_tokens: float, written_tokens: float, pauses: float, short: Rates, long: Rates | None
) -> TtlAdvice:
    """Return the lifetime to write with, given `pauses` ahead of 5 to 60 minutes.

    `written_tokens` are what the session writes anyway; `long` None: no 1 hour writes on offer.
    """
    pings = keep_alive_pings(short)
    saved = 0.0
    if long is not None:
        rebuilt = pauses * prefix_tokens * (short.write - short.read)
        saved = rebuilt - written_tokens * (long.write - short.write)
    ttl_s = HOUR_S if saved > 0 else FIVE_MINUTES_S
    return TtlAdvice(ttl_s, max(0.0, saved), pings, pings * PING_S)


def keep_alive_pings(rates: Rates) -> int:
    """Return how many reads of a prefix cost less than writing it once more, beyond the one due."""
    if rates.read <= 0 or rates.write <= rates.read:
        return 0
    return math.floor(rates.write / rates.read - 1 + 1e-9)
