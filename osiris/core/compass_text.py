"""How tool texts and questions become words that can meet.

Rule 1: camelCase, snake_case, dots and digits part words; case and accents do not.
Rule 2: a word is reduced to its stem, so that `calculate`, `calculator` and `calculation` are one.
        The stem is a key, never shown.
Rule 3: scripts written without spaces are read in pairs of characters.
Rule 4: words that say nothing about a tool (articles, pronouns, politeness, digits) are dropped.
Rule 5: in a question a URL stands for `url`, a file path for `file` and its extension.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_SILENT: Final = """
a about all also am an and any anyone are as at be been being but by can could did do does doing
done for from had has have having he hello help her here hey hi him his how however i if im in
into is it its itself just kindly know let lets like look looking make many may me might more
most much must my myself need needs next no not now of off on once one only or our out over own
please provide really same shall she should so some someone something such sure than thank
thanks that the their them then there these they thing things this those through to too tool
tools up us use used using various very want wants was way we well were what when where whether
which while who whom whose why will with within without would you your yourself
"""
STOPWORDS: Final = frozenset(_SILENT.split())

# Ending -> what stays in its place; the first that leaves at least three letters wins.
ENDINGS: Final = (
    ("izations", ""), ("ization", ""), ("ational", "at"), ("ations", ""), ("ation", ""),
    ("ators", ""), ("ator", ""), ("ating", ""), ("ated", ""), ("ates", ""), ("ate", ""),
    ("ements", ""), ("ement", ""), ("ments", ""), ("ment", ""), ("ings", ""), ("ing", ""),
    ("ions", ""), ("ion", ""), ("ers", ""), ("er", ""), ("ors", ""), ("or", ""), ("ies", "i"),
    ("ied", "i"), ("ed", ""), ("es", ""), ("s", ""), ("ly", ""), ("al", ""), ("ive", ""),
    ("able", ""), ("e", ""), ("y", "i"),
)  # fmt: skip

_SHORTEST_STEM: Final = 3

_LATIN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SPACED = re.compile(r"[\u0370-\u0dff\u1e00-\u1fff]+")
_URL = re.compile(r"https?://\S+|www\.\S+")
_PATH = re.compile(r"[~.]{0,2}(?:/[\w.\-]+){2,}/?|[A-Za-z]:\\\S+")
_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,7})$")


def words(text: str) -> list[str]:
    """Return the stems of `text` in order, without stopwords."""
    if text.isascii():
        return _stems(_LATIN.findall(text))
    plain = _without_accents(text)
    pairs = [pair for run in _UNSPACED.findall(plain) for pair in _pairs(run)]
    return _stems(_LATIN.findall(plain) + _SPACED.findall(plain)) + pairs


def question_words(question: str) -> list[str]:
    """Return the stems of a question, its URLs and paths reduced to what they are."""
    named = _URL.sub(" url ", question)
    return words(_PATH.sub(lambda path: f" file {_extension(path[0])} ", named))


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    for ending, rest in ENDINGS:
        if _takes(word, ending):
            return _undoubled(word[: -len(ending)] + rest)
    return word


def _takes(word: str, ending: str) -> bool:
    if not word.endswith(ending) or len(word) - len(ending) < _SHORTEST_STEM:
        return False
    return ending != "s" or not word.endswith("ss")


def _undoubled(stemmed: str) -> str:
    """Return `plan` for the `plann` of `planning`; `call` and `pass` keep both letters."""
    if len(stemmed) > _SHORTEST_STEM and stemmed[-1] == stemmed[-2] and stemmed[-1] not in "ls":
        return stemmed[:-1]
    return stemmed


def _stems(found: list[str]) -> list[str]:
    lowered = (word.lower() for word in found)
    return [stem(word) for word in lowered if word not in STOPWORDS]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


def _without_accents(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    kept = "".join(char for char in apart if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", kept)


def _extension(path: str) -> str:
    found = _EXTENSION.search(path)
    return found[1] if found else ""
