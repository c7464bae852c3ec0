"""`osiris serve` and `osiris demo`: they run, print for themselves and return their exit code."""

from collections.abc import Callable

import click

from osiris.cli.context import Context
from osiris.cli.exits import CommandError
from osiris.cli.output import Shown, answers, json_option, wants_json


@click.command()
@answers
def serve(context: Context) -> Shown:
    """Own the home: keep the store, answer clients, until stopped or idle.

    Clients start an owner by themselves; this one runs in the foreground. Exit 0 as well when the
    home has an owner already.
    """
    status = context.serve()
    return Shown({"home": context.home.root, "exit": status}, exit=status)


@click.command()
@json_option
@click.pass_obj
def demo(context_factory: Callable[[], Context], *, as_json: bool) -> int:
    """Do a real job over MCP, kill the owner half way, and show what it saved. Offline."""
    run = context_factory().demo
    if run is None:
        fix = "see `osiris --help` for what there is"
        raise CommandError("not_yet", "`osiris demo` is not built yet", fix)
    return run(as_json=wants_json(as_json=as_json))
