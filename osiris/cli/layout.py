"""Text for people: tables, label lists, numbers and ages, within the columns of a screen.

Rule 1: stored text is escaped and cut before it is measured; nothing of it moves the cursor.
Rule 2: a cell that the screen's encoding lacks is escaped, so columns stay aligned in ASCII too.
Rule 3: numbers stand right with thousands separators; one column, the last, takes what is left.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest

from msgspec import Struct

from osiris.core import plain, refs

GAP = "  "
_MIN_REST = 10
_LONGEST = 500
# (below so many seconds, one unit, its name)
_AGES = ((60, 1, "s"), (3_600, 60, "min"), (86_400, 3_600, "h"), (30 * 86_400, 86_400, "d"))
_NOW_S = 5
_HASH = re.compile(r"[0-9a-f]{64}")


class Screen(Struct, frozen=True):
    """Where people read; `now_ms` is the moment that ages are counted from."""

    columns: int = 80
    encoding: str = "utf-8"
    is_terminal: bool = False
    now_ms: int = 0


def number(amount: int) -> str:
    return f"{amount:,}"


def many(amount: int, what: str) -> str:
    """Return "1 item", "2,000 items"."""
    return f"{amount:,} {what}" if amount == 1 else f"{amount:,} {what}s"


def ago(at_ms: int, now_ms: int) -> str:
    """Return how long ago a moment was; its UTC date beyond 30 days."""
    age_s = max(0, now_ms - at_ms) // 1000
    if age_s < _NOW_S:
        return "just now"
    for below_s, unit_s, name in _AGES:
        if age_s < below_s:
            return f"{age_s // unit_s} {name} ago"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")


def lasting(seconds: int) -> str:
    """Return a time as people say it, in its largest unit, rounded up: "10 min", "2 h"."""
    for below_s, unit_s, name in _AGES:
        if seconds < below_s:
            return f"{-(-seconds // unit_s)} {name}"
    return f"{-(-seconds // 86_400)} d"


def encodable(text: str, encoding: str) -> str:
    """Return `text` with what `encoding` lacks escaped, the ellipsis as three points."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plainer = text.replace("…", "...")
        return plainer.encode(encoding, "backslashreplace").decode(encoding)
    return text


def cell(value: object, screen: Screen) -> str:
    """Return a value as one line; whole numbers get their separators."""
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    return encodable(plain.one_line(str(value), _LONGEST), screen.encoding)


def width(text: str) -> int:
    """Return the columns that a line takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def cut(text: str, columns: int, screen: Screen) -> str:
    """Return a line in at most `columns`."""
    if width(text) <= columns:
        return text
    mark = encodable("…", screen.encoding)
    room = columns - len(mark)
    kept = ""
    for char in text:
        room -= _columns(char)
        if room < 0:
            break
        kept += char
    return kept + mark


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], screen: Screen) -> str:
    """Return rows under their heads; a column of numbers stands right, its head ending in `>`."""
    right = [head.endswith(">") for head in heads]
    lines = [[head.rstrip(">") for head in heads]]
    lines += [[cell(value, screen) for value in row] for row in rows]
    widths = [max(map(width, column)) for column in zip_longest(*lines, fillvalue="")]
    rest = screen.columns - sum(widths[:-1]) - len(GAP) * (len(widths) - 1)
    widths[-1] = min(widths[-1], max(_MIN_REST, rest))
    return "\n".join(_row(line, widths, right, screen) for line in lines)


def pairs(rows: Iterable[tuple[str, object]], screen: Screen) -> str:
    """Return labels and what they say, indented and aligned."""
    known = [(label, cell(value, screen)) for label, value in rows]
    label_width = max((len(label) for label, _ in known), default=0)
    room = screen.columns - label_width - 2 * len(GAP)
    return "\n".join(
        f"{GAP}{label:<{label_width}}{GAP}{cut(said, room, screen)}".rstrip()
        for label, said in known
    )


def amounts(rows: Iterable[tuple[str, int]]) -> str:
    """Return labels and amounts, the amounts right-aligned."""
    known = [(label, number(amount)) for label, amount in rows]
    labels = max((len(label) for label, _ in known), default=0)
    numbers = max((len(said) for _, said in known), default=0)
    return "\n".join(f"{label:<{labels}}{GAP}{said:>{numbers}}" for label, said in known)


def on_terminal(text: str) -> str:
    """Return stored text for a terminal: lines stay, other control characters are escaped."""
    lines = text.replace("\r\n", "\n")
    if lines.replace("\n", "").replace("\t", "").isprintable():
        return lines
    return "".join(
        char if char in "\n\t" or char.isprintable() else plain.one_line(char, 10) for char in lines
    )


def compact(value: object) -> str:
    """Return a field's value in few characters; hashes by their first 12 digits."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return number(value)
        case str():
            return value[: refs.SHORT] if _HASH.fullmatch(value) else value
        case _:
            return json.dumps(value, ensure_ascii=False)


def _row(line: Sequence[str], widths: Sequence[int], right: Sequence[bool], screen: Screen) -> str:
    cells: list[str] = []
    for text, columns, is_right in zip(line, widths, right, strict=True):
        shown = cut(text, columns, screen)
        blank = " " * (columns - width(shown))
        cells.append(blank + shown if is_right else shown + blank)
    return GAP.join(cells).rstrip()


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
