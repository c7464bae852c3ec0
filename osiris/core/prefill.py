"""PrefillPlan: what a change of a prompt makes the provider read anew, in tokens and money.

Rule 1: what a prompt holds before the change stays cached; all behind it is written again. The end
        is that of the last declared prompt; without one it is the end of the text that is known,
        and the plan is a lower bound.
Rule 2: writing again costs the write price less the read price that it would have been; what is
        new costs the write price whole. Money needs the price of a declared model.
"""

from msgspec import Struct

from osiris.core import context
from osiris.core.decision import Facts
from osiris.core.prices import Rates
from osiris.core.task_state import TaskState

Pairs = tuple[tuple[str, str], ...]


class PrefillPlan(Struct, frozen=True):
    """`tokens` are `rewritten` or `new`; a lower bound unless `is_whole`."""

    tokens: int
    is_whole: bool
    is_new: bool = False
    microusd: int | None = None


def rewritten(state: TaskState, before: int, changed: int, facts: Facts) -> PrefillPlan:
    """Return the plan for a change behind `before` tokens that concerns `changed` itself."""
    prompt = state.usage.usage.prompt
    is_whole = prompt > before + changed
    tokens = prompt - before if is_whole else changed
    rates = context.rates_of(state, facts)
    cost = None if rates is None else _microusd(tokens, rates.write - rates.read, rates)
    return PrefillPlan(tokens, is_whole, microusd=cost)


def appended(state: TaskState, tokens: int, facts: Facts) -> PrefillPlan:
    """Return the plan for what is added behind everything that is cached."""
    rates = context.rates_of(state, facts)
    cost = None if rates is None else _microusd(tokens, rates.write, rates)
    return PrefillPlan(tokens, is_whole=True, is_new=True, microusd=cost)


def pairs(plan: PrefillPlan | None) -> Pairs:
    """Return a plan for the first line of a reply."""
    if plan is None or not plan.tokens:
        return ()
    more = "" if plan.is_whole else "+"
    shown = (("new" if plan.is_new else "rewrites", f"{plan.tokens}{more}"),)
    if plan.microusd is None:
        return shown
    return (*shown, ("usd", f"{plan.microusd / 1e6:.4f}"))


def _microusd(tokens: int, times: float, rates: Rates) -> int:
    return round(tokens * times * rates.input_usd)
