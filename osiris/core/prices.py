"""What a token costs, from dated data; the caller brings the bytes.

Rule 1: an unknown model has no price. Nothing is guessed: the caller says tokens only.
Rule 2: a model is found by its name whatever wraps it: provider path, region, date, version;
        dots and dashes are the same. A near name is no match (`gpt-5-nano` is not `gpt-5`).
Rule 3: an override of the same shape wins field by field; null and absent mean "as before".
Rule 4: no write price means writes cost what input costs; no read price means no cache. Another
        missing price makes a sum `Unpriced`, never a smaller number.
Rule 5: above a tier the whole prompt is repriced: input by the tier, cache reads and writes in
        proportion. The data names no output tier; output keeps its price.
"""

import math
import re
from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from osiris.core.errors import Refusal

Usd = Annotated[float, Meta(ge=0, le=100_000)]  # per million tokens, so also microusd a token
Tokens = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]

HOUR_S: Final = 3_600


class Price(Struct, frozen=True):
    """One model's prices in USD per million tokens; `tiers` as the data names them."""

    model: Name
    provider: str | None = None
    input: Usd | None = None
    output: Usd | None = None
    cache_read: Usd | None = None
    cache_write: Usd | None = None
    cache_write_1h: Usd | None = None
    min_cacheable_tokens: Tokens | None = None
    max_input_tokens: Tokens | None = None
    tiers: dict[str, Usd] | None = None
    retires: str | None = None
    checked_against_second_source: bool | None = None


class Lifetime(Struct, frozen=True):
    """How long a provider says a cache entry lives; `default` null where it makes no promise."""

    ttl_s: tuple[Tokens, ...] = ()
    default: Tokens | None = None
    hard: bool = False
    refresh_on_read: bool = True


class Prices(Struct, frozen=True):
    """A price table: `rows` by folded model name, `aliases` from folded name to model name."""

    as_of: str
    rows: dict[str, Price]
    aliases: dict[str, str] = {}
    lifetimes: dict[str, Lifetime] = {}
    sources: tuple[str, ...] = ()


class Rates(Struct, frozen=True):
    """Prices as multiples of the uncached input price; `input_usd` is per million tokens."""

    input_usd: float
    write: float
    read: float
    output: float


class Usage(Struct, frozen=True):
    """Tokens of one model request as its provider counts them; `input` is what no cache held."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.cache_write_1h


class Unpriced(Struct, frozen=True):
    """A sum that cannot be made: the model is known, some of its prices are not."""

    model: str
    missing: tuple[str, ...]

    def text(self) -> str:
        names = ", ".join(self.missing)
        return f"tokens only: {self.model} has no price for {names}; add it to the price override"


class Tier(Struct, frozen=True):
    """Above `tokens` of prompt, input costs `input` USD per million."""

    tokens: int
    input: float


class _File(Struct, frozen=True):
    models: list[msgspec.Raw] = []
    as_of: Annotated[str, Meta(max_length=40)] = ""
    sources: tuple[Name, ...] = ()
    aliases: dict[str, Name] = {}
    ttl: dict[str, Lifetime] = {}


_TIER: Final = re.compile(r"input_cost_per_token_above_(\d{1,7})k_tokens")
_REGION: Final = re.compile(r"^(?:us|us-gov|eu|apac|jp|au|ca|global)\.")
_VENDOR: Final = re.compile(r"^(?:anthropic|amazon|openai|google|deepseek|xai)\.")
_MODE: Final = re.compile(r"(?:\[[^\]]*\]|:[a-z]+)$")
_VERSION: Final = re.compile(r"-v\d+(?::\d+)?$")
_DATE: Final = re.compile(r"(?:[-@]20\d\d-?[01]\d-?[0-3]\d|-latest|@default)$")
_WRAPPINGS: Final = (_REGION, _MODE, _VERSION, _DATE, _VENDOR)


def parse(raw: bytes) -> Prices | Refusal:
    """Return the table in a price file; a file with one wrong row is refused whole, naming it."""
    try:
        file = msgspec.json.decode(raw, type=_File)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return _refused(f"the price file is wrong: {str(error)[:160]}")
    if not (file.models or file.aliases or file.ttl):
        return _refused("the price file names no models")
    rows: dict[str, Price] = {}
    for n, row in enumerate(file.models, 1):
        price = _row(row)
        if isinstance(price, str):
            return _refused(f"model {n} of the price file is wrong: {price}")
        rows = dict.fromkeys(_names(price), price) | rows
    aliases = {_folded(alias): model for alias, model in file.aliases.items()}
    return Prices(file.as_of, rows, aliases, file.ttl, file.sources)


def merge(base: Prices, override: Prices) -> Prices:
    """Return `base` with what `override` says, price by price."""
    rows = dict(base.rows)
    for price in override.rows.values():
        known = next((base.rows[name] for name in _names(price) if name in base.rows), price)
        said = replace(known, **_said(price))
        rows.update(dict.fromkeys((*_names(price), *_names(known)), said))
    return Prices(
        base.as_of,
        rows,
        base.aliases | override.aliases,
        base.lifetimes | override.lifetimes,
        base.sources,
    )


def find(prices: Prices, model: str) -> Price | None:
    """Return the price of `model` as a client names it, or None."""
    for name in _forms(model):
        folded = _folded(name)
        alias = prices.aliases.get(folded)
        price = prices.rows.get(_folded(alias) if alias else folded)
        if price is not None:
            return price
    return None


def has(prices: Prices, price: Price) -> bool:
    """Say whether a table has a row for the model of `price`, as `merge` matches rows."""
    return any(name in prices.rows for name in _names(price))


def rates(price: Price, prompt_tokens: int = 0, ttl_s: int = 300) -> Rates | Unpriced:
    """Return the multiples that hold for a prompt of this size and a cache of this lifetime."""
    listed = filled(price)
    if isinstance(listed, Unpriced):
        return listed
    if not listed.input:
        return Rates(input_usd=0.0, write=1.0, read=1.0, output=1.0)
    scale = _scale(price, prompt_tokens)
    write = listed.cache_write_1h if ttl_s >= HOUR_S else listed.cache_write
    return Rates(
        input_usd=listed.input * scale,
        write=write / listed.input,
        read=listed.cache_read / listed.input,
        output=listed.output / (listed.input * scale),
    )


def cost_microusd(price: Price, usage: Usage) -> int | Unpriced:
    """Return what a request costs in millionths of a dollar, rounded up."""
    listed = filled(price)
    if isinstance(listed, Unpriced):
        return listed
    prompt = (
        usage.input * listed.input
        + usage.cache_read * listed.cache_read
        + usage.cache_write * listed.cache_write
        + usage.cache_write_1h * listed.cache_write_1h
    )
    whole = prompt * _scale(price, usage.prompt) + usage.output * listed.output
    return math.ceil(round(whole, 6))


def tier(price: Price, prompt_tokens: int) -> Tier | None:
    """Return the tier that a prompt of this size is in, None below the first."""
    return next((t for t in reversed(tiers(price)) if prompt_tokens > t.tokens), None)


def next_tier(price: Price, prompt_tokens: int) -> Tier | None:
    """Return the tier that a growing prompt meets next."""
    return next((t for t in tiers(price) if prompt_tokens <= t.tokens), None)


def tiers(price: Price) -> tuple[Tier, ...]:
    """Return the tiers of a model, lowest first; names the data does not explain are left out."""
    named = ((_TIER.fullmatch(name), usd) for name, usd in (price.tiers or {}).items())
    found = (Tier(int(name[1]) * 1_000, usd) for name, usd in named if name)
    return tuple(sorted(found, key=lambda each: each.tokens))


class Listed(NamedTuple):
    """A price with nothing left open, USD per million tokens."""

    input: float
    cache_read: float
    cache_write: float
    cache_write_1h: float
    output: float


def filled(price: Price) -> Listed | Unpriced:
    """Return a price with the rules of what is missing carried out."""
    if price.input is None or price.output is None:
        wanted = {"input": price.input, "output": price.output}
        return Unpriced(price.model, tuple(name for name, usd in wanted.items() if usd is None))
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    long = write if price.cache_write_1h is None else price.cache_write_1h
    return Listed(price.input, read, write, long, price.output)


def _scale(price: Price, prompt_tokens: int) -> float:
    reached = tier(price, prompt_tokens)
    return reached.input / price.input if reached and price.input else 1.0


def _row(raw: msgspec.Raw) -> Price | str:
    try:
        return msgspec.json.decode(raw, type=Price)
    except msgspec.DecodeError as error:
        return str(error)[:160]


def _said(price: Price) -> dict[str, object]:
    fields = asdict(price)
    return {name: value for name, value in fields.items() if name != "model" and value is not None}


def _names(price: Price) -> tuple[str, str]:
    return _folded(price.model), _folded(price.model.rpartition("/")[2])


def _forms(model: str) -> Iterator[str]:
    """Yield `model` and what remains of it as each wrapping comes off."""
    name = model.strip().lower()
    yield name
    name = name.rpartition("/")[2]
    yield name
    for wrapping in _WRAPPINGS:
        name = wrapping.sub("", name)
        yield name


def _folded(name: str) -> str:
    return name.strip().lower().replace(".", "-")


def _refused(what: str) -> Refusal:
    fix = 'correct it; a row is {"model", "input", "output", "cache_read", "cache_write", ...}'
    return Refusal("bad_prices", what, fix)
