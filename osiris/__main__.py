"""The composition root: the only file that knows every room.

`mcp-osiris` and `python -m osiris` without arguments are the bridge; with arguments they are the
command line. Nothing is imported before it is known which, and nothing heavy before it is known
whose the home is.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from osiris.cli.context import Context
    from osiris.lock import OwnerLock


def main() -> int:
    """Run what the arguments name: the bridge for none, else an owner or a command."""
    return _ENTRIES.get(tuple(sys.argv[1:]), command_line)()


def bridge() -> int:
    """Serve stdin and stdout through the owner of the home."""
    from osiris import bridge as it  # noqa: PLC0415  a client waits for its first byte

    return it.main()


def serve() -> int:
    """Own the home, if nobody does."""
    from osiris import claim, home, leaving  # noqa: PLC0415  a loser of the race needs no more

    def live(lock: "OwnerLock") -> int:
        from osiris import owner  # noqa: PLC0415  heavy

        return owner.serve(place, lock)

    leaving.on_signals()
    try:
        place = home.resolve()
    except home.HomeError as error:
        sys.stderr.write(f"error no_owner: {error}\n")
        return claim.NO_HOME
    return claim.own(place, live)


def in_process() -> int:
    """Own the home and serve stdin and stdout; where that cannot be, be a bridge."""
    from osiris import claim, home, leaving  # noqa: PLC0415  a bridge needs no more

    leaving.on_signals()
    parent = os.getppid()
    status: int | None = None
    try:
        place = home.resolve()
        lock = claim.claim(place)
    except home.HomeError:
        return bridge()
    if lock is not None:
        from osiris import in_process as it  # noqa: PLC0415  heavy

        try:
            status = it.serve(place, lock, parent)
        finally:
            lock.release()
    return bridge() if status is None else status


def command_line() -> int:
    """Run one command."""
    from osiris.cli import app  # noqa: PLC0415  the bridge must not pay for it

    return app.main(_context, sys.argv[1:])


def _context() -> "Context":
    from osiris import config, liveness, reach  # noqa: PLC0415  only a command needs them
    from osiris.cli.context import Context  # noqa: PLC0415  same
    from osiris.doors import frames  # noqa: PLC0415  same
    from osiris.home import Home, resolve  # noqa: PLC0415  same

    home = resolve()

    def ask_at(
        home: Home, op: str, args: Mapping[str, Any], body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        with reach.connect_or_start(home, "doors") as sock, liveness.watched(home, sock):
            try:
                return frames.ask(sock, op, args, body, token=home.token())
            except frames.FrameError as error:
                return frames.refusal(error.code, error.what, error.fix), b""

    def demo(*, as_json: bool) -> int:
        from osiris.cli import demo as it  # noqa: PLC0415  heavy
        from osiris.server.sdk_client import connected  # noqa: PLC0415  heavy

        return it.run(connected, ask_at, as_json=as_json)

    def ask_offline(op: str, args: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        from osiris import offline  # noqa: PLC0415  heavy

        return offline.ask(home, op, args)

    def restore(source: "Path", *, force: bool) -> tuple[dict[str, Any], bytes]:
        from osiris import offline  # noqa: PLC0415  heavy

        return offline.restore(home, source, force=force)

    def audit_bundle(path: "Path") -> tuple[dict[str, Any], bytes]:
        from osiris import offline  # noqa: PLC0415  heavy

        return offline.audit_bundle(path)

    return Context(
        home=home,
        settings=config.load(home),
        ask=partial(ask_at, home),
        ask_offline=ask_offline,
        restore=restore,
        audit_bundle=audit_bundle,
        is_owned=home.is_owned,
        serve=serve,
        demo=demo,
    )


_ENTRIES: dict[tuple[str, ...], Callable[[], int]] = {
    (): bridge,
    ("serve",): serve,
    ("--in-process",): in_process,
}

if __name__ == "__main__":
    sys.exit(main())
