"""`osiris config`: what holds, and where it was said."""

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from osiris.cli.context import Context
from osiris.cli.exits import Exit
from osiris.cli.layout import Screen, table
from osiris.cli.output import Shown, answers


@click.group(no_args_is_help=False)
def config() -> None:
    """Show the settings that hold in this folder and environment."""


@config.command()
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@answers
def show(context: Context, *, origin: bool) -> Shown:
    """Show every setting; exit 1 if one is wrong."""
    loaded = context.settings
    values: dict[str, Any] = msgspec.to_builtins(loaded.settings)
    problems = [msgspec.to_builtins(problem) for problem in loaded.problems]
    answer = {"settings": values, "origins": dict(loaded.origins), "problems": problems}
    is_wrong = any(problem.is_error for problem in loaded.problems)
    return Shown(
        answer,
        lambda at: _text(values, loaded.origins if origin else {}, at),
        notes=tuple(problem.text() for problem in loaded.problems),
        exit=Exit.WRONG if is_wrong else Exit.OK,
    )


def _text(values: Mapping[str, Any], origins: Mapping[str, str], screen: Screen) -> str:
    heads = ("setting", *(("origin",) if origins else ()), "value")
    rows = [
        (name, *((origins[name],) if origins else ()), _value(name, value))
        for name, value in values.items()
    ]
    return table(heads, rows, screen)


def _value(name: str, value: Any) -> str:
    if name == "roots":
        return ";".join(value) or "none"
    return str(int(value)) if isinstance(value, bool) else str(value) or "off"
