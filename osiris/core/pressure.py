"""How full the context is, by what is known about it.

Rule 1: each source says how it is known: *measured* (counted here), *declared* (the client or the
        provider said so), *unknown* (nobody did). An unknown is named, never filled in.
Rule 2: a share is given only of a window that is known. Counted sources are a part of the prompt,
        so their share is "at least"; only a declared prompt is the whole.
Rule 3: a prompt is everything its provider counted, cached or not. A declared one is right about
        the sum: what the sources do not explain is `unseen`.
Rule 4: the next price tier is a step that can be seen coming: where it is, and what it multiplies.
"""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from osiris.core.prices import Price, Usage, next_tier, tier
from osiris.core.tokens import Count

How = Literal["measured", "declared", "unknown"]
Level = Literal["unknown", "ok", "warn", "over"]

WARN_SHARE: Final = 0.8


class Source(Struct, frozen=True):
    """One part of the prompt; `count` None is an unknown one."""

    name: str
    how: How
    count: Count | None = None


class Window(Struct, frozen=True):
    """How many tokens a model takes and who says so; `tokens` None: nobody."""

    tokens: int | None
    how: How


class Step(Struct, frozen=True):
    """A price tier ahead: tokens until it, and what it multiplies the input price by."""

    in_tokens: int
    times: float


class Pressure(Struct, frozen=True):
    """`known` is the sum of measured and declared sources, `prompt` the declared whole or None.

    `share` is of the window, by the high end of what is known; None for an unknown window.
    `is_whole` says whether it is the prompt's share or only at least that.
    """

    sources: tuple[Source, ...]
    known: int
    prompt: int | None
    unseen: int | None
    window: Window
    share: float | None
    is_whole: bool
    step: Step | None = None

    @property
    def level(self) -> Level:
        if self.share is None:
            return "unknown"
        if self.share >= 1:
            return "over"
        return "warn" if self.share >= WARN_SHARE else "ok"


UNKNOWN_WINDOW: Final = Window(None, "unknown")


def pressure(
    sources: Sequence[Source],
    window: Window = UNKNOWN_WINDOW,
    usage: Usage | None = None,
    price: Price | None = None,
) -> Pressure:
    """Return what is known of a prompt; `usage` is what the last request declared."""
    prompt = usage.prompt if usage else None
    counts = [source.count for source in sources if source.count and source.how != "unknown"]
    known, high = sum(count.n for count in counts), sum(count.high for count in counts)
    size = high if prompt is None else prompt
    return Pressure(
        sources=tuple(sources),
        known=known,
        prompt=prompt,
        unseen=None if prompt is None else max(0, prompt - known),
        window=window,
        share=size / window.tokens if window.tokens else None,
        is_whole=prompt is not None,
        step=_step(price, size),
    )


def window_of(price: Price | None, declared_tokens: int | None = None) -> Window:
    """Return a model's window: as the client declares it, else as the price table has it.

    Both are declared: nobody measures a window.
    """
    if declared_tokens:
        return Window(declared_tokens, "declared")
    if price and price.max_input_tokens:
        return Window(price.max_input_tokens, "declared")
    return UNKNOWN_WINDOW


def lines(found: Pressure) -> tuple[str, ...]:
    """Return the breakdown as text: one line a source, the sum, then the tier ahead."""
    shown = [f"{s.name}={_amount(s.count)} {s.how}" for s in found.sources]
    if found.unseen is not None:
        shown.append(f"unseen={found.unseen} declared")
    shown.append(_sum_line(found))
    if found.step:
        shown.append(f"price_step in={found.step.in_tokens} tokens times={found.step.times:g}")
    return tuple(shown)


def _sum_line(found: Pressure) -> str:
    whole = f"prompt={found.prompt} declared" if found.is_whole else f"known={found.known}"
    if found.share is None:
        return f"{whole} window=unknown"
    at_least = "" if found.is_whole else ">="
    return f"{whole} window={found.window.tokens} share={at_least}{found.share:.0%} {found.level}"


def _amount(count: Count | None) -> str:
    if count is None:
        return "?"
    return str(count.n) if count.method == "exact" else f"~{count.n}"


def _step(price: Price | None, tokens: int) -> Step | None:
    if price is None or not price.input:
        return None
    here, ahead = tier(price, tokens), next_tier(price, tokens)
    paid = here.input if here and here.input else price.input
    return Step(ahead.tokens - tokens, ahead.input / paid) if ahead else None
