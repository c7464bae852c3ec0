"""What the bench of queries asks of each payload, easy questions and nasty ones.

| part | what it is |
| op | which op of osiris_recall |
| of | which payload of `query_material` |
| args | the other arguments |
| by | `ref`, or `path`: the file is read and redacted first |
"""

from collections.abc import Mapping
from typing import Any

import msgspec

HUNDRED_WORDS = "|".join(f"word{n}[a-z]{{1,9}}x" for n in range(100))
NESTED = "(a+)+$"


class Question(msgspec.Struct, frozen=True):
    op: str
    of: str
    args: Mapping[str, Any] = {}
    by: str = "ref"
    old: str = ""

    @property
    def name(self) -> str:
        asked = " ".join(f"{key}={str(text)[:40]}" for key, text in self.args.items())
        old = f"from {self.old}" if self.old else ""
        return " ".join(filter(None, (self.op, f"[{self.of}]", old, asked, self.by)))


def _greps() -> list[Question]:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("log", {"q": "ERROR"}),
        ("log", {"q": "no such line at all"}),
        ("log", {"q": "."}),
        ("log", {"q": "(a+)+$"}),
        ("log", {"q": "took (1[0-9]+) ms", "expr": "-c"}),
        ("log", {"q": "worker", "expr": "-v"}),
        ("log", {"q": "ERROR", "expr": "-C5", "n": 5000}),
        ("log", {"q": HUNDRED_WORDS}),
        ("log", {"q": "(x{0,30}){0,30}y"}),
        ("log", {"q": "[a-z]*[0-9]*[a-z]*=[^ ]*$", "expr": "-i"}),
        ("code", {"q": "e", "expr": "-o"}),
        ("minified", {"q": "function f9999\\("}),
        ("minified", {"q": ".*"}),
        ("minified", {"q": "v[0-9]+=", "expr": "-o", "n": 100}),
        ("one letter", {"q": NESTED}),
        ("one letter", {"q": "(a?){500}b"}),
        ("one letter", {"q": "a", "expr": "-o -c"}),
        ("line ends", {"q": "^$"}),
        ("line ends", {"q": "^$", "expr": "-c"}),
        ("emoji", {"q": "[^a]", "expr": "-o"}),
        ("json", {"q": '"state":"retry"', "expr": "-F -o"}),
    ]
    return [Question("grep", of, args) for of, args in asked] + [
        Question("grep", of, {"q": "ERROR|state"}, by="path") for of in ("log", "json", "minified")
    ]


def _lines() -> list[Question]:
    names = ("log", "json", "minified", "line ends", "emoji")
    return [
        *(Question("head", of, {"n": n}) for of in names for n in (5, 100_000)),
        *(Question("tail", of, {"n": n}) for of in names for n in (5, 100_000)),
        *(Question("range", of, {"from": 1}) for of in names),
        Question("range", "log", {"from": 80_000, "to": 80_010}),
        Question("range", "line ends", {"from": 9_000_000}),
        Question("tail", "log", {"n": 5}, by="path"),
        Question("head", "log", {"n": 5}, by="path"),
        Question("range", "log", {"from": 50_000, "n": 20}, by="path"),
    ]


def _outlines() -> list[Question]:
    names = (
        "log", "json", "jsonl", "minified", "code", "json of numbers", "json of keys",
        "json of brackets", "jsonl of nothing", "one string", "line ends", "one letter", "emoji",
    )  # fmt: skip
    by_path = (Question("outline", of, by="path") for of in ("code", "minified", "json"))
    return [*(Question("outline", of) for of in names), *by_path]


def _aggregates() -> list[Question]:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("log", {"q": "(ERROR|WARN)", "expr": "count"}),
        ("log", {"q": "took (\\d+) ms", "expr": "stats"}),
        ("log", {"q": "id=(\\w+)", "expr": "top"}),
        ("log", {"q": "\\w+", "expr": "distinct"}),
        ("log", {"q": ".", "expr": "stats"}),
        ("minified", {"q": "[fv](\\d+)", "expr": "top"}),
        ("one letter", {"q": "a", "expr": "count"}),
        ("emoji", {"q": ".", "expr": "top"}),
        ("json of numbers", {"q": "(\\d)", "expr": "stats"}),
    ]
    return [
        *(Question("aggregate", of, args) for of, args in asked),
        Question("aggregate", "log", {"q": "(ERROR|WARN)", "expr": "count"}, by="path"),
    ]


def _jsons() -> list[Question]:
    asked: list[tuple[str, str]] = [
        ("json", "total"),
        ("json", "@"),
        ("json", "items[0]"),
        ("json", "items[-1].name"),
        ("json", "length(items)"),
        ("json", "items[?size > `5000`].name"),
        ("json", "items[?owner.login == 'nobody']"),
        ("json", "items[].tags[]"),
        ("json", "sort_by(items, &size)[-1]"),
        ("json", "items[*].[@,@,@,@,@,@,@,@]"),
        ("json", "items[*].[items,items]"),
        ("json", "[@,@,@,@].[@,@,@,@].[@,@,@,@].[@,@,@,@]"),
        ("json, 4 MB", "sort_by(items, &size)[-1].name"),
        ("json, 4 MB", "max_by(items, &size).name"),
        ("json, 4 MB", "to_string(@)"),
        ("json of texts, 4 MB", "sort(@)[-1]"),
        ("json of texts, 4 MB", "[@,@,@]"),
        ("json of texts, 4 MB", "join(',', @)"),
        ("json of texts, 4 MB", "max(@)"),
        ("jsonl", "id"),
        ("jsonl", "[0]"),
        ("jsonl", "[?size > `5000`].name"),
        ("jsonl", "length(@)"),
        ("jsonl", "[length(@)]"),
        ("jsonl", "no.such.key"),
        ("jsonl", "sort_by([], &size)"),
        ("json of numbers", "[0]"),
        ("json of numbers", "@"),
        ("json of numbers", "sum(@)"),
        ("json of numbers", "[?@ > `5`]"),
        ("json of keys", "key7"),
        ("json of keys", "keys(@)"),
        ("json of keys", "@"),
        ("json of brackets", "[0]"),
        ("json of brackets", "[][][][]"),
        ("jsonl of nothing", "[0]"),
        ("jsonl of nothing", "a"),
        ("one string", "text"),
        ("one string", "length(text)"),
    ]
    return [
        *(Question("jsonl", of, {"expr": expr}) for of, expr in asked),
        Question("jsonl", "json", {"expr": "total"}, by="path"),
        Question("jsonl", "log", {"expr": "@"}),
    ]


def _diffs() -> list[Question]:
    pairs = (
        ("log, changed", "log"),
        ("log", "log"),
        ("code", "log"),
        ("jsonl", "json"),
        ("minified", "json"),
        ("minified", "one letter"),
        ("line ends", "code"),
        ("code", "line ends"),
        ("emoji", "one letter"),
        ("jsonl of nothing", "line ends"),
    )
    by_path = Question("diff", "log, changed", by="path", old="log")
    return [*(Question("diff", of, old=old) for of, old in pairs), by_path]


QUESTIONS = (*_greps(), *_lines(), *_outlines(), *_aggregates(), *_jsons(), *_diffs())
