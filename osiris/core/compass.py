"""Tool Compass: which of the agent's tools fit a question, best first.

Rule 1: BM25F over name, parameters, description and server: `NORMS` says what a word in each is
        worth and how much a long text is discounted.
Rule 2: a word of the question counts once per tool, by the best of the word itself and its
        synonyms, these at `SYNONYM_WORTH`.
Rule 3: a tool whose whole name is spoken for by the question gains up to `NAME_GAIN`.
Rule 4: a score is the share of the question's weight that a tool answers, so scores of different
        questions compare. It is a rank, no probability.
Rule 5: it recommends and never hides: what it is not sure of is returned with `clear=False`, to be
        answered as "no clear match".
Rule 6: what a task has just used with success ranks higher, what failed lower, within bounds.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from osiris.core.compass_catalogue import Tool
from osiris.core.compass_synonyms import SYNONYMS
from osiris.core.compass_text import question_words, words

LIMIT: Final = 6
LIMITS: Final = (5, 8)

SATURATION: Final = 1.2  # BM25's k1
SYNONYM_WORTH: Final = 0.5
REPEAT_WORTH: Final = 0.5
NAME_GAIN: Final = 0.2
MAX_QUESTION_CHARS: Final = 4_000
MAX_QUESTION_WORDS: Final = 64

# A match is clear when one word says enough, or when two agree and stand out.
CLEAR_BY_ONE: Final = 1 / 3
CLEAR_BY_TWO: Final = 0.1
CLEAR_LEAD: Final = 1.5

BOOST_STEP: Final = 0.1
BOOST_MOST: Final = 0.3


class Norm(NamedTuple):
    """What a word of a field is worth, and how far its length is held against it (BM25's b)."""

    worth: float
    length: float


NORMS: Final = {
    "name": Norm(2.5, 0.4),
    "description": Norm(1.0, 0.5),
    "parameters": Norm(0.4, 0.5),
    "server": Norm(0.4, 0.5),
}


class Posting(Struct, frozen=True, gc=False):
    """A word in a tool: its BM25F weight, and its share of the tool's name (0 to 1)."""

    tool: int
    weight: float
    of_name: float


class Index(Struct, frozen=True):
    """A catalogue made searchable; build it once, it does not change."""

    tools: tuple[Tool, ...]
    postings: dict[str, tuple[Posting, ...]]
    rarity: dict[str, float]
    rarest: float


class Hit(Struct, frozen=True):
    """A tool that fits: `tool` is its place in the catalogue, `words` how many words it answers."""

    tool: int
    name: str
    server: str
    score: float
    words: int


class Found(Struct, frozen=True):
    """The best tools, best first; `clear` is False where nothing stands out."""

    hits: tuple[Hit, ...]
    clear: bool
    catalogue: int


class _Tally(NamedTuple):
    score: dict[int, float]
    name: dict[int, float]
    words: dict[int, int]


_Fields = dict[str, list[str]]


def build(tools: Sequence[Tool]) -> Index:
    """Return the index of a catalogue."""
    fields = [_fields(tool) for tool in tools]
    usual = {
        f: max(1.0, sum(len(each[f]) for each in fields) / len(fields)) for f in NORMS if fields
    }
    counts = [_weighted(each, usual) for each in fields]
    spread = Counter(word for count in counts for word in count)
    rarity = {word: _rarity(len(tools), n) for word, n in spread.items()}
    postings: dict[str, list[Posting]] = {word: [] for word in rarity}
    for tool, (each, count) in enumerate(zip(fields, counts, strict=True)):
        shares = _name_shares(each["name"], rarity)
        for word, n in count.items():
            weight = rarity[word] * n / (n + SATURATION)
            postings[word].append(Posting(tool, weight, shares.get(word, 0.0)))
    frozen = {word: tuple(found) for word, found in postings.items()}
    return Index(tuple(tools), frozen, rarity, _rarity(len(tools), 0))


def find(
    index: Index, question: str, limit: int = LIMIT, boosts: Mapping[str, float] | None = None
) -> Found:
    """Return the tools that fit `question`, a plan step rather than a whole objective.

    `limit` is held within 5 to 8; `boosts` multiplies scores by tool name.
    """
    asked = _asked(question)
    tally = _tally(index, asked)
    scores = _scores(index, tally, boosts or {})
    shown = min(max(limit, LIMITS[0]), LIMITS[1])
    best = heapq.nsmallest(shown + 1, scores, key=lambda tool: (-scores[tool], tool))
    whole = _whole(index, asked)
    hits = [_hit(index, tally, tool, scores[tool] / whole) for tool in best]
    return Found(tuple(hits[:shown]), _is_clear(hits, shown), len(index.tools))


def success_boosts(calls: Iterable[tuple[str, bool | None]]) -> dict[str, float]:
    """Return score factors from a task's calls, (tool, ok) oldest first; None counts nothing."""
    sums: dict[str, float] = {}
    for tool, ok in calls:
        if ok is not None:
            moved = sums.get(tool, 0.0) + (BOOST_STEP if ok else -BOOST_STEP)
            sums[tool] = min(max(moved, -BOOST_MOST), BOOST_MOST)
    return {tool: 1.0 + moved for tool, moved in sums.items()}


def _fields(tool: Tool) -> _Fields:
    return {
        "name": words(tool.name),
        "description": words(tool.description),
        "parameters": words(" ".join(tool.parameters)),
        "server": words(f"{tool.server} {tool.about}"),
    }


def _weighted(fields: _Fields, usual: Mapping[str, float]) -> dict[str, float]:
    """Return how often a tool says each word, by the worth of the field that says it."""
    counts: dict[str, float] = {}
    for field, norm in NORMS.items():
        said = fields[field]
        worth = norm.worth / (1 - norm.length + norm.length * len(said) / usual[field])
        for word in said:
            counts[word] = counts.get(word, 0.0) + worth
    return counts


def _rarity(tools: int, having: int) -> float:
    """Return BM25's inverse document frequency, never negative."""
    return math.log(1 + (tools - having + 0.5) / (having + 0.5))


def _name_shares(name: Sequence[str], rarity: Mapping[str, float]) -> dict[str, float]:
    parts = set(name)
    whole = sum(rarity[part] for part in parts)
    return {part: rarity[part] / whole for part in parts}


def _asked(question: str) -> dict[str, float]:
    """Return the question's words and what each is worth: a repeated word somewhat more."""
    counts = Counter(question_words(question[:MAX_QUESTION_CHARS]))
    return {word: 1 + REPEAT_WORTH * (n - 1) for word, n in counts.most_common(MAX_QUESTION_WORDS)}


def _tally(index: Index, asked: Mapping[str, float]) -> _Tally:
    tally = _Tally({}, {}, {})
    for word, worth in asked.items():
        _add(tally, _answers(index, word), worth)
    return tally


def _answers(index: Index, word: str) -> dict[int, tuple[float, float]]:
    """Return, by tool, the best weight and name share that `word` or a synonym has in it."""
    best = {p.tool: (p.weight, p.of_name) for p in index.postings.get(word, ())}
    for near in SYNONYMS.get(word, ()):
        for p in index.postings.get(near, ()):
            weight, of_name = best.get(p.tool, (0.0, 0.0))
            best[p.tool] = (
                max(weight, SYNONYM_WORTH * p.weight),
                max(of_name, SYNONYM_WORTH * p.of_name),
            )
    return best


def _add(tally: _Tally, answers: Mapping[int, tuple[float, float]], worth: float) -> None:
    for tool, (weight, of_name) in answers.items():
        tally.score[tool] = tally.score.get(tool, 0.0) + worth * weight
        tally.name[tool] = tally.name.get(tool, 0.0) + of_name
        tally.words[tool] = tally.words.get(tool, 0) + 1


def _scores(index: Index, tally: _Tally, boosts: Mapping[str, float]) -> dict[int, float]:
    gained = {
        tool: score * (1 + NAME_GAIN * min(1.0, tally.name[tool]))
        for tool, score in tally.score.items()
    }
    if not boosts:
        return gained
    return {tool: score * boosts.get(index.tools[tool].name, 1.0) for tool, score in gained.items()}


def _whole(index: Index, asked: Mapping[str, float]) -> float:
    """Return what a tool that says every word of the question could score; unknown words count."""
    return sum(worth * _most(index, word) for word, worth in asked.items()) or 1.0


def _most(index: Index, word: str) -> float:
    own = index.rarity.get(word, 0.0)
    near = (SYNONYM_WORTH * index.rarity.get(other, 0.0) for other in SYNONYMS.get(word, ()))
    return max(own, *near, 0.0) or index.rarest


def _hit(index: Index, tally: _Tally, tool: int, score: float) -> Hit:
    found = index.tools[tool]
    return Hit(tool, found.name, found.server, round(score, 3), tally.words[tool])


def _is_clear(hits: Sequence[Hit], shown: int) -> bool:
    if not hits:
        return False
    top = hits[0]
    if top.score >= CLEAR_BY_ONE:
        return True
    after = hits[shown].score if len(hits) > shown else 0.0
    return top.words > 1 and (top.score >= CLEAR_BY_TWO or top.score >= CLEAR_LEAD * after)
