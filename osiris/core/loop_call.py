"""From an observed call to what the window keeps of it.

Rule 1: everything is told from the call and its result alone: no history, no clock.
Rule 2: a short result that reports unfinished work makes the call a poll, whatever its name; a
        failed call is none, and neither is the read of a file.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from osiris.core.canon import hexdigest
from osiris.core.loop_identity import call_key, normal_path
from osiris.core.loop_kinds import Kind, command_of, kind_of
from osiris.core.loop_outcomes import (
    FAILURES,
    Outcome,
    asked_wait_ms,
    is_waiting,
    outcome_of,
    progress_of,
)
from osiris.core.loop_signature import fault, signature
from osiris.core.loop_window import Range, Seen

_TOOL_CHARS: Final = 64
_BATCH_CHARS: Final = 64
_SHELL_CHARS: Final = 4096
_LINE_LIMIT: Final = 1_000_000_000

_FILE_KEYS: Final = ("file_path", "path", "filepath", "filename", "file", "target_file", "filePath")
_START_KEYS: Final = ("offset", "start_line", "line_start", "start", "from", "startLine")
_END_KEYS: Final = ("end_line", "line_end", "end", "to", "endLine")
_COUNT_KEYS: Final = ("limit", "count", "num_lines", "length", "n")
_SED_RANGE: Final = re.compile(r"\bsed +-n +['\"]?(\d{1,9}),(\d{1,9})p['\"]? +['\"]?([^\s'\"|;&]+)")


class Call(Struct, frozen=True):
    """A tool call and its result; `ok` or `text` None: not reported. `denied`: not executed."""

    tool: str
    args: Mapping[str, Any]
    text: str | None
    ok: bool | None
    at_ms: int
    exit_code: int | None = None
    denied: bool = False
    batch: str = ""
    state: str = ""
    ref: str = ""


def see(call: Call) -> Seen:
    """Return what is kept of `call`. Total; of the text see `loop_signature` for what is read."""
    key, text = call_key(call.tool, call.args), call.text or ""
    outcome = _outcome(call, text)
    subject, (first, last) = _range(call, text)
    return Seen(
        call=key,
        signature="" if call.text is None else signature(text, call.ok),
        tool=call.tool[:_TOOL_CHARS],
        kind=_kind(call, text, outcome, reads_file=bool(subject)),
        outcome=outcome,
        at_ms=call.at_ms,
        fault=(fault(text) if text else key[:8]) if outcome in FAILURES else "",
        batch=call.batch[:_BATCH_CHARS],
        state=hexdigest("loop-state", (call.state,))[:8] if call.state else "",
        subject=subject,
        first=first,
        last=last,
        progress=progress_of(text),
        wait_ms=asked_wait_ms(text) if outcome in FAILURES else 0,
        ref=call.ref,
    )


def _outcome(call: Call, text: str) -> Outcome:
    if call.denied:
        return "denied"
    return outcome_of(call.tool, call.args, text, ok=call.ok, exit_code=call.exit_code)


def _kind(call: Call, text: str, outcome: Outcome, *, reads_file: bool) -> Kind:
    kind = kind_of(call.tool, call.args)
    if kind in {"read", "run"} and outcome == "ok" and not reads_file and is_waiting(text):
        return "poll"
    return kind


def _range(call: Call, text: str) -> tuple[str, Range]:
    """Return the file a call is about, as 8 hex, and the lines it read; (0, 0): none are known."""
    shell = command_of(call.tool, call.args)
    if shell is not None:
        found = _SED_RANGE.search(shell[:_SHELL_CHARS]) if "sed" in shell else None
        return (_subject(found[3]), (int(found[1]), int(found[2]))) if found else ("", (0, 0))
    path = next((call.args[key] for key in _FILE_KEYS if isinstance(call.args.get(key), str)), None)
    if path is None:
        return "", (0, 0)
    reads = kind_of(call.tool, call.args) == "read"
    return _subject(path), _lines(call.args, text) if reads else (0, 0)


def _subject(path: str) -> str:
    return hexdigest("loop-subject", (normal_path(path),))[:8]


def _lines(args: Mapping[str, Any], text: str) -> Range:
    """Return the lines a ranged read asked for; an open end is where its result ends."""
    end = text.count("\n")
    match args.get("view_range"):
        case [int(start), int(stop)]:
            return _valid(start, stop if stop >= 0 else start + end)
        case _:
            pass
    first = _number(args, _START_KEYS)
    last = _number(args, _END_KEYS)
    count = _number(args, _COUNT_KEYS)
    if first is None and last is None and count is None:
        return (0, 0)
    start = max(1, first or 1)
    return _valid(start, last or (start + count - 1 if count else start + end))


def _number(args: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    values = (args.get(key) for key in keys)
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)


def _valid(first: int, last: int) -> Range:
    return (first, last) if 0 < first <= last <= _LINE_LIMIT else (0, 0)
