"""What a recall of memory shows: which entries, in which order, each in one line.

| q           | shows                                                         |
| -           | all but files, tool results and what is superseded            |
| words       | those of them that hold the words                             |
| KIND: words | those of that kind; `file:` and `tool_result:` are such kinds |
| superseded: | what was replaced by another text under the same id           |

Rule 1: the nearest scope first, in it by kind, in that by age. A copy in a wider scope is left out
        where the entry it was made of is shown.
Rule 2: the lesson that stands under a failure's id is shown with it.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from osiris.core import plain
from osiris.core.memory import KINDS, Entry

ENTRY = 1_000
WHO = 40
ASKED_KINDS = ("file", "tool_result")
SUPERSEDED = "superseded"


class Wanted(Struct, frozen=True):
    """What a recall asks for: a kind, empty for the usual ones, and words in small letters."""

    kind: str = ""
    words: str = ""


class Line(Struct, frozen=True):
    """One thing remembered as it is shown; `day` is when, as 2026-03-01."""

    kind: str
    id: str
    scope: str
    by: str
    day: str
    text: str
    note: str = ""

    def __str__(self) -> str:
        who = plain.one_line(self.by, WHO)
        about = ", ".join(filter(None, (self.scope, who, self.day, self.note)))
        return f"{self.kind} {self.id} ({about}): {plain.one_line(self.text, ENTRY)}"


def wanted(q: str | None) -> Wanted:
    """Return what `q` asks for."""
    kind, colon, words = (q or "").partition(":")
    if colon and kind.strip() in (*KINDS, *ASKED_KINDS, SUPERSEDED):
        return Wanted(kind.strip(), words.strip().casefold())
    return Wanted("", (q or "").strip().casefold())


def shown(entries: Iterable[Entry], asked: Wanted) -> list[tuple[Entry, str]]:
    """Return the entries of `asked`, each with what is to be said of it beside its text.

    `entries` come with the nearest scope first and are in order of age within their kind.
    """
    known = list(entries)
    replaced, last = _replaced(known), {_name(entry): entry.version for entry in known}
    latest = [entry for entry in known if entry.version == last[_name(entry)]]
    roots = {entry.root: entry.text for entry in latest if not entry.origin}
    if asked.kind == SUPERSEDED:
        gone = [entry for entry in known if entry.version != last[_name(entry)]]
        return [(entry, SUPERSEDED) for entry in gone if _fits(entry, asked.words)]
    return [
        (entry, _about(entry, replaced))
        for entry in latest
        if asked.kind in ("", entry.kind)
        and _fits(entry, asked.words)
        and not (entry.origin and roots.get(entry.root) == entry.text)
    ]


def with_lessons(rows: Sequence[tuple[Entry, str]], entries: Iterable[Entry]) -> list[str]:
    """Return the texts of `rows`; a failure's has the lesson of its id."""
    lessons = {entry.id: entry.text for entry in entries if entry.kind == "lesson"}
    return [
        f"{entry.text}; lesson: {lessons[entry.id]}"
        if entry.kind == "failure" and entry.id in lessons
        else entry.text
        for entry, _ in rows
    ]


def _name(entry: Entry) -> tuple[str, str, str]:
    return entry.stream, entry.kind, entry.id


def _replaced(entries: Sequence[Entry]) -> dict[tuple[str, str, str], int]:
    """Return how many texts an id had before its last one."""
    counts: dict[tuple[str, str, str], int] = {}
    for entry in entries:
        counts[_name(entry)] = counts.get(_name(entry), 0) + 1
    return {name: count - 1 for name, count in counts.items() if count > 1}


def _about(entry: Entry, replaced: dict[tuple[str, str, str], int]) -> str:
    times = replaced.get(_name(entry), 0)
    source = f"from {entry.origin.replace('/', ' ')}" if entry.origin else ""
    return ", ".join(filter(None, (source, f"supersedes {times}" if times else "")))


def _fits(entry: Entry, words: str) -> bool:
    return words in f"{entry.kind} {entry.id} {entry.text}".casefold()
