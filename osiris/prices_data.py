"""The price table that ships with OSIRIS, and what a user's file changes in it.

Rule 1: the file is read when an owner starts and whenever somebody looks at the prices.
Rule 2: a file that cannot be used is refused whole, by name, and the built-in table holds.
"""

from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from osiris.core import cache_model, prices
from osiris.core.errors import Refusal
from osiris.core.prices import Price, Prices, merge, parse

PRICES = "prices.json"  # the user's file, in the home
BUILT_IN, OWN = "built-in", "yours"
FILE_MAX = 1 << 20


@cache
def shipped() -> Prices:
    """Return the table of this release."""
    table = parse(resources.files("osiris.core").joinpath("prices.json").read_bytes())
    assert isinstance(table, Prices), table
    return table


def with_override(raw: bytes | None) -> Prices | Refusal:
    """Return the shipped table with a user's price file over it; None: no such file."""
    if raw is None:
        return shipped()
    override = parse(raw)
    return override if isinstance(override, Refusal) else merge(shipped(), override)


class PriceBook:
    """The prices that hold: `now` is the table, `problem` why the file at `path` is not in it."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._own: Prices | None = None
        self.now = shipped()
        self.problem: Refusal | None = None
        self.read()

    def read(self) -> None:
        """Take up the file as it is now."""
        raw, self.problem = _content(self._path)
        found = None if raw is None else parse(raw)
        if isinstance(found, Refusal):
            self.problem, found = found, None
        self._own = found
        self.now = shipped() if found is None else merge(shipped(), found)

    def listing(self, model: str = "") -> dict[str, Any]:
        """Return the table as JSON, or the one row of `model` with its cache's lifetime."""
        rows = [self._row(price) for price in _once(self.now)] if not model else []
        price = prices.find(self.now, model) if model else None
        if price is not None:
            rows = [{**self._row(price), "cache": self._lifetime(price)}]
        return {
            "as_of": self.now.as_of,
            "sources": list(self.now.sources),
            "file": "" if self._own is None else str(self._path),
            "file_as_of": "" if self._own is None else self._own.as_of,
            "problem": None if self.problem is None else msgspec.structs.asdict(self.problem),
            "unknown": model if model and price is None else "",
            "models": rows,
        }

    def _row(self, price: Price) -> dict[str, Any]:
        """Return a row with the prices that hold where the data names none."""
        listed = prices.filled(price)
        effective = None if isinstance(listed, prices.Unpriced) else listed._asdict()
        named = msgspec.to_builtins(price)
        return {**named, "effective": effective, "from": self._origin(price)}

    def _origin(self, price: Price) -> str:
        own = self._own
        return OWN if own is not None and prices.has(own, price) else BUILT_IN

    def _lifetime(self, price: Price) -> dict[str, Any]:
        provider = cache_model.provider_of(price.model, price.provider or "")
        found = self.now.lifetimes.get(provider.name)
        known = {} if found is None else msgspec.structs.asdict(found)
        return {"kind": provider.name, **known}


def _once(table: Prices) -> Iterator[Price]:
    """Yield each model of a table once, as the data has them in order."""
    seen = dict[str, Price]()
    for price in table.rows.values():
        seen.setdefault(price.model, price)
    yield from sorted(seen.values(), key=lambda price: (price.provider or "", price.model))


def _content(path: Path | None) -> tuple[bytes | None, Refusal | None]:
    """Return the bytes of the user's file, None when there is none, and why it cannot be read."""
    if path is None:
        return None, None
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_MAX + 1)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror}"
        return None, Refusal("bad_prices", what, "mend or remove the file")
    if len(raw) > FILE_MAX:
        return None, Refusal("bad_prices", f"{path} is larger than 1 MiB", "make it smaller")
    return raw, None
