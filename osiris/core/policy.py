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
from osiris.core.ledger import day_of

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
    if text is None:
        return Budget()
    amounts = parse(text)
    if isinstance(amounts, Refusal):
        return amounts
    day = day_of(facts.now_ms)
    changes = {unit: amounts.get(unit, 0) - held.get(unit, 0) for unit in {**amounts, **held}}
    reservations = tuple(
        Reservation(f"reserved/day/{day}/{unit}", change, facts.ceilings.get(unit, MOST))
        for unit, change in sorted(changes.items())
        if change
    )
    return Budget((ev.BudgetSet(amounts, day),), reservations)


def _refusal(word: str) -> Refusal:
    return Refusal(
        "bad_argument",
        f"budget {word[:40]!r} is no amount",
        "write tokens=50000 calls=200 minutes=30 usd=2.5, each above zero",
    )
