"""What a task has used of its budget, by unit.

| unit | what is counted |
|---|---|
| tokens | what OSIRIS put before the model, by the high end of the provider's own count |
| calls | calls of OSIRIS's tools |
| microusd | declared usage at the prices of its model; an unpriced model costs nothing here |
| seconds | time since the task began, pauses included |

Rule 1: over is beyond what contracts were not given; warn begins at 80 % of it.
Rule 2: time passes for a task and its contracts at once, so contracts take none of it.
Rule 3: without a clock the last event is now: a manifest stays a function of what is stored.
"""

import math
from collections.abc import Mapping
from typing import Literal

from osiris.core.task_state import TaskState, add

Word = Literal["ok", "warn", "over"]
WARN = 0.8
PER_MILLE = 1_000


def spent(state: TaskState, now_ms: int = 0) -> dict[str, int]:
    """Return what a task itself used, by unit; units it did not use are left out."""
    tokens = sum(state.charged.values())
    used = {
        "tokens": -(-tokens * max(PER_MILLE, state.usage.ruler_high) // PER_MILLE),
        "calls": state.calls,
        "microusd": state.microusd,
        "seconds": _seconds(state, now_ms),
    }
    return {unit: amount for unit, amount in used.items() if amount}


def given(state: TaskState) -> Mapping[str, int]:
    """Return what contracts hold or have used of a task's budget."""
    return _timeless(add(state.children_reserved, state.children_spent))


def with_children(state: TaskState, now_ms: int = 0) -> Mapping[str, int]:
    """Return what a task and its ended contracts used."""
    return add(spent(state, now_ms), _timeless(state.children_spent))


def standing(state: TaskState, now_ms: int = 0) -> tuple[Word, str]:
    """Return how a task stands with its budget, and with which unit worst."""
    if not state.budget:
        return "ok", ""
    used, away = spent(state, now_ms), given(state)
    shares = {
        unit: _share(used.get(unit, 0), amount - away.get(unit, 0))
        for unit, amount in state.budget.items()
    }
    worst = max(shares, key=lambda unit: shares[unit])
    if shares[worst] > 1:
        return "over", worst
    return ("warn", worst) if shares[worst] >= WARN else ("ok", "")


def _share(used: int, ceiling: int) -> float:
    if ceiling > 0:
        return used / ceiling
    return math.inf if used > ceiling else 1.0


def _seconds(state: TaskState, now_ms: int) -> int:
    end_ms = max(now_ms if state.status == "open" else 0, state.touched_ms)
    return max(0, end_ms - state.started_ms) // 1_000 if state.started_ms else 0


def _timeless(amounts: Mapping[str, int]) -> dict[str, int]:
    return {unit: amount for unit, amount in amounts.items() if unit != "seconds"}
