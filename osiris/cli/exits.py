"""What the exit code of a command says, and the error that ends one.

Rule 1: the table MEANINGS is the whole truth; `osiris --help` prints it.
Rule 2: an error is one line, "error CODE: what | fix: how", with the codes of `core.errors`.
"""

import re
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    OK = 0
    WRONG = 1
    USAGE = 2
    NOT_BUILT = 3
    NO_OWNER = 4
    INTERRUPTED = 130


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done, and all is well",
    Exit.WRONG: "something is wrong: damage was found, or the request was refused",
    Exit.USAGE: "the command line is wrong; nothing was asked",
    Exit.NOT_BUILT: "this command is not built yet",
    Exit.NO_OWNER: "no owner could be reached or started, or there is no home",
    Exit.INTERRUPTED: "interrupted by Ctrl-C",
}

# code -> exit; every other code is WRONG
_EXITS: dict[str, Exit] = {
    "bad_argument": Exit.USAGE,
    "missing_argument": Exit.USAGE,
    "unknown_argument": Exit.USAGE,
    "not_yet": Exit.NOT_BUILT,
    "no_owner": Exit.NO_OWNER,
    "owner_died": Exit.NO_OWNER,
}

_LINE = re.compile(r"error (\w+): (.*) \| fix: (.*)", re.DOTALL)


class CommandError(Exception):
    """A command that ends without its answer; `raw` is input that must not be lost with it."""

    def __init__(self, code: str, what: str, fix: str, raw: bytes = b"") -> None:
        super().__init__(f"error {code}: {what} | fix: {fix}")
        self.code = code
        self.what = what
        self.fix = fix
        self.raw = raw

    @property
    def exit(self) -> Exit:
        return _EXITS.get(self.code, Exit.WRONG)

    def as_json(self) -> dict[str, Any]:
        said = {"error": self.code, "what": self.what, "fix": self.fix}
        return {**said, "text": self.raw.decode("utf-8", "replace")} if self.raw else said


def parse_line(text: str) -> CommandError:
    """Read an error line back; a text that is none becomes the `what` of a refusal."""
    found = _LINE.fullmatch(text.strip())
    if found is None:
        return CommandError("bad_request", text.strip(), "see `osiris health`")
    return CommandError(found[1], found[2], found[3])
