"""`osiris prices show`: what a token costs, by which table, and which rows are the user's."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from osiris.cli.context import Context
from osiris.cli.exits import Exit
from osiris.cli.layout import Screen, cell, number, pairs, table
from osiris.cli.output import Shown, answers
from osiris.prices_data import PRICES, PriceBook

PER_TOKENS = "USD per million tokens"
_COLUMNS = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
_HEADS = ("model", "input>", "output>", "read>", "write>", "write 1h>", "from")


@click.group(no_args_is_help=False)
def prices() -> None:
    """Show what tokens cost. A file `prices.json` in the home wins field by field."""


@prices.command()
@click.argument("model", required=False)
@answers
def show(context: Context, *, model: str | None) -> Shown:
    """Show the price table, or the row of MODEL as a client names it.

    An owner that runs reads the price file again. Exit 1 if the file cannot be used, and if MODEL
    has no price: then only its tokens are counted.
    """
    found = _found(context, model or "")
    problem = found["problem"]
    notes = () if problem is None else (_said(problem),)
    is_wrong = problem is not None or found["unknown"]
    return Shown(
        found,
        lambda at: _text(found, at),
        notes=notes,
        exit=Exit.WRONG if is_wrong else Exit.OK,
    )


def _found(context: Context, model: str) -> dict[str, Any]:
    if context.is_owned():
        return context.read("prices", {"model": model})
    return PriceBook(Path(context.home.root) / PRICES).listing(model)


def _said(problem: Mapping[str, Any]) -> str:
    what, fix = problem["what"], problem["fix"]
    return f"error {problem['code']}: {what}; the built-in prices hold | fix: {fix}"


def _text(said: Mapping[str, Any], screen: Screen) -> str:
    if said["unknown"]:
        return f"no price for {cell(said['unknown'], screen)}: its tokens are counted, not its cost"
    rows: Sequence[Mapping[str, Any]] = said["models"]
    if "cache" in rows[0]:
        return _one(rows[0], said, screen)
    lines = [(row["model"], *_usd(row), row["from"]) for row in rows]
    return f"{_head(said, screen)}\n\n{table(_HEADS, lines, screen)}"


def _one(row: Mapping[str, Any], said: Mapping[str, Any], screen: Screen) -> str:
    names = ("input", "output", "cache read", "cache write", "cache write 1 h")
    money = list(zip(names, _usd(row), strict=True))
    tiers: Mapping[str, float] = row["tiers"] or {}
    known: list[tuple[str, Any]] = [
        ("provider", row["provider"]),
        *((_tier(name), usd) for name, usd in tiers.items()),
        ("cached from", _tokens(row["min_cacheable_tokens"])),
        ("cache lives", _lives(row["cache"])),
        ("window", _tokens(row["max_input_tokens"])),
        ("retires", row["retires"]),
        ("from", row["from"]),
    ]
    shown = [*money, *((name, value) for name, value in known if value)]
    return f"{cell(row['model'], screen)}, {_head(said, screen)}\n\n{pairs(shown, screen)}"


def _head(said: Mapping[str, Any], screen: Screen) -> str:
    lines = [f"{PER_TOKENS}, as of {said['as_of']}"]
    lines += [f"  {cell(source, screen)}" for source in said["sources"]]
    if said["file"]:
        dated = f", as of {said['file_as_of']}" if said["file_as_of"] else ""
        lines.append(f"  {cell(said['file'], screen)}{dated}")
    return "\n".join(lines)


def _usd(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what each kind of token costs; `?` where nobody says."""
    prices = row["effective"] or row
    return tuple("?" if prices[name] is None else f"{prices[name]:g}" for name in _COLUMNS)


def _tier(name: str) -> str:
    return name.replace("_cost_per_token_", " ").replace("_", " ")


def _tokens(amount: int | None) -> str:
    return f"{number(amount)} tokens" if amount else ""


def _lives(cache: Mapping[str, Any]) -> str:
    times = [f"{ttl_s:,} s" for ttl_s in cache.get("ttl_s", ())]
    return " or ".join(times) or "no promise"
