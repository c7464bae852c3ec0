"""The short text that stands for a payload.

Rule 1: a stub is a pure function of the payload's bytes, the tool's name and the surface; its token
        count is therefore an estimate, whatever the ruler could say by now.
Rule 2: it says how large the payload is, keeps what matters for its kind, and ends with the recall
        that gets the rest.
Rule 3: it costs at most the given tokens, and is never larger than a third of the payload; where
        that leaves no room there is no stub.
Rule 4: it is safe to show: every line of the payload stands behind its number, hidden characters
        are escaped, long lines cut, and nothing in it can be taken for a manifest.
"""

import re
from typing import Literal

from osiris.core import canon, plain, refs
from osiris.core.query_lines import line_number, total_lines
from osiris.core.stub_facts import fact
from osiris.core.stub_json import first_path
from osiris.core.stub_kind import NUMBERED, Kind, kind_of
from osiris.core.stub_lines import ENOUGH, TABLE, Found, find

BUDGET_TOKENS = 120
Surface = Literal["portable", "dotted", "dispatch", "shell"]

_LINE = 140
_NAME = 40
_SHARE = 3
_SMALLEST = 600
_IN_BYTES = 10_000
_CHARS_PER_TOKEN = 3
_word = re.compile(r"[A-Za-z]+|\d+|\s+|[^\w\s]+|.", re.DOTALL)
_digits = re.compile(r"\d+")
_blanks = re.compile(r"\s+")
_number = re.compile(NUMBERED)

# surface -> how a recall is written there
_CALLS: dict[Surface, str] = {
    "portable": "osiris_recall op={op} ref={ref}{query}",
    "dotted": "osiris.recall op={op} ref={ref}{query}",
    "dispatch": "osiris_call op=recall args: op={op} ref={ref}{query}",
    "shell": "osiris grep {ref} PATTERN, or osiris get {ref}",
}
# kind -> how it is called, and the recall that gets most of the rest
_KINDS: dict[Kind, tuple[str, str, str]] = {
    "json": ("JSON", "jsonl", ' expr="{path}"'),
    "jsonl": ("JSON lines", "jsonl", ' expr="[0]"'),
    "diff": ("diff", "grep|range", ' q="^@@"'),
    "test": ("test output", "grep|tail", ' q="FAIL"'),
    "trace": ("stack trace", "grep|tail", ' q="Error"'),
    "search": ("matches", "grep|range", " q=..."),
    "paths": ("paths", "grep|range", " q=..."),
    "code": ("code", "range|grep|outline", ""),
    "markdown": ("markdown", "range|grep|outline", ""),
    "log": ("log", "grep|tail|range", ' q="error"'),
    "csv": ("table", "grep|range", " q=..."),
    "text": ("text", "grep|range|tail", " q=..."),
}


def stub(
    text: str,
    tool: str = "",
    *,
    surface: Surface = "portable",
    budget_tokens: int = BUDGET_TOKENS,
    sha256: str = "",
) -> str:
    """Return the stub of a payload, or "" if the payload is too small to have one.

    `sha256` is the payload's hash, computed here if it is not given.
    """
    if len(text) < _SMALLEST:
        return ""
    data = text.encode("utf-8", "surrogatepass")
    ref = refs.short(sha256 or canon.sha256_hex(data))
    kind = kind_of(data)
    head, more = _head(data, kind, tool), _more(kind, ref, data, surface)
    room = _Room(
        budget_tokens - weight(head) - weight(more), len(text) // _SHARE - len(head) - len(more) - 2
    )
    if room.chars < 0:
        return ""
    return "\n".join((head, *_body(kind, data, room), more))


def weight(text: str) -> int:
    """Return about how many tokens a text has, seldom too few: words by length, marks by two."""
    total = 0
    for piece in _word.findall(text):
        if piece.isascii() and piece.isalpha():
            total += 1 + (len(piece) - 1) // 6
        elif piece.isdigit():
            total += -(-len(piece) // 3)
        elif piece.isspace():
            total += piece != " "
        else:
            total += (
                len(piece.encode("utf-8", "replace"))
                if not piece.isascii()
                else -(-len(piece) // 2)
            )
    return total


class _Room:
    """What is left of the stub's size."""

    def __init__(self, tokens: int, chars: int) -> None:
        self.tokens, self.chars = tokens, chars

    def takes(self, line: str) -> bool:
        """Say whether `line` still fits, and if so take its place."""
        if weight(line) + 1 > self.tokens or len(line) + 1 > self.chars:
            return False
        self.tokens -= weight(line) + 1
        self.chars -= len(line) + 1
        return True


def _head(data: bytes, kind: Kind, tool: str) -> str:
    lines = total_lines(data)
    size = f"{len(data):,} B" if len(data) < _IN_BYTES else f"{len(data) / 1000:,.0f} kB"
    name = plain.one_line(tool, _NAME)
    shown = name and weight(name) <= _NAME // 2 and not plain.looks_like_manifest(name)
    by = f" from {name}" if shown else ""
    plural = "" if lines == 1 else "s"
    return f"[{_KINDS[kind][0]}{by}: {lines:,} line{plural}, {size}, stored whole]"


def _more(kind: Kind, ref: str, data: bytes, surface: Surface) -> str:
    _, op, query = _KINDS[kind]
    if kind == "json":
        query = query.format(path=first_path(data))
    return "more: " + _CALLS[surface].format(op=op, ref=ref, query=query)


def _body(kind: Kind, data: bytes, room: _Room) -> list[str]:
    """Return the lines of a stub between its first and its last."""
    found = [find(keep, data) for keep in TABLE.get(kind, ())]
    about = _counts(found)
    if about and not room.takes(about):
        about = ""
    facts = _fact(kind, data, room)
    lines: dict[int, str] = {}
    told: set[str] = set()
    for start, end in (line for row in found for line in row.lines):
        line = _tidy(data[start : min(end, start + 4 * _LINE)])
        shape = _digits.sub("0", line)
        if start in lines or shape in told or plain.looks_like_manifest(line):
            continue
        told.add(shape)
        shown = f"{line_number(data, start)}: {plain.one_line(line, _LINE)}"
        if room.takes(shown):
            lines[start] = shown
    return [*filter(None, (about, facts)), *(lines[start] for start in sorted(lines))]


def _tidy(line: bytes) -> str:
    """Return a line without the number a tool put before it, and with single blanks."""
    text = line.decode("utf-8", "ignore")
    return _blanks.sub(" ", _number.sub("", text, count=1)).strip()


def _fact(kind: Kind, data: bytes, room: _Room) -> str:
    """Return the largest fact there is room for."""
    limit = min(room.chars - 1, room.tokens * 4)
    while limit > _LINE // 4:
        told = fact(kind, data, limit)
        if not told or plain.looks_like_manifest(told):
            return ""
        if room.takes(told):
            return told
        limit = limit * 4 // 5
    return ""


def _counts(found: list[Found]) -> str:
    """Return how many lines there are of each row that is not shown in full."""
    told = [
        f"{row.total:,}{'+' if row.total >= ENOUGH else ''} {row.label}"
        for row in found
        if row.total > len(row.lines) and row.label
    ]
    return ", ".join(told)
