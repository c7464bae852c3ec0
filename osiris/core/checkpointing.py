"""osiris_checkpoint compact, trim and clear: what may leave the prompt, and when that pays.

Rule 1: nothing is deleted and nothing of the task changes: a snapshot is named, a plan is kept, and
        `resume` brings all of it back.
Rule 2: only what the agent had in its prompt can leave it; what OSIRIS kept out is not there.
Rule 3: an agent that calls has just warmed its cache. What pays only in a dead one is staged, and
        the reply names the moments that can use it.
Rule 4: what is too near the end of a known window must go now, whatever it costs.
Rule 5: a model without a price is reckoned with UNPRICED, and the reply says `rates=assumed`.
Rule 6: the three modes are PREPARATIONS. An agent that asks for one gets it at any size;
        `prune_threshold_tokens` is where OSIRIS begins to advise it unasked.
"""

import math
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from osiris.core import context, plain, prices, prune, prune_cost, refs
from osiris.core import events as ev
from osiris.core.decision import Decision, Facts, refuse
from osiris.core.manifest import manifest
from osiris.core.pressure import WARN_SHARE
from osiris.core.prices import Rates
from osiris.core.prompt_state import RecentRef
from osiris.core.prune import Batch, Item, ModeName, Situation, Zone
from osiris.core.replies import Block, Reply
from osiris.core.task_state import TaskState

Preparing = Literal["compact", "trim", "clear"]

STUB_TOKENS = 120
RECALLS = 0.17  # of real results that are read again
UNPRICED = Rates(
    0.0, write=1.25, read=0.1, output=5.0
)  # the dearest usual cut: advice stays careful


class Preparation(Struct, frozen=True):
    """Which results a mode looks at, by zone, and by which rule it prunes them."""

    zones: tuple[Zone, ...]
    rule: ModeName
    use: str


PREPARATIONS: dict[Preparing, Preparation] = {
    "trim": Preparation(("D",), "conservative", "results of finished steps"),
    "compact": Preparation(("C", "D"), "cache_ttl", "what a dead cache lets go for nothing"),
    "clear": Preparation(("C", "D"), "aggressive", "all that pays: go on from the manifest"),
}


def prepare(state: TaskState, mode: Preparing, item: str | None, facts: Facts) -> Decision:
    """Name this point of the task and stage what may leave the prompt."""
    if item is not None and not item.isprintable():
        return refuse("bad_argument", "checkpoint id: hidden characters", "use letters and digits")
    name = item or f"s{state.version + 1}"
    row = PREPARATIONS[mode]
    items = [each for each in items_of(state) if each.zone in row.zones]
    found = prune.plan(items, row.rule, _situation(state, facts, threshold_tokens=0))
    now, staged = _refs(found.now), _refs(found.staged)
    freed = _freed(found.now) + _freed(found.staged)
    plan = ev.CompactionStaged(name, mode, now, staged, found.moments, freed)
    events = (plan, ev.SnapshotTaken(name, state.seal))
    return Decision(events, _reply(state, plan, found, facts))


def advice(state: TaskState, facts: Facts) -> str:
    """Return in one line what a full prompt should let go; empty when it is not worth a line."""
    situation = _situation(state, facts, facts.prune_threshold_tokens)
    if situation.context_tokens < situation.threshold_tokens:
        return ""
    found = prune.plan(tuple(items_of(state)), PREPARATIONS["compact"].rule, situation)
    freed = _freed(found.now) + _freed(found.staged)
    return f"prune: checkpoint compact frees {freed}" if freed else ""


def items_of(state: TaskState) -> Iterator[Item]:
    """Yield the results that are in the prompt, oldest first, with what follows each."""
    shown = [ref for ref in state.recent_refs if ref.is_in_prompt]
    behind = sum(ref.tokens for ref in shown)
    for place, ref in enumerate(shown, 1):
        behind -= ref.tokens
        zone = _zone(state, ref, is_newest=place == len(shown))
        yield Item(ref.sha256, ref.tokens, behind, zone, STUB_TOKENS, RECALLS)


def _zone(state: TaskState, ref: RecentRef, *, is_newest: bool) -> Zone:
    """Return C for the step at work, D for finished ones; without steps the newest is at work."""
    if not state.steps:
        return "C" if is_newest else "D"
    return "D" if ref.steps_done < state.steps_done else "C"


def _situation(state: TaskState, facts: Facts, threshold_tokens: int) -> Situation:
    price = context.price_of(state.usage, facts.prices)
    seen = state.head_tokens + state.contract_tokens + state.shown
    least = 0 if price is None else price.min_cacheable_tokens or 0
    return Situation(
        max(seen, state.usage.usage.prompt),
        threshold_tokens,
        context.rates_of(state, facts) or UNPRICED,
        context.belief(state, facts),
        min_cacheable_tokens=least,
        must_free=_must_free(state, facts),
    )


def _must_free(state: TaskState, facts: Facts) -> int:
    """Return how many tokens of a declared prompt are too near the end of its window."""
    window = context.pressure_of(state, facts).window.tokens
    if window is None:
        return 0
    return max(0, state.usage.usage.prompt - math.floor(WARN_SHARE * window))


def _reply(state: TaskState, plan: ev.CompactionStaged, found: prune.Plan, facts: Facts) -> Reply:
    pairs = (
        ("task", state.task),
        ("snapshot", plan.id),
        ("mode", plan.mode),
        ("now", str(len(plan.now))),
        ("staged", str(len(plan.staged))),
        ("frees", str(plan.freed)),
        *((("at", ",".join(plan.moments)),) if plan.moments else ()),
        *((("rates", "assumed"),) if context.rates_of(state, facts) is None else ()),
    )
    tell = ("say what you dropped: observe kind=dropped ref=",) if plan.freed else (found.why,)
    rows = (*_rows(state, "now", plan.now), *_rows(state, "staged", plan.staged))
    lines = (*rows, *_idle(state, facts))
    block = Block("prompt", "\n".join(lines)) if lines else None
    return Reply(pairs, tell, manifest=manifest(state), block=block)


def _rows(state: TaskState, when: str, names: tuple[str, ...]) -> Iterator[str]:
    known = {ref.sha256: ref for ref in state.recent_refs}
    for name in names:
        tool = plain.one_line(known[name].tool, 40)
        yield f"{when} {refs.short(name)} {known[name].tokens} tokens {tool}"


def _idle(state: TaskState, facts: Facts) -> tuple[str, ...]:
    """Return how to bridge a pause ahead, where the model's prices say."""
    price, short = context.price_of(state.usage, facts.prices), context.rates_of(state, facts)
    prompt = state.usage.usage.prompt
    if price is None or short is None or price.cache_write_1h is None or not prompt:
        return ()
    long = prices.rates(price, prompt, prices.HOUR_S)
    if not isinstance(long, Rates) or short.write >= long.write:
        return ()
    said = prune_cost.ttl_advice(prompt, prompt, 1, short, long)
    pings = f"or ping, at most {said.pings} times ({said.pings_cover_s // 60} min)"
    if said.write_ttl_s == prices.HOUR_S:
        return (f"idle over 5 min ahead: write at 1 h (saves {said.saving:.0f} tokens), {pings}",)
    return (f"idle over 5 min ahead: keep writing at 5 min, {pings}",)


def _refs(batch: Batch | None) -> tuple[str, ...]:
    return () if batch is None else batch.refs


def _freed(batch: Batch | None) -> int:
    return 0 if batch is None else batch.removed - batch.stub
