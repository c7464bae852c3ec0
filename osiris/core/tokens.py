"""What a token count is: never a bare number.

Rule 1: every count says which ruler made it and how.
Rule 2: budgets use `high`, savings use `low`.
Rule 3: until the exact ruler is loaded, a count is an estimate by content class and says so;
        its band holds 98 of 100 real texts of that class.
"""

import math
import string
from typing import Final, Literal

import msgspec

RULER: Final = "o200k_base"
Method = Literal["exact", "estimate"]
ContentClass = Literal["prose", "code", "dense", "wide"]


class Count(msgspec.Struct, frozen=True, array_like=True):
    """Tokens of one text on one ruler."""

    n: int
    ruler: str
    method: Method
    low: int
    high: int


class _Density(msgspec.Struct, frozen=True):
    """Characters per token: the fewest and most that real texts have, and the usual."""

    fewest: float
    usual: float
    most: float


# Measured on 1,154 texts: tool results of coding sessions, sources, notes, listings.
_DENSITIES: Final[dict[ContentClass, _Density]] = {
    "prose": _Density(fewest=3.6, usual=4.6, most=5.7),
    "code": _Density(fewest=2.1, usual=3.7, most=5.1),
    "dense": _Density(fewest=1.4, usual=2.7, most=3.8),
    "wide": _Density(fewest=0.5, usual=1.5, most=3.5),
}

# Shares of a sample's characters that part the classes.
_WIDE_ABOVE: Final = 0.2
_PLAIN_IN_PROSE: Final = 0.9
_PLAIN_IN_CODE: Final = 0.6
_GAPS_IN_WORDS: Final = 0.04

_SLICES: Final = 4
_SLICE_CHARS: Final = 1024
_PLAIN: Final = (string.ascii_letters + " ").encode()
_GAPS: Final = string.whitespace.encode()


def exact(n: int) -> Count:
    return Count(n, RULER, "exact", n, n)


def estimate(text: str) -> Count:
    """Return a labelled estimate with its band."""
    density = _DENSITIES[content_class(text)]
    return Count(
        n=round(len(text) / density.usual),
        ruler=RULER,
        method="estimate",
        low=math.floor(len(text) / density.most),
        high=math.ceil(len(text) / density.fewest),
    )


def content_class(text: str) -> ContentClass:
    """Sort a text by a sample: prose, code, dense (hex, base64, long lists) or wide (not ASCII)."""
    sample = _sample(text)
    narrow = sample.encode("ascii", "ignore")
    if _share(len(sample) - len(narrow), sample) > _WIDE_ABOVE:
        return "wide"
    plain = _share(_occurrences(narrow, _PLAIN), sample)
    gaps = _share(_occurrences(narrow, _GAPS), sample)
    if plain <= _PLAIN_IN_CODE or gaps < _GAPS_IN_WORDS:
        return "dense"
    return "prose" if plain > _PLAIN_IN_PROSE else "code"


def _sample(text: str) -> str:
    """Return evenly spaced slices, so that a log behind a line of prose counts as a log."""
    if len(text) <= _SLICES * _SLICE_CHARS:
        return text
    step = (len(text) - _SLICE_CHARS) // (_SLICES - 1)
    return "".join(text[i * step : i * step + _SLICE_CHARS] for i in range(_SLICES))


def _occurrences(raw: bytes, members: bytes) -> int:
    return len(raw) - len(raw.translate(None, members))


def _share(part: int, whole: str) -> float:
    return part / max(1, len(whole))
