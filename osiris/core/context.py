"""What is known of an agent's prompt: its model's price, its cache, and how full it is.

Rule 1: the model is that of the last declared usage; before one, nothing is known of it.
Rule 2: a price that is missing is None, never a guess: tokens only.
Rule 3: counters are kept under the model's name in the price table, others together, and under a
        lifetime that the provider offers, so that they are as many as there are rows.
Rule 4: a prefix lives as long as the usage declares; else as long as the setting `cache_ttl_s`
        says, where the provider offers that lifetime or promises none; else the provider's usual
        time. The setting's default says nothing of a cache that promises nothing.
"""

from osiris.core import cache_model, factor, pressure, prices
from osiris.core.cache_model import Belief, Gap, Provider
from osiris.core.decision import CACHE_TTL_S, Facts
from osiris.core.factor import Factor
from osiris.core.pressure import Pressure, Source
from osiris.core.prices import Price, Prices, Rates
from osiris.core.prompt_state import LastUsage
from osiris.core.task_state import TaskState
from osiris.core.tokens import exact

NEXT_S = 7.0  # median pause between two requests of a coding session
OTHER = "other"


def price_of(last: LastUsage, table: Prices) -> Price | None:
    return prices.find(table, last.model) if last.model else None


def rates_of(state: TaskState, facts: Facts) -> Rates | None:
    """Return the multiples that hold for the task's model, None when it has no price."""
    price = price_of(state.usage, facts.prices)
    if price is None:
        return None
    ttl_s = ttl_of(state.usage, facts)
    found = prices.rates(price, state.usage.usage.prompt, ttl_s)
    return found if isinstance(found, Rates) else None


def cache_of(last: LastUsage, table: Prices) -> Provider:
    """Return how the cache behind a model forgets, with the lifetimes that the data states."""
    provider = cache_model.provider_of(last.model, last.provider)
    lifetime = table.lifetimes.get(provider.name)
    return cache_model.with_lifetime(provider, lifetime) if lifetime else provider


def ttl_of(last: LastUsage, facts: Facts) -> int:
    """Return the lifetime, in seconds, that a prefix was written with (rule 4)."""
    provider = cache_of(last, facts.prices)
    if last.ttl_s in provider.ttl_s:
        return last.ttl_s
    said = facts.cache_ttl_s
    is_word = said != CACHE_TTL_S if not provider.ttl_s else said in provider.ttl_s
    return said if is_word else provider.default_s


def gap_of(last: LastUsage, facts: Facts, gap_s: float) -> Gap:
    """Return what is known before a request `gap_s` after the last one."""
    price = price_of(last, facts.prices)
    return Gap(
        gap_s,
        OTHER if price is None else price.model,
        ttl_of(last, facts),
        last.usage.prompt or None,
        None if price is None else price.min_cacheable_tokens,
    )


def cells_of(last: LastUsage, facts: Facts) -> str:
    """Return how the names of a model's counters begin."""
    key = cache_model.cell_key(cache_of(last, facts.prices), gap_of(last, facts, 0.0))
    return key.rpartition("/")[0] + "/"


def model_key(last: LastUsage, table: Prices) -> str:
    """Return the name that counters of a model are kept under."""
    price = price_of(last, table)
    return OTHER if price is None else price.model.replace("/", "-")[:64]


def factor_of(state: TaskState, facts: Facts) -> Factor:
    """Return how many provider tokens a token of the ruler is, for the task's model."""
    return factor.learned(state.usage.model, facts.factors)


def belief(state: TaskState, facts: Facts, gap_s: float = NEXT_S) -> Belief:
    """Return P(cache_dead) at a request `gap_s` after the last one."""
    last = state.usage
    gap = gap_of(last, facts, gap_s)
    return cache_model.p_dead(cache_of(last, facts.prices), gap, facts.learned)


def pressure_of(state: TaskState, facts: Facts) -> Pressure:
    """Return how full the prompt is by what was counted here and what was declared."""
    last = state.usage
    price = price_of(last, facts.prices)
    counted = (
        ("head", state.head_tokens),
        ("tools", state.contract_tokens),
        ("results", state.shown),
        ("osiris", sum(state.charged.values())),
    )
    sources = [Source(name, "measured", exact(tokens)) for name, tokens in counted if tokens]
    return pressure.pressure(
        (*sources, Source("history", "unknown")),
        pressure.window_of(price, last.window),
        last.usage if last.at_ms else None,
        price,
    )
