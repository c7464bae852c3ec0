"""Budgets: what a task reserves, in which units, and under which counters.

Rule 1: `tokens=50000 calls=200 minutes=30 usd=2.5`; a bare number is tokens.
Rule 2: what is reserved under a counter never exceeds its ceiling; the commit checks it.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from osiris.core import events as ev
from osiris.core.decision import Facts, Reservation
from osiris.core.errors import Refusal
from osiris.core.handoff import Contract
from osiris.core.ledger import day_of
from osiris.core.task_state import TaskState, add

_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)")

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


class Budget(Struct, frozen=True):
    events: tuple[ev.Event, ...] = ()
    reservations: tuple[Reservation, ...] = ()


def parse(text: str) -> dict[str, int] | Refusal:
    """Return amounts by unit."""
    amounts: dict[str, int] = {}
    for word in text.replace(",", " ").split():
        name, _, number = word.rpartition("=")
        unit = UNITS.get(name or "tokens")
        found = _AMOUNT.fullmatch(number)
        if unit is None or found is None:
            return _refusal(word)
        amount = round(float(found[1]) * unit[1])
        if not 0 < amount <= MOST:
            return _refusal(word)
        amounts[unit[0]] = amount
    return amounts or _refusal(text)


def reserve(text: str | None, facts: Facts, held: Mapping[str, int]) -> Budget | Refusal:
    """Return the events and counter changes that reserve `text` in place of `held`."""
    if text is None and (held or not facts.ceilings):
        return Budget()
    amounts = share_of_day(facts) if text is None else parse(text)
    if isinstance(amounts, Refusal):
        return amounts
    if not all(amounts.values()):
        what = "nothing of the day's budget is left"
        return Refusal("budget_exceeded", what, "wait for the next day, or raise its ceiling")
    day = day_of(facts.now_ms)
    changes = {unit: amounts.get(unit, 0) - held.get(unit, 0) for unit in {**amounts, **held}}
    return Budget((ev.BudgetSet(amounts, day),), _changes(day, changes, facts))


class Held(Struct, frozen=True):
    """What a contract's budget holds: by unit, and the day whose counters hold it."""

    amounts: dict[str, int] = {}
    day: str = ""
    reservations: tuple[Reservation, ...] = ()


def spent(state: TaskState) -> dict[str, int]:
    """Return what a task itself used, by unit."""
    return {"tokens": sum(state.charged.values()), "calls": state.calls}


def hold(state: TaskState, text: str | None, facts: Facts) -> Held | Refusal:
    """Return what an offer holds: of the issuer's own budget, else under the day's ceiling."""
    if text is None:
        return Held()
    amounts = parse(text)
    if isinstance(amounts, Refusal):
        return amounts
    if not state.budget:
        day = day_of(facts.now_ms)
        return Held(amounts, day, _changes(day, amounts, facts))
    used = add(spent(state), add(state.children_spent, state.children_reserved))
    for unit, amount in amounts.items():
        left = state.budget[unit] - used.get(unit, 0) if unit in state.budget else amount
        if amount > left:
            what = f"{amount} {unit} for the contract, {max(0, left)} of this task's are left"
            fix = "offer less, or ask for a larger budget with plan update budget="
            return Refusal("budget_exceeded", what, fix)
    return Held(amounts)


def release(contract: Contract, used: Mapping[str, int]) -> tuple[Reservation, ...]:
    """Return the counter changes that give back what an ended contract did not use."""
    if not contract.day:
        return ()
    return tuple(
        Reservation(
            f"reserved/day/{contract.day}/{unit}", min(used.get(unit, 0), amount) - amount, MOST
        )
        for unit, amount in sorted(contract.budget.items())
    )


def share_of_day(facts: Facts) -> dict[str, int]:
    """Return what a task without a budget reserves under a limited day: 5 %, or what is left."""
    return {
        unit: max(0, min(-(-ceiling // DAY_SHARE), ceiling - facts.day_held.get(unit, 0)))
        for unit, ceiling in facts.ceilings.items()
    }


def _changes(day: str, amounts: Mapping[str, int], facts: Facts) -> tuple[Reservation, ...]:
    return tuple(
        Reservation(f"reserved/day/{day}/{unit}", change, facts.ceilings.get(unit, MOST))
        for unit, change in sorted(amounts.items())
        if change
    )


def _refusal(word: str) -> Refusal:
    return Refusal(
        "bad_argument",
        f"budget {word[:40]!r} is no amount",
        "write tokens=50000 calls=200 minutes=30 usd=2.5, each above zero",
    )
