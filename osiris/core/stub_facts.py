"""What a text is about in one line: counts and names, by kind.

Rule: a fact is never longer than the characters it is given, and says what it leaves out.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from osiris.core import plain, stub_json
from osiris.core.query_lines import line_number
from osiris.core.stub_kind import Kind
from osiris.core.stub_lines import DEFINES, find

_named = re.compile(
    r"\b(?:def|class|fn|trait|impl|mod|module|interface|enum|struct|protocol|namespace|function"
    r"|func(?:\s*\([^)]*\))?|type|const|let|var)\*?\s+([\w.]+)|(\w+)\s*\("
)
_NAME = 60
_place = re.compile(rb"([^\s:]+)[:-]\d+[:-]")


def fact(kind: Kind, data: bytes, limit: int) -> str:
    """Return the fact of a text in at most `limit` characters; empty if its kind has none."""
    make = _TABLE.get(kind)
    return make(data, limit) if make else ""


def _json(data: bytes, limit: int) -> str:
    return stub_json.sketch(data, limit)


def _jsonl(data: bytes, limit: int) -> str:
    count, shape = stub_json.records_shape(data, limit - 24)
    return f"{_many(count, 'record')} of {shape}"


def _diff(data: bytes, limit: int) -> str:
    files: list[list[str | int]] = []
    for line in data.split(b"\n"):
        if line.startswith((b"diff --git ", b"+++ ")):
            name = line.split(b" b/", 1)[-1].split(b"+++ ", 1)[-1].decode("utf-8", "replace")
            if not files or files[-1][0] != name.removeprefix("b/"):
                files.append([name.removeprefix("b/"), 0, 0])
        elif files and line[:1] == b"+":
            files[-1][1] = int(files[-1][1]) + 1
        elif files and line[:1] == b"-" and not line.startswith(b"--- "):
            files[-1][2] = int(files[-1][2]) + 1
    added, removed = sum(int(file[1]) for file in files), sum(int(file[2]) for file in files)
    names = (f"{name} +{plus} -{minus}" for name, plus, minus in files)
    return listed(f"{_many(len(files), 'file')}, +{added:,} -{removed:,}", names, limit)


def _code(data: bytes, limit: int) -> str:
    found = find(DEFINES, data)
    names: list[str] = []
    for start, end in found.lines:
        line = data[start : min(end, start + 200)].decode("utf-8", "replace")
        name = _named.search(line)
        if name:
            names.append(f"{name[1] or name[2]}:{line_number(data, start)}")
    return listed(_many(found.total, "definition"), names, limit) if names else ""


def _search(data: bytes, limit: int) -> str:
    files: Counter[str] = Counter()
    lines = 0
    for line in data.split(b"\n"):
        place = _place.match(line)
        lines += bool(line.strip())
        if place:
            files[place[1].decode("utf-8", "replace")] += 1
    shared = _shared_folder(list(files))
    names = (f"{name.removeprefix(shared)} {count}" for name, count in files.most_common())
    where = f" in {_many(len(files), 'file')}" if files else ""
    under = f" under {shared}" if shared else ""
    return listed(f"{_many(lines, 'line')}{where}{under}", names, limit)


def _paths(data: bytes, limit: int) -> str:
    names = [line.decode("utf-8", "replace").strip() for line in data.split(b"\n") if line.strip()]
    names = [name for name in names if " " not in name]
    shared = _shared_folder(names)
    folders = Counter(name.removeprefix(shared).rpartition("/")[0] or "." for name in names)
    told = (f"{folder} {count}" for folder, count in folders.most_common())
    under = f" under {shared}" if shared else ""
    return listed(f"{_many(len(names), 'path')}{under}", told, limit)


def _shared_folder(names: list[str]) -> str:
    """Return the folder that all names are in, with its slash."""
    if len(names) < 2:  # noqa: PLR2004  (one name shares nothing)
        return ""
    low, high = min(names), max(names)
    same = next((at for at, char in enumerate(low) if high[at : at + 1] != char), len(low))
    return low[: low.rfind("/", 0, same) + 1]


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _end_of(name: str) -> str:
    return name if len(name) <= _NAME else "…" + name[-_NAME + 1 :]


def listed(head: str, names: Iterable[str], limit: int) -> str:
    """Return `head: a, b, c, +9` within `limit` characters."""
    text, left = plain.one_line(head, limit), 0
    for number, name in enumerate(names):
        item = (": " if not number else ", ") + plain.one_line(_end_of(name), _NAME)
        if left or len(text) + len(item) > limit - 8:
            left += 1
        else:
            text += item
    return f"{text}, +{left:,}" if left else text


_TABLE: dict[Kind, Callable[[bytes, int], str]] = {
    "json": _json,
    "jsonl": _jsonl,
    "diff": _diff,
    "code": _code,
    "search": _search,
    "paths": _paths,
}
