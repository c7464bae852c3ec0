"""How a call ended, and what its result says about progress.

Rule 1: transient (rate limit, unavailable, timeout, lock) passes by itself; deterministic stays
        until something is changed; lookup is a deterministic one of a search for what is where.
Rule 2: informational is an answer, no failure: exit 1 of grep, diff or test, and failing tests.
Rule 3: a denied call and a sibling's skipped one did not happen: they are no history.
Rule 4: a write that says it changed nothing is a no-op, and no progress.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from osiris.core.loop_kinds import command_of, simple_commands

Outcome = Literal[
    "ok", "noop", "informational", "transient", "lookup", "deterministic", "denied", "skipped"
]
FAILURES: Final = frozenset({"transient", "lookup", "deterministic"})

_EDGE_CHARS: Final = 2048
_SHORT_CHARS: Final = 600
_LINE_CHARS: Final = 100
DONE: Final = 1000

# Class -> what its texts say, in the order they are tried. What no row knows is deterministic.
DENIED: Final = (
    r"denied by (?:policy|hook|the user)|doesn't want to proceed|rejected by (?:the )?user"
)
SKIPPED: Final = r"sibling tool call errored|skipped because|not executed"
ANSWERS: Final = (
    r"\b[1-9]\d* (?:tests? )?(?:failed|failures?|failing)\b|^--- FAIL|^FAIL(?:ED)?\b|\bFAILED \("
)
TRANSIENT: Final = (
    r"\b(?:408|425|429|502|503|504|529)\b(?! ?(?:lines?|bytes?|tests?))|rate.?limit"
    r"|too many requests|overloaded|(?:temporarily|service) unavailable|try again (?:later|in|soon)"
    r"|timed? ?out|ETIMEDOUT|ECONNRE(?:SET|FUSED)|connection (?:reset|refused)|EAI_AGAIN|EBUSY"
    r"|could not resolve host|resource busy|deadlock|is locked|could not get lock"
    r"|\.lock['\"]?:? (?:file )?exists"
)
LOOKUP: Final = (
    r"ENOENT|no such file|not found|(?:does not|doesn't) exist"
    r"|cannot find the (?:file|path)|\b404\b"
)
DETERMINISTIC: Final = (
    r"EACCES|EPERM|permission denied|forbidden|unauthori[sz]ed|\b40[13]\b|unknown tool|no such tool"
    r"|schema|invalid|validation|syntax ?error|type ?error|must (?:be|match)|required"
)
NOOP: Final = (
    r"\bno changes?\b|nothing to (?:do|commit|change)|already (?:up.to.date|exists|applied)"
    r"|\b0 (?:files?|rows?) changed|identical content|\bunchanged\b|\bnot modified\b"
)

# The command whose exit 1 is its answer.
ASKING: Final = frozenset({
    "grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "pgrep", "which",
    "findstr", "git diff", "git grep", "git merge-base", "git check-ignore",
})  # fmt: skip

RUNNING: Final = re.compile(
    r"(?i)\b(?:queued|pending|running|in.?progress|waiting|starting|building|processing|scheduled"
    r"|provisioning|initiali[sz]ing|(?:down|up)loading|compiling|installing|not (?:yet )?ready)\b"
)

_CLASSES: Final[dict[Outcome, re.Pattern[str]]] = {
    "transient": re.compile(TRANSIENT, re.IGNORECASE),
    "deterministic": re.compile(DETERMINISTIC, re.IGNORECASE),
    "lookup": re.compile(LOOKUP, re.IGNORECASE),
}
_DENIED: Final = re.compile(DENIED, re.IGNORECASE)
_SKIPPED: Final = re.compile(SKIPPED, re.IGNORECASE)
_ANSWERS: Final = re.compile(ANSWERS, re.MULTILINE)
_NOOP: Final = re.compile(NOOP, re.IGNORECASE)
_EXIT: Final = re.compile(r"(?i)\bexit(?:ed)?(?: with)?(?: code| status)?[ :=]+(\d{1,3})\b")
_PERCENT: Final = re.compile(r"(?<![\w.])(\d{1,3})(?:\.(\d))?\d* ?%")
_RATIO: Final = re.compile(r"(?<![\w./])(\d{1,6}) ?(?:/|of) ?(\d{1,6})(?![\w./])")
_WAIT: Final = re.compile(
    r"(?i)(?:retry[-_ ]?after|(?:try|retry) again in|wait)[\"' :=]{1,4}"
    r"(\d{1,5})(?:\.\d+)? ?(ms|m\b|min)?"
)
_NOTHING: Final = re.compile(r"(?i)^\W{0,4}(?:no (?:output|match|result|file)|$)")
# Parts of the words above in lower case: a text without any of them needs no search, which is ten
# times dearer.
_RUNNING_HINTS: Final = ("queued", "progress", "scheduled", "ready")
_ING_HINTS: Final = (
    "pending", "running", "waiting", "starting", "building", "processing", "provisioning",
    "initiali", "loading", "compiling", "installing",
)  # fmt: skip
_NOOP_HINTS: Final = (
    "no change", "nothing to ", "already ", "0 file", "0 row", "identical content", "unchanged",
    "not modified",
)  # fmt: skip
_UNIT_MS: Final = {"ms": 1, None: 1000, "m": 60_000, "min": 60_000}
_WAIT_LIMIT_MS: Final = 3_600_000


def outcome_of(
    tool: str, args: Mapping[str, Any], text: str, *, ok: bool | None, exit_code: int | None
) -> Outcome:
    """Return how the call ended; with `ok` unknown, its exit code says it, else it counts as ok."""
    edges = _edges(text)
    if exit_code is None and not ok:
        exit_code = _exit_code(edges)
    if ok or (ok is None and not exit_code):
        return "noop" if _is_noop(args, edges) else "ok"
    if _DENIED.search(edges):
        return "denied"
    if _SKIPPED.search(edges):
        return "skipped"
    if _is_answer(command_of(tool, args), edges, exit_code):
        return "informational"
    for name, words in _CLASSES.items():
        if words.search(edges):
            return name
    return "deterministic"


def is_waiting(text: str) -> bool:
    """Say whether a short result reports work that is still going on."""
    if len(text) > _SHORT_CHARS:
        return False
    if _may_be_running(text.lower()) and RUNNING.search(text):
        return True
    return len(text) <= _LINE_CHARS and 0 <= progress_of(text) < DONE


def progress_of(text: str) -> int:
    """Return the last percentage or ratio of a result in thousandths, -1 if it has none."""
    tail = text[-_EDGE_CHARS:]
    found = -1
    for match in _PERCENT.finditer(tail) if "%" in tail else ():
        found = min(int(match[1]) * 10 + int(match[2] or 0), DONE)
    if found >= 0:
        return found
    for match in _RATIO.finditer(tail) if _may_have_ratio(tail) else ():
        done, total = int(match[1]), int(match[2])
        found = done * DONE // total if 0 <= done <= total and total else found
    return found


def _may_have_ratio(text: str) -> bool:
    """Say whether a digit stands before a slash or an `of`."""
    return any(
        before.rstrip(" ")[-1:].isdigit()
        for sign in ("/", "of")
        if sign in text
        for before in text.split(sign)[:-1]
    )


def asked_wait_ms(text: str) -> int:
    """Return the wait that a failing service asked for, 0 if it named none; an hour at most."""
    match = _WAIT.search(_edges(text))
    if match is None:
        return 0
    unit = match[2].lower() if match[2] else None
    return min(int(match[1]) * _UNIT_MS[unit], _WAIT_LIMIT_MS)


def _edges(text: str) -> str:
    return text if len(text) <= 2 * _EDGE_CHARS else text[:_EDGE_CHARS] + "\n" + text[-_EDGE_CHARS:]


def _exit_code(text: str) -> int | None:
    match = _EXIT.search(text)
    return int(match[1]) if match else None


def _is_noop(args: Mapping[str, Any], text: str) -> bool:
    for old, new in (("old", "new"), ("old_string", "new_string"), ("oldText", "newText")):
        if old in args and args[old] == args.get(new):
            return True
    is_told = len(text) <= _SHORT_CHARS and _has_any(text, _NOOP_HINTS)
    return is_told and _NOOP.search(text) is not None


def _may_be_running(lower: str) -> bool:
    return any(map(lower.__contains__, _RUNNING_HINTS)) or (
        "ing" in lower and any(map(lower.__contains__, _ING_HINTS))
    )


def _has_any(text: str, words: tuple[str, ...]) -> bool:
    return any(map(text.lower().__contains__, words))


def _is_answer(command: str | None, text: str, exit_code: int | None) -> bool:
    if _ANSWERS.search(text):
        return True
    if command is None or exit_code not in {None, 1}:
        return False
    if exit_code is None and not _NOTHING.match(text.strip()):
        return False
    commands = simple_commands(command)
    last = commands[-1] if commands else ("",)
    return last[0] in ASKING or " ".join(last[:2]) in ASKING
