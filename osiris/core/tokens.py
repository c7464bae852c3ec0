"""What a token count is: never a bare number.

Rule 1: every count says which ruler made it and how.
Rule 2: budgets use `high`, savings use `low`.
Rule 3: until the exact ruler is loaded, a count is an estimate by content class and says so
        (measured characters per o200k token: research/core.md 4, research/domain.md 0.8).
"""

from typing import Literal

import msgspec

RULER = "o200k_base"
Method = Literal["exact", "estimate"]


class Count(msgspec.Struct, frozen=True, array_like=True):
    """Tokens of one text on one ruler."""

    n: int
    ruler: str
    method: Method
    low: int
    high: int


def exact(n: int) -> Count:
    return Count(n, RULER, "exact", n, n)


# characters per token: the middle, and the band that real texts of the class fall into
_CLASSES = {"prose": (4.2, 3.2, 5.0), "code": (3.6, 2.9, 4.6), "dense": (2.4, 1.6, 3.4)}


def content_class(text: str) -> str:
    """Sort a text into prose, code or dense (logs, hex, CJK) by a sample of its characters."""
    sample = text[:4096]
    if not sample:
        return "prose"
    plain = sum(c.isascii() and (c.isalpha() or c == " ") for c in sample) / len(sample)
    if plain > 0.9:
        return "prose"
    return "code" if plain > 0.6 else "dense"


def estimate(text: str) -> Count:
    """Return a labelled estimate with its band."""
    middle, low, high = _CLASSES[content_class(text)]
    size = len(text)
    return Count(
        round(size / middle), RULER, "estimate", int(size / high), -(-size // 1) if low < 1 else -int(-size // low)
    )
