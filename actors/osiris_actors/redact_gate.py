"""Whether a short text can hold a secret at all: asked first, since nearly all of them cannot.

Rule 1: a no is final, so whatever is not certain is a yes. Patterns are loosened, never tightened;
        the literal texts that each of them needs are found by RE2 itself.
Rule 2: a pattern whose literal texts stand in everyday text, or that needs none, is looked for as
        it is.
Rule 3: rules that RE2 cannot express are never said no for: `gate_for` returns None.
"""

import re
from collections.abc import Iterable
from typing import Protocol

from osiris.core.query_re2 import BadPatternError, PatternSet, Sieve
from osiris_actors.redact_labels import NAMES
from osiris_actors.redact_rules import ROWS

GATED = 4_096  # bytes; in longer text there is mostly something that must be looked at

# a row that asks what its label names needs one of NAMES
OWN = (
    *(row.hint or row.pattern for row in ROWS if row.check != "label"),
    NAMES,
)
# only speed depends on it: what is in here must not send a text to the full look
_EVERYDAY = b"""
git diff main...HEAD --name-only; cd /home/user/project && python -m pytest -x tests/core/test_it.py
cargo build -la | grep -n "pattern" src/main.rs:12:9 session_id=7 option version path -i description
https://github.com/user/repo/blob/main/README.md http://localhost:8080/api re_ cli_ ion_ pat
export region-name actions/checkout@v4 glob output_mode is_valid do_work class_ lob SK bx
"""

_MORE = r"\x0b\x{80}-\x{10FFFF}"  # RE2's short classes are of ASCII, and its \s has no \v
_MOST_REPEATS = 1_000
_TOKEN = re.compile(r"\[(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\\.|[$^]|\{(\d+)(,?)(\d*)\}", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_ODD_CLASS = re.compile(r"&&|--|~~|\[(?!:)")
_ASSERTIONS = frozenset({"\\b", "\\B", "\\A", "\\z", "\\Z", "^", "$"})
_SHORT = ("\\d", "\\s", "\\w")
_UNICODE = ("\\p", "\\P")
_VERBOSE = "(?x)"


class _UnfitError(Exception):
    """A pattern means something that cannot be said in RE2's syntax."""


class Rules(Protocol):
    """Kingfisher's rules as it shows them."""

    def metadata(self) -> list[dict[str, str]]: ...

    def detail(self, rule_id: str) -> dict[str, str]: ...


class Gate:
    """Looks for what no secret can be without."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Raise BadPatternError if RE2 does not take one of `patterns`."""
        known = list(patterns)
        common = set(Sieve(known).possible(_EVERYDAY))
        self._sieve = Sieve(pattern for at, pattern in enumerate(known) if at not in common)
        self._common = PatternSet(known[at].encode() for at in sorted(common))

    def may_hold(self, data: bytes) -> bool:
        """Say whether one of the patterns may match `data`."""
        return bool(self._sieve.possible(data) or self._common.matching(data))


def gate_for(rules: Rules) -> Gate | None:
    """Return a gate for the own list and kingfisher's rules; None: look through everything."""
    regexes = (rules.detail(row["id"])["detection_regex"] for row in rules.metadata())
    try:
        return Gate((*OWN, *map(loosened, regexes)))
    except (BadPatternError, _UnfitError):
        return None


def loosened(regex: str) -> str:
    """Return an RE2 pattern that matches wherever `regex` does, which is in Rust's syntax.

    Assertions are dropped, and the short classes take in what is beyond ASCII.
    """
    if regex.startswith(_VERBOSE) and not re.search(r"[\s#]", regex):
        regex = regex.removeprefix(_VERBOSE)
    return f"(?s:{_TOKEN.sub(_loosened, regex)})"


def _loosened(found: re.Match[str]) -> str:
    piece = found[0]
    if piece in _ASSERTIONS:
        return "(?:)"
    if piece in _SHORT:
        return f"[{piece}{_MORE}]"
    if piece.startswith("{"):
        return _repeated(found)
    if piece.startswith("["):
        return _loosened_class(piece)
    if piece.startswith(_UNICODE):
        raise _UnfitError(piece)
    return piece


def _loosened_class(piece: str) -> str:
    odd = piece in {"[]", "[^]"} or _ODD_CLASS.search(_ESCAPE.sub("", piece), 1)
    if odd or any(name in piece for name in _UNICODE):
        raise _UnfitError(piece)
    if piece.startswith("[^") or not any(short in piece for short in _SHORT):
        return piece
    return f"[{_MORE}{piece[1:]}"


def _repeated(found: re.Match[str]) -> str:
    """Return a count that RE2 takes; it takes none above 1,000."""
    least, comma, most = found.groups()
    if int(most or least) <= _MOST_REPEATS:
        return found[0]
    return f"{{{min(int(least), _MOST_REPEATS)},}}" if comma else f"{{{_MOST_REPEATS},}}"
