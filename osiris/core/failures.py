"""What a task remembers of calls that failed: one entry a signature, how often, what it said.

Rule 1: a failure is known by its signature, so the same error from other arguments is the same one;
        its id is `f` and eight digits, and a lesson noted under that id belongs to it.
Rule 2: the task keeps the last FAILURES; older ones are in the index.
"""

import re

from msgspec import Struct

from osiris.core import events as ev
from osiris.core import plain
from osiris.core.loop_window import Seen

FAILURES = 16
ERROR = 160
_SHOWN_ARGS = 8
_told = re.compile(
    r"\b(?:error|exception|fail(?:ed|ure)?|fatal|panic|denied|refused|cannot|not found|no such)",
    re.IGNORECASE,
)
_number = re.compile(r"^\d+: ")


class Failure(Struct, frozen=True, array_like=True):
    """`call` is the hash of tool and arguments at the last of `attempts`."""

    id: str
    tool: str
    call: str
    attempts: int
    error: str = ""
    ref: str = ""


Failures = tuple[Failure, ...]


def seen(call: Seen, text: str) -> ev.FailureSeen:
    """Return the event of a failed call whose result, or the stub of it, is `text`."""
    return ev.FailureSeen(call.fault, call.tool, call.call, error_of(text), call.ref)


def grown(known: Failures, event: ev.FailureSeen) -> Failures:
    """Return the last failures with one more; the newest is last."""
    item = id_of(event.fault)
    before = next((old.attempts for old in known if old.id == item), 0)
    others = tuple(old for old in known if old.id != item)
    new = Failure(item, event.tool, event.call, before + 1, event.error, event.ref)
    return (*others[1 - FAILURES :], new)


def id_of(fault: str) -> str:
    return f"f{fault[:8]}"


def error_of(text: str) -> str:
    """Return the line of a result that says what went wrong, the last one if none does."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    told = next((line for line in lines if _told.search(line)), lines[-1] if lines else "")
    return plain.one_line(_number.sub("", told), ERROR)


def told(failure: Failure) -> str:
    """Return a failure in one line, without its id."""
    times = "once" if failure.attempts == 1 else f"{failure.attempts} times"
    tool = plain.one_line(failure.tool, 40)
    said = f": {failure.error}" if failure.error else ""
    return f"{tool} failed {times}, args {failure.call[:_SHOWN_ARGS]}{said}"
