"""The price table that ships with OSIRIS, and what a user's file changes in it."""

from functools import cache
from importlib import resources

from osiris.core.errors import Refusal
from osiris.core.prices import Prices, merge, parse


@cache
def shipped() -> Prices:
    """Return the table of this release."""
    prices = parse(resources.files("osiris.core").joinpath("prices.json").read_bytes())
    assert isinstance(prices, Prices), prices
    return prices


def with_override(raw: bytes | None) -> Prices | Refusal:
    """Return the shipped table with a user's price file over it; None: no such file."""
    if raw is None:
        return shipped()
    override = parse(raw)
    return override if isinstance(override, Refusal) else merge(shipped(), override)
