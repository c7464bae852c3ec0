"""osiris_plan mode=status: where a task stands, how full the prompt is, and which tool fits.

Rule 1: pressure is measured, declared or unknown, by source, once an agent has told of its prompt;
        before that only the tokens of results it has shown. An unknown window has no share.
        Counts are on the ruler; beside them stands the band of the provider's own.
Rule 2: with `query` the compass answers: 5 to 8 tools with scores, and "no clear match" where
        none stands out. It recommends and hides nothing.
Rule 3: of a tool only its name is shown, inside a data block; its description never is.
"""

import math

from osiris.core import budget, context, drift, ledger, plain, pressure, usage
from osiris.core.commands import Plan
from osiris.core.compass import Found, Hit
from osiris.core.decision import Decision, Facts
from osiris.core.manifest import manifest
from osiris.core.modes import mode_of
from osiris.core.replies import Block, Reply
from osiris.core.task_state import TaskState

NEXT = 16
NAMES = 210  # bytes of tool names in one answer; in a fuller one each name gets its share

NO_CATALOGUE = "hand the tools over: observe kind=contract, result= or path= the tools/list"


def status(state: TaskState, command: Plan, facts: Facts) -> Decision:
    return Decision((), _standing(state, facts) if command.query is None else _tools(facts))


def next_step(state: TaskState, limit: int) -> tuple[tuple[str, str], ...]:
    """Return the first open step of an open task, in at most `limit` characters."""
    if state.status != "open":
        return ()
    for number, step in enumerate(state.steps, 1):
        if not step.done:
            return (("next", f"{number}:{plain.one_line(step.text, limit)}"),)
    return ()


def _standing(state: TaskState, facts: Facts) -> Reply:
    found = context.pressure_of(state, facts)
    is_told = bool(state.usage.at_ms or state.head_tokens or state.contract_tokens)
    pairs = (
        ("status", state.status),
        ("mode", mode_of(state.payloads).name),
        ("kept_out", str(state.kept_out.get("receipt", 0))),
        ("overhead", str(sum(state.charged.values()))),
        ("net", str(ledger.net(state.kept_out, state.charged))),
        *usage.pressure_pairs(found)[:2],
        *((("results", str(state.shown)),) if state.shown and not is_told else ()),
        *drift.pairs(state, facts),
        *next_step(state, NEXT),
    )
    told = (*pressure.lines(found), *_ruler(found.known, state, facts), *_cache(state, facts))
    lines = (*(told if is_told else ()), *_budget(state, facts))
    block = Block("pressure" if is_told else "budget", "\n".join(lines)) if lines else None
    return Reply(pairs, manifest=manifest(state), block=block)


def _ruler(known: int, state: TaskState, facts: Facts) -> tuple[str, ...]:
    """Return how many of the provider's tokens the counted ones are."""
    if not state.usage.at_ms or not known:
        return ()
    found = context.factor_of(state, facts)
    band = f"x{found.low:.2f}-{found.high:.2f} {found.how}"
    seen = f" of {found.observations} requests" if found.observations else ""
    low, high = int(known * found.low), math.ceil(round(known * found.high, 3))
    return (f"counted={known} provider={low}-{high} {band}{seen}",)


def _budget(state: TaskState, facts: Facts) -> tuple[str, ...]:
    """Return what is used of each unit of a budget, and what contracts have of it."""
    used, given = budget.spent(state, facts.now_ms), budget.given(state)
    return tuple(
        f"budget {unit}={used.get(unit, 0)}/{amount}"
        + (f" contracts={given[unit]}" if given.get(unit) else "")
        for unit, amount in sorted(state.budget.items())
    )


def _cache(state: TaskState, facts: Facts) -> tuple[str, ...]:
    """Return how likely a request now would find its prefix dead, and how that is known."""
    if not state.usage.at_ms:
        return ()
    idle_s = max(0.0, (facts.now_ms - state.usage.at_ms) / 1_000)
    found = context.belief(state, facts, idle_s)
    seen = f" of {found.observations} requests" if found.observations else ""
    return (f"cache idle={idle_s:.0f}s p_dead={found.p:.2f} {found.how}{seen}",)


def _tools(facts: Facts) -> Reply:
    found = facts.found
    if found is None:
        return Reply((("match", "none"), ("of", "0")), (NO_CATALOGUE,))
    match = "clear" if found.clear else "no clear match"
    pairs = (("match", match), ("tools", str(len(found.hits))), ("of", str(found.catalogue)))
    return Reply(pairs, block=Block("tools", "\n".join(_rows(found))) if found.hits else None)


def _rows(found: Found) -> list[str]:
    names = [hit.name.encode() for hit in found.hits]
    size = max(map(len, names)) if sum(map(len, names)) <= NAMES else NAMES // len(names)
    return [_row(hit, size) for hit in found.hits]


def _row(hit: Hit, size: int) -> str:
    data = hit.name.encode()
    name = hit.name if len(data) <= size else data[: size - 3].decode("utf-8", "ignore") + "…"
    return f"{hit.score:.2f} {plain.one_line(name, NAMES)}"
