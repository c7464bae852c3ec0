"""What a command is given: the home, its settings, and ways to ask the runtime.

Rule 1: the composition root fills it; no command knows sockets or stores.
Rule 2: questions that read go to the owner if there is one, else to the store itself: looking
        starts nothing. Everything else starts an owner when none runs.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from osiris.cli.exits import CommandError
from osiris.config import Loaded
from osiris.home import Home, HomeError

Args = Mapping[str, Any]
Answer = tuple[dict[str, Any], bytes]


class Context(Struct, frozen=True):
    """What the composition root knows and commands need.

    `ask(op, args, body)` starts an owner when needed; `ask_offline(op, args)` reads the store of a
    home without one. Both return a header and raw bytes, or the header {"error", "what", "fix"},
    and raise HomeError when there is nobody to ask, OSError when the answer breaks off, nothing
    else.
    `restore(source, force=...)` puts a copy in the store's place and `audit_bundle(path)` reads a
    file; both answer alike.
    `serve()` and `demo(as_json=...)` print for themselves and return an exit code.
    """

    home: Home
    settings: Loaded
    ask: Callable[[str, Args, bytes], Answer]
    is_owned: Callable[[], bool]
    serve: Callable[[], int]
    ask_offline: Callable[[str, Args], Answer] | None = None
    demo: Callable[..., int] | None = None
    restore: Callable[..., Answer] | None = None
    audit_bundle: Callable[[Path], Answer] | None = None

    def send(self, op: str, args: Args, body: bytes = b"") -> Answer:
        """Ask the owner, starting one if needed. Raises CommandError."""
        return accepted(lambda: self.ask(op, args, body))

    def read(self, op: str, args: Args) -> dict[str, Any]:
        """Ask whoever can say, the owner or the store. Raises CommandError."""
        offline = self.ask_offline
        if offline is None or self.is_owned():
            return self.send(op, args)[0]
        try:
            return accepted(lambda: offline(op, args))[0]
        except CommandError as refused:
            if refused.code == "busy" and self.is_owned():  # an owner came in between
                return self.send(op, args)[0]
            raise


def accepted(ask: Callable[[], Answer]) -> Answer:
    """Return an answer without its frame. Raises CommandError for a refusal or none."""
    try:
        header, body = ask()
    except HomeError as error:
        raise CommandError("no_owner", error.what, error.fix) from error
    except OSError as error:
        what = f"the answer broke off ({error.strerror or type(error).__name__})"
        raise CommandError("owner_died", what, "run the command again") from error
    if "error" in header:
        fix = str(header.get("fix", "see `osiris health`"))
        raise CommandError(str(header["error"]), str(header.get("what", "")), fix)
    return {name: value for name, value in header.items() if name != "body_bytes"}, body
