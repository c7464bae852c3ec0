"""osiris_observe of usage: what a provider counted for the last request.

Rule 1: it comes as args, or as JSON in text or result: our names, or the provider's own object,
        nested or not. ALIASES says which name is which number.
Rule 2: what a provider counts as part of its input, read from a cache or written to it, is taken
        out of it.
Rule 3: a request counts for P(cache_dead) when the one before had the same model, the prompt did
        not shrink to less than half (that is a compaction), and it was long enough to be cached.
Rule 4: the gap is the one declared, else the time between the two observes. A window that is not
        repeated is the one declared before.
"""

from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from osiris.core import budget, cache_model, context, drift, factor, prompt_state
from osiris.core import events as ev
from osiris.core.commands import Observe
from osiris.core.decision import Decision, Facts
from osiris.core.errors import Refusal
from osiris.core.pressure import Pressure
from osiris.core.prices import Usage, cost_microusd
from osiris.core.prompt_state import LastUsage
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState, apply

MOST = 1_000_000_000
DEPTH = 4
NAME = 200
_FIX = 'send text={"model","input","cache_read","cache_write","output","window"}, in tokens'

# name as written -> number as kept; `whole` is all of a prompt, `cached` a part of whole or input
ALIASES = {
    "input": "input", "input_tokens": "input", "prompt": "whole", "prompt_tokens": "whole",
    "cache_read": "cache_read", "cache_read_input_tokens": "cache_read",
    "cached": "cached", "cached_tokens": "cached",
    "cache_write": "cache_write", "cache_creation_input_tokens": "cache_write",
    "cache_write_tokens": "cache_write",
    "cache_write_1h": "cache_write_1h", "ephemeral_1h_input_tokens": "cache_write_1h",
    "output": "output", "output_tokens": "output", "completion_tokens": "output",
    "window": "window", "context_window": "window",
    "ttl_s": "ttl_s", "gap_s": "gap_s",
}  # fmt: skip
COUNTED = ("input", "whole", "cache_read", "cached", "cache_write", "cache_write_1h", "output")


class Declared(Struct, frozen=True):
    """`gap_s` is None when nobody said it."""

    model: str
    provider: str
    usage: Usage
    window: int = 0
    ttl_s: int = 0
    gap_s: int | None = None


def observe(state: TaskState, command: Observe, facts: Facts) -> Decision:
    declared = parse(command)
    if isinstance(declared, Refusal):
        return Decision((), declared)
    before = state.usage
    if not declared.window and declared.model == before.model:
        declared = replace(declared, window=before.window)
    last = _last(declared, facts.now_ms)
    cell, dead = _outcome(before, last, declared.gap_s, facts)
    usage, price = declared.usage, context.price_of(last, facts.prices)
    cost = None if price is None else cost_microusd(price, usage)
    seen = facts.factors if declared.model == before.model else dict[int, int]()
    known = factor.learned(declared.model, seen)
    event = ev.UsageDeclared(
        declared.model,
        declared.provider,
        declared.ttl_s,
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.cache_write_1h,
        usage.output,
        declared.window,
        cell,
        dead,
        cost if isinstance(cost, int) else 0,
        _factor(state, last, facts),
        round(known.high * budget.PER_MILLE),
    )
    after = apply(state, ev.Stamped(facts.now_ms, facts.agent, event))
    found = (("cache", "dead" if dead else "alive"),) if cell else ()
    shown = pressure_pairs(context.pressure_of(after, facts))
    money = (("usd", f"{cost / 1e6:.4f}"),) if isinstance(cost, int) else ()
    pairs = (("ok", ""), *shown, *found, *money, *drift.pairs(state, facts))
    return Decision((event,), Reply(pairs))


def pressure_pairs(found: Pressure) -> tuple[tuple[str, str], ...]:
    """Return the level, and what it is a share of where that is known."""
    level = (("pressure", found.level),)
    if found.share is None:
        return level
    more = "" if found.is_whole else "+"
    return (*level, ("share", f"{found.share:.0%}{more}"), ("window", str(found.window.tokens)))


def parse(command: Observe) -> Declared | Refusal:
    """Return the numbers of a usage report."""
    body = command.args or _json(command.text or command.result)
    if not body:
        return Refusal("missing_argument", "observe usage needs the numbers of a request", _FIX)
    leaves = dict(_leaves(body, DEPTH))
    said = {name: leaves[name] for name in ALIASES if leaves.get(name) is not None}
    counts = {name: _number(value) for name, value in said.items()}
    wrong = next((name for name, count in counts.items() if count is None), None)
    if wrong is not None:
        return Refusal("bad_argument", f"usage {wrong} is no count", _FIX)
    numbers = {ALIASES[name]: count for name, count in counts.items() if count is not None}
    if not any(name in numbers for name in COUNTED):
        return Refusal("missing_argument", "the usage names no counts of tokens", _FIX)
    return _declared(_name(leaves.get("model")), _name(leaves.get("provider")), numbers)


def _declared(model: str, provider: str, numbers: dict[str, int]) -> Declared:
    read = numbers.get("cache_read", numbers.get("cached", 0))
    written, long = numbers.get("cache_write", 0), numbers.get("cache_write_1h", 0)
    includes = "whole" in numbers or "cached" in numbers
    total = numbers.get("whole", numbers.get("input", 0))
    usage = Usage(
        input=max(0, total - (read + written) * includes),
        cache_read=read,
        cache_write=max(0, written - long),
        cache_write_1h=long,
        output=numbers.get("output", 0),
    )
    window, ttl_s = numbers.get("window", 0), numbers.get("ttl_s", 0)
    return Declared(model, provider, usage, window, ttl_s, numbers.get("gap_s"))


def _last(declared: Declared, at_ms: int) -> LastUsage:
    return LastUsage(
        declared.model,
        declared.provider,
        declared.ttl_s,
        declared.usage,
        declared.window,
        at_ms,
    )


def _outcome(
    before: LastUsage, last: LastUsage, gap_s: int | None, facts: Facts
) -> tuple[str, bool]:
    """Return the cell that a request counts for and whether it found its prefix dead."""
    prompt = before.usage.prompt
    is_same = before.at_ms > 0 and before.model == last.model and before.ttl_s == last.ttl_s
    if not is_same or not prompt or last.usage.prompt < cache_model.ALIVE_SHARE * prompt:
        return "", False
    seconds = (last.at_ms - before.at_ms) / 1_000 if gap_s is None else gap_s
    gap = context.gap_of(before, facts, max(0.0, seconds))
    if gap.min_cacheable_tokens and prompt < gap.min_cacheable_tokens:
        return "", False
    cell = cache_model.cell_key(context.cache_of(before, facts.prices), gap)
    return cell, cache_model.is_dead(prompt, last.usage.cache_read)


def _factor(state: TaskState, last: LastUsage, facts: Facts) -> str:
    """Return the cell that the growth of a prompt counts for; empty when it says nothing."""
    grown = prompt_state.growth(state.usage, last.model, last.usage.prompt, state.told)
    bucket = None if grown is None else factor.bucket_of(*grown)
    return "" if bucket is None else f"{context.model_key(last, facts.prices)}/{bucket}"


def _json(text: str | None) -> dict[str, Any]:
    """Return the object that `text` spells; nothing where it spells none."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _leaves(value: object, depth: int) -> Iterator[tuple[str, object]]:
    """Yield the named values of an object, the outer ones last so that they win."""
    fields = cast(dict[str, object], value) if isinstance(value, dict) else {}
    for inner in fields.values() if depth > 1 else ():
        yield from _leaves(inner, depth - 1)
    yield from fields.items()


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MOST else None


def _name(value: object) -> str:
    return value[:NAME] if isinstance(value, str) else ""
