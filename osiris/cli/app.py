"""The command line: which command, its context, its exit code.

Rule 1: click is the only library imported before the command is known.
Rule 2: whatever ends a command becomes one line and an exit code of `exits`; only a bug shows a
        traceback.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from osiris import __version__
from osiris.cli.commands import COMMANDS
from osiris.cli.exits import MEANINGS, CommandError, Exit
from osiris.home import HomeError

if TYPE_CHECKING:
    from osiris.cli.context import Context

# click's error -> code of `core.errors`; every other one is bad_argument
_CODES: dict[type[click.UsageError], str] = {
    click.NoSuchOption: "unknown_argument",
    click.MissingParameter: "missing_argument",
}


def main(context_factory: "Callable[[], Context]", argv: Sequence[str]) -> int:
    """Run the command of `argv` and return its exit code."""
    try:
        status: object = osiris.main(
            list(argv), prog_name="osiris", standalone_mode=False, obj=context_factory
        )
    except click.Abort:
        return Exit.INTERRUPTED
    except click.UsageError as error:
        failure = _usage(error, argv)
    except CommandError as error:
        failure = error
    except HomeError as error:
        failure = CommandError("no_owner", error.what, error.fix)
    except OSError as error:
        why = error.strerror or type(error).__name__
        failure = CommandError("storage_error", f"cannot write the answer: {why}", "make room")
    else:
        return status if isinstance(status, int) else Exit.OK
    from osiris.cli import output  # noqa: PLC0415  20 ms that `--version` does not pay

    output.fail(failure, is_json=_wants_json(argv))
    return failure.exit


class LazyGroup(click.Group):
    """The commands of the table, each loaded on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  same
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if not entry.place:
            return _unbuilt(cmd_name, entry.help)
        module, _, name = entry.place.partition(":")
        found: object = getattr(importlib.import_module(module), name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  same
        for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [(name, e.help) for name, e in COMMANDS.items() if e.section == section],
                    col_max=12,
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  same
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code.value), said) for code, said in MEANINGS.items()])


@click.group(cls=LazyGroup, no_args_is_help=False)
@click.version_option(__version__, message="osiris %(version)s")
@click.option("--json", "as_json", is_flag=True, help="Print JSON alone; every command takes it.")
def osiris(*, as_json: bool) -> None:
    """Durable tasks and refs for AI agents: look at them, store and search texts.

    Without a command it is the bridge that an MCP client starts.
    """


def _unbuilt(name: str, said: str) -> click.Command:
    def callback(**_: object) -> None:
        fix = "see `osiris --help` for what there is"
        raise CommandError("not_yet", f"`osiris {name}` is not built yet", fix)

    return click.Command(
        name,
        callback=callback,
        params=[click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        help=f"{said}\n\nThis command is not built yet.",
        options_metavar="",
    )


def _usage(error: click.UsageError, argv: Sequence[str]) -> CommandError:
    code = _CODES.get(type(error), "bad_argument")
    if error.ctx:
        path = error.ctx.command_path
    else:
        path = " ".join(["osiris", *(name for name in argv[:1] if name in COMMANDS)])
    return CommandError(code, error.format_message().rstrip("."), f"see `{path} --help`")


def _wants_json(argv: Sequence[str]) -> bool:
    own = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in own
