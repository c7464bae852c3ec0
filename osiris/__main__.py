"""The composition root: the only file that knows every room.

`mcp-osiris` and `python -m osiris` without arguments are the bridge; with arguments they are the
command line. Nothing is imported before it is known which.
"""

import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from osiris.cli.context import Context


def main() -> int:
    """Run the bridge when there are no arguments, the owner for `serve`, else the command line."""
    if sys.argv[1:] == ["serve"]:
        from osiris import home, owner  # noqa: PLC0415  an owner needs no command line

        return owner.serve(home.resolve())
    if len(sys.argv) > 1:
        return command_line()
    from osiris import bridge  # noqa: PLC0415  a client waits for its first byte

    return bridge.main()


def command_line() -> int:
    """Run one command."""
    from osiris.cli import app  # noqa: PLC0415  the bridge must not pay for it

    return app.main(_context, sys.argv[1:])


def _context() -> "Context":
    from osiris import config, reach  # noqa: PLC0415  only a command needs them
    from osiris.cli.context import Context  # noqa: PLC0415
    from osiris.doors import frames  # noqa: PLC0415
    from osiris.home import Home, resolve  # noqa: PLC0415

    home = resolve()

    def ask_at(
        home: Home, op: str, args: Mapping[str, Any], body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        with reach.connect_or_start(home, "doors") as sock:
            try:
                return frames.ask(sock, op, args, body, token=home.token())
            except frames.FrameError as error:
                return frames.refusal(error.code, error.what, error.fix), b""

    def demo(*, as_json: bool) -> int:
        from osiris.cli import demo as it  # noqa: PLC0415  heavy
        from osiris.server.sdk_client import connected  # noqa: PLC0415

        return it.run(connected, ask_at, as_json=as_json)

    def ask_offline(op: str, args: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        from osiris import offline  # noqa: PLC0415  heavy

        return offline.ask(home, op, args)

    def restore(source: "Path", *, force: bool) -> tuple[dict[str, Any], bytes]:
        from osiris import offline  # noqa: PLC0415  heavy

        return offline.restore(home, source, force=force)

    def serve() -> int:
        from osiris import owner  # noqa: PLC0415  heavy

        return owner.serve(home)

    return Context(
        home=home,
        settings=config.load(home),
        ask=partial(ask_at, home),
        ask_offline=ask_offline,
        restore=restore,
        is_owned=home.is_owned,
        serve=serve,
        demo=demo,
    )


if __name__ == "__main__":
    sys.exit(main())
