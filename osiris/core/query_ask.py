"""A query as `recall` spells it: op, q, expr, from, to, n.

| op | q | expr | from, to | n |
|---|---|---|---|---|
| grep | pattern | -i -F -v -o -c -A2 -B2 -C2 | - | most rows |
| range | - | - | first and last line | lines from `from` on |
| head, tail | - | - | - | lines |
| outline | - | - | - | - |
| aggregate | pattern; its first group counts | count, distinct, top or stats; -i | - | most rows |
| jsonl | JMESPath if `expr` is empty | JMESPath | - | - |
| diff | ref of the older payload | - | - | - |
"""

from typing import Protocol

from osiris.core.errors import Refusal
from osiris.core.query_aggregate import HOWS, Aggregate
from osiris.core.query_diff import Diff
from osiris.core.query_grep import Grep
from osiris.core.query_json import Jsonl
from osiris.core.query_lines import Head, Range, Tail
from osiris.core.query_outline import Outline

Query = Range | Head | Tail | Grep | Outline | Aggregate | Jsonl | Diff

OPS = ("grep", "range", "head", "tail", "outline", "aggregate", "jsonl", "diff")
MAX_AROUND = 20
FLAGS = "-i -F -v -o -c -A2 -B2 -C2"
_LINES = 50
_ROWS = 10


class Asked(Protocol):
    """The arguments of a recall; `start` is its `from`."""

    @property
    def op(self) -> str: ...
    @property
    def q(self) -> str | None: ...
    @property
    def expr(self) -> str | None: ...
    @property
    def start(self) -> int | None: ...
    @property
    def to(self) -> int | None: ...
    @property
    def n(self) -> int | None: ...


def from_recall(asked: Asked) -> Query | Refusal:
    """Return the query that a recall asks for."""
    match asked.op:
        case "grep":
            return _grep(asked)
        case "range":
            first = asked.start or 1
            return Range(first, asked.to or (first + asked.n - 1 if asked.n else 0))
        case "head":
            return Head(asked.n or _LINES)
        case "tail":
            return Tail(asked.n or _LINES)
        case "outline":
            return Outline()
        case "aggregate":
            return _aggregate(asked)
        case "jsonl":
            return Jsonl(asked.expr or asked.q or "@")
        case "diff":
            return Diff(asked.q) if asked.q else _missing("diff", "the older ref as q=mem://...")
        case _:
            return Refusal("bad_argument", f"op {asked.op[:40]!r}", f"one of {', '.join(OPS)}")


def _missing(op: str, what: str) -> Refusal:
    return Refusal("missing_argument", f"{op} needs q", f"give {what}")


def _grep(asked: Asked) -> Query | Refusal:
    if not asked.q:
        return _missing("grep", "a pattern as q")
    flags: set[str] = set()
    around = {"A": 0, "B": 0}
    for flag in _flags(asked.expr or ""):
        letter, lines = flag[0], flag[1:]
        if letter in "ABC" and lines.isdigit():
            sides = "AB" if letter == "C" else letter
            around.update(dict.fromkeys(sides, min(MAX_AROUND, int(lines[:4]))))
        elif set(flag) <= set("iFvocnE"):
            flags |= set(flag)
        else:
            return Refusal("bad_argument", f"-{flag[:40]} is no flag of grep", f"flags: {FLAGS}")
    return Grep(
        asked.q,
        literal="F" in flags,
        ignore_case="i" in flags,
        invert="v" in flags,
        each="o" in flags,
        count_only="c" in flags,
        before=around["B"],
        after=around["A"],
        limit=asked.n or 0,
    )


def _flags(expr: str) -> list[str]:
    """Return the flags without their dashes; a number of its own belongs to the one before it."""
    flags: list[str] = []
    for word in expr.split():
        if word.isdigit() and flags:
            flags[-1] += word
        else:
            flags.append(word.lstrip("-") or "-")
    return flags


def _aggregate(asked: Asked) -> Query | Refusal:
    if not asked.q:
        return _missing("aggregate", "a pattern as q; its first group is what counts")
    words = (asked.expr or "").split()
    ignore_case = "-i" in words
    hows = [word for word in words if word != "-i"] or ["top"]
    for how in HOWS:
        if hows == [how]:
            return Aggregate(asked.q, how, asked.n or _ROWS, ignore_case=ignore_case)
    return Refusal("bad_argument", f"expr {' '.join(hows)[:40]!r}", f"one of {', '.join(HOWS)}")
