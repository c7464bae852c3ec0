"""Budgets: what a task reserves, in which units, and under which counters.

Rule 1: `tokens=50000 calls=200 minutes=30 usd=2.5`; a bare number is tokens.
Rule 2: what is reserved under a counter never exceeds its ceiling; the commit checks it.
Rule 3: a reservation stands under every level of LEVELS; what was not used is given back at the
        end.
Rule 4: a task under a contract has what its contract gives; more is the issuer's to give.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from osiris.core import budget
from osiris.core import events as ev
from osiris.core.decision import Facts, Reservation
from osiris.core.errors import Refusal
from osiris.core.handoff import Contract
from osiris.core.index import agent_key
from osiris.core.ledger import day_of
from osiris.core.task_state import TaskState, add

_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)")

# unit as written -> (unit as kept, factor)
UNITS: dict[str, tuple[str, int]] = {
    "tokens": ("tokens", 1),
    "calls": ("calls", 1),
    "seconds": ("seconds", 1),
    "minutes": ("seconds", 60),
    "usd": ("microusd", 1_000_000),
}
MOST = 10**15
DAY_SHARE = 20
LEVELS = ("day", "project", "agent")


class Budget(Struct, frozen=True):
    events: tuple[ev.Event, ...] = ()
    reservations: tuple[Reservation, ...] = ()


def parse(text: str) -> dict[str, int] | Refusal:
    """Return amounts by unit."""
    amounts: dict[str, int] = {}
    for word in text.replace(",", " ").split():
        name, equals, number = word.rpartition("=")
        unit = UNITS.get(name if equals else "tokens")
        found = _AMOUNT.fullmatch(number)
        if unit is None or found is None:
            return _refusal(word)
        amount = round(float(found[1]) * unit[1])
        if not 0 < amount <= MOST or unit[0] in amounts:
            return _refusal(word)
        amounts[unit[0]] = amount
    return amounts or _refusal(text)


def reserve(state: TaskState, text: str | None, facts: Facts) -> Budget | Refusal:
    """Return the events and counter changes that reserve `text` in place of what is held."""
    if text is None and (state.task or not facts.ceilings):
        return Budget()
    amounts = share_of_day(facts) if text is None else parse(text)
    if isinstance(amounts, Refusal):
        return amounts
    if state.parent and state.budget:
        return _within_contract(state, amounts)
    if not all(amounts.values()):
        what = "nothing of the day's budget is left"
        return Refusal("budget_exceeded", what, "wait for the next day, or raise its ceiling")
    holds = counters(facts)
    changes = _on(holds, amounts)
    for counter, amount in _on(state.holds, state.budget).items():
        changes[counter] = changes.get(counter, 0) - amount
    return Budget((ev.BudgetSet(amounts, holds),), _reservations(changes, facts))


def _within_contract(state: TaskState, amounts: Mapping[str, int]) -> Budget | Refusal:
    for unit, amount in amounts.items():
        given = state.budget.get(unit, amount)
        if amount > given:
            what = f"{amount} {unit}; the contract gives {given}"
            fix = "ask the issuer for more: osiris_handoff op=input"
            return Refusal("budget_exceeded", what, fix)
    return Budget((ev.BudgetSet({**state.budget, **amounts}, state.holds),))


class Held(Struct, frozen=True):
    """What a contract's budget holds: by unit, and the counters that hold it."""

    amounts: dict[str, int] = {}
    holds: tuple[str, ...] = ()
    reservations: tuple[Reservation, ...] = ()


def counters(facts: Facts) -> tuple[str, ...]:
    """Return the counters above a task: its day's, its project's and its agent's."""
    keys = {"day": day_of(facts.now_ms), "project": facts.project, "agent": agent_key(facts.agent)}
    return tuple(f"reserved/{level}/{keys[level]}" for level in LEVELS if keys[level])


def hold(state: TaskState, text: str | None, facts: Facts) -> Held | Refusal:
    """Return what an offer holds: of the issuer's own budget, else under the counters above."""
    if text is None:
        return Held()
    amounts = parse(text)
    if isinstance(amounts, Refusal):
        return amounts
    if not state.budget:
        holds = counters(facts)
        return Held(amounts, holds, _reservations(_on(holds, amounts), facts))
    used = add(budget.spent(state, facts.now_ms), budget.given(state))
    for unit, amount in amounts.items():
        left = state.budget[unit] - used.get(unit, 0) if unit in state.budget else amount
        if amount > left:
            what = f"{amount} {unit} for the contract, {max(0, left)} of this task's are left"
            fix = "offer less, or ask for a larger budget with plan update budget="
            return Refusal("budget_exceeded", what, fix)
    return Held(amounts)


def release(contract: Contract, used: Mapping[str, int]) -> tuple[Reservation, ...]:
    """Return the counter changes that give back what an ended contract did not use."""
    return _unused(contract.holds, contract.budget, used)


def close(state: TaskState, now_ms: int) -> tuple[Reservation, ...]:
    """Return the counter changes that give back what a closed task did not use."""
    return _unused(state.holds, state.budget, budget.with_children(state, now_ms))


def share_of_day(facts: Facts) -> dict[str, int]:
    """Return what a task without a budget reserves under a limited day: 5 %, or what is left."""
    return {
        unit: max(0, min(-(-ceiling // DAY_SHARE), ceiling - facts.day_held.get(unit, 0)))
        for level, _, unit in (name.partition("/") for name in facts.ceilings)
        if level == "day"
        for ceiling in (facts.ceilings[f"day/{unit}"],)
    }


def _on(holds: tuple[str, ...], amounts: Mapping[str, int]) -> dict[str, int]:
    return {f"{hold}/{unit}": amount for hold in holds for unit, amount in amounts.items()}


def _unused(
    holds: tuple[str, ...], budget: Mapping[str, int], used: Mapping[str, int]
) -> tuple[Reservation, ...]:
    back = {unit: min(used.get(unit, 0), amount) - amount for unit, amount in budget.items()}
    return tuple(Reservation(name, n, MOST) for name, n in sorted(_on(holds, back).items()) if n)


def _reservations(changes: Mapping[str, int], facts: Facts) -> tuple[Reservation, ...]:
    """Return counter changes with the ceiling of each counter's level and unit."""
    return tuple(
        Reservation(name, change, facts.ceilings.get(_level(name), MOST))
        for name, change in sorted(changes.items())
        if change
    )


def _level(counter: str) -> str:
    """Return LEVEL/UNIT of reserved/LEVEL/KEY/UNIT."""
    parts = counter.split("/")
    return f"{parts[1]}/{parts[-1]}"


def _refusal(word: str) -> Refusal:
    return Refusal(
        "bad_argument",
        f"budget {word[:40]!r} is no amount",
        "write tokens=50000 calls=200 minutes=30 usd=2.5, each above zero",
    )
