"""How often the right tool is among the first: `python -m bench.compass TOOLSETS [--json]`.

Ruler: a question's *hit@k* is 1 when any right tool of any of its groups is among the first k of
the whole catalogue's ranking, *mrr* is the mean of 1/rank of the first such tool (0 if none).
`metatool` are its questions with one right tool, `metatool_two` those with two.
Each set is also reported in halves by the parity of sha256(question id): the settings of the
compass were chosen on the even half alone (`chosen_on`), the odd half (`held_out`) says what they
are worth elsewhere. `plain` is BM25 on one flat text (k1 1.2, b 0.75), the ruler's zero point.
`p50_ms` and `p99_ms` are per question on the largest catalogue, its index built before.
"""

import argparse
import hashlib
import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from osiris.core import compass
from osiris.core.compass_catalogue import Tool, from_listing
from osiris.core.compass_text import words

K1: Final = 1.2
B: Final = 0.75
HALVES: Final = ("chosen_on", "held_out", "plain", "plain_held_out")


class Question(Struct, frozen=True):
    id: str
    query: str
    relevant: tuple[tuple[str, ...], ...]

    @property
    def is_held_out(self) -> bool:
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 1


class Toolset(Struct, frozen=True):
    """A catalogue, the id of each of its tools, and the questions asked of it."""

    tools: tuple[Tool, ...]
    ids: tuple[str, ...]
    questions: tuple[Question, ...]


Ranking = Callable[[str], Sequence[int]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How often the right tool is among the first.")
    parser.add_argument("toolsets", type=Path, help="folder of *_tools.jsonl and *_queries.jsonl")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    chosen = parser.parse_args(arguments)
    report = measured(chosen.toolsets)
    print(json.dumps(report) if chosen.json else _table(report))
    return 0


def measured(folder: Path) -> dict[str, Any]:
    """Return the whole report; a set that has no files is left out."""
    report: dict[str, Any] = {}
    timings: tuple[int, list[float]] = (0, [])
    for name in ("livemcp", "metatool", "bfcl"):
        if not (folder / f"{name}_tools.jsonl").exists():
            continue
        toolset = load(folder, name)
        index = compass.build(toolset.tools)
        timings = max(timings, (len(toolset.tools), _seconds(index, toolset.questions)))
        for label, questions in _parts(name, toolset.questions).items():
            report[label] = _rated(toolset, questions, index)
    report["p50_ms"] = round(1000 * statistics.median(timings[1]), 3)
    report["p99_ms"] = round(1000 * statistics.quantiles(timings[1], n=100)[-1], 3)
    return report


def load(folder: Path, name: str) -> Toolset:
    lines = (folder / f"{name}_tools.jsonl").read_bytes().splitlines()
    tools = from_listing([json.loads(line) for line in lines])
    assert isinstance(tools, tuple), tools
    ids = tuple(f"{tool.server}/{tool.name}" if tool.server else tool.name for tool in tools)
    questions = (folder / f"{name}_queries.jsonl").read_bytes().splitlines()
    return Toolset(
        tools, ids, tuple(msgspec.json.decode(line, type=Question) for line in questions)
    )


def _parts(name: str, questions: Sequence[Question]) -> dict[str, list[Question]]:
    if name != "metatool":
        return {name: list(questions)}
    return {
        label: [q for q in questions if len(q.relevant) == n]
        for label, n in (("metatool", 1), ("metatool_two", 2))
    }


def _rated(toolset: Toolset, questions: Sequence[Question], index: compass.Index) -> dict[str, Any]:
    def rank(question: str) -> Sequence[int]:
        return [hit.tool for hit in compass.find(index, question, 8).hits]

    plain = plain_ranking(toolset.tools)
    even = [q for q in questions if not q.is_held_out]
    odd = [q for q in questions if q.is_held_out]
    return {
        **rates(toolset, questions, rank),
        "questions": len(questions),
        "chosen_on": rates(toolset, even, rank),
        "held_out": rates(toolset, odd, rank),
        "plain": rates(toolset, questions, plain),
        "plain_held_out": rates(toolset, odd, plain),
    }


def rates(toolset: Toolset, questions: Iterable[Question], ranking: Ranking) -> dict[str, float]:
    """Return hit@1, hit@5 and mrr of a ranking."""
    places = [_place(toolset, question, ranking(question.query)) for question in questions]
    return {
        **{f"hit@{k}": round(statistics.fmean(p <= k for p in places), 4) for k in (1, 5)},
        "mrr": round(statistics.fmean(1 / place for place in places), 4),
    }


def _place(toolset: Toolset, question: Question, ranked: Sequence[int]) -> float:
    """Return the place of the first right tool from 1, infinity where there is none."""
    right = {tool for group in question.relevant for tool in group}
    places = (n for n, tool in enumerate(ranked, 1) if toolset.ids[tool] in right)
    return next(places, math.inf)


def plain_ranking(tools: Sequence[Tool]) -> Ranking:
    """Return BM25 over one flat text a tool, with the compass's words and nothing else of it."""
    texts = [
        words(" ".join((t.name, t.description, t.server, t.about, *t.parameters))) for t in tools
    ]
    usual = statistics.fmean(len(text) for text in texts)
    spread = Counter(word for text in texts for word in set(text))
    rarity = {w: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for w, n in spread.items()}
    counts = [Counter(text) for text in texts]

    def worth(count: Mapping[str, int], length: int, word: str) -> float:
        n = count.get(word, 0)
        return n and rarity[word] * n * (K1 + 1) / (n + K1 * (1 - B + B * length / usual))

    def rank(question: str) -> Sequence[int]:
        asked = words(question)
        scores = [
            sum(worth(c, len(t), w) for w in asked) for c, t in zip(counts, texts, strict=True)
        ]
        return sorted((t for t, s in enumerate(scores) if s), key=lambda t: -scores[t])

    return rank


def _seconds(index: compass.Index, questions: Iterable[Question]) -> list[float]:
    spent: list[float] = []
    for question in questions:
        began = time.perf_counter()
        compass.find(index, question.query)
        spent.append(time.perf_counter() - began)
    return spent


def _table(report: dict[str, Any]) -> str:
    lines = [f"{'set':14}{'rows':16}{'hit@1':>8}{'hit@5':>8}{'mrr':>8}"]
    for label in (key for key in report if not key.endswith("_ms")):
        rated: dict[str, Any] = report[label]
        rows = {"all": rated} | {row: rated[row] for row in HALVES}
        lines += [
            f"{label:14}{row:16}{of['hit@1']:8.3f}{of['hit@5']:8.3f}{of['mrr']:8.3f}"
            for row, of in rows.items()
        ]
    return "\n".join([*lines, f"p50 {report['p50_ms']} ms, p99 {report['p99_ms']} ms a question"])


if __name__ == "__main__":
    raise SystemExit(main())
