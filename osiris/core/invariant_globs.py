"""The globs of rules, matched by RE2: time is linear in the text, whatever the glob.

| in a glob     | a path          | a tool or command      | a text          |
| `*`           | within a folder | any                    | any             |
| `**` `**/`    | any folders     | as `*`                 | as `*`          |
| `?`           | not `/`         | any one character      | any one         |
| `[a-z]` `[!a]`| not `/`         | refused                | one of          |
| `{a,b}`       | either          | either                 | either          |

Rule 1: a glob is matched against the whole of a text, without regard to case: two of three systems
        cannot tell `Tests/` from `tests/`.
Rule 2: `tests/**` is `tests` itself and all below it; `tests/` says the same.
Rule 3: names of tools and commands are compared in their folded form, in which `_`, `-`, `:`, `/`,
        blanks and points are one sign: `git commit`, `git_commit` and `git.commit` are one name.
Rule 4: the length of a glob, its wildcards, and what a condition holds in all are limited, so a
        pattern stays small.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, Literal

from osiris.core.query_re2 import Finder

Kind = Literal["path", "name", "text"]

MAX_CHARS: Final = 200
MAX_WILDCARDS: Final = 16
MAX_GLOBS: Final = 64
MAX_CHARS_IN_ALL: Final = 4_000
_MAX_BRACES: Final = 4

_WILDCARDS: Final = re.compile(r"\*+|\?|\[")
_APART: Final = re.compile(r"[\s_\-./:]+")
_CLASS: Final = re.compile(r"\[(!?)(\]?[^\]\n]*)\]")
_MEMBER: Final = re.compile(r"(.)-(.)|(.)", re.DOTALL)
_FOLDERS: Final = re.compile(r"\*\*+/")

# What a rule for everything matches, whatever its globs look like.
_PROBES: Final[dict[Kind, tuple[str, ...]]] = {
    "path": ("a", "Q.7/b", "_x/1 y/z.tar.gz", ".k"),
    "name": ("a", "Q7.b", "x.y.z", "9"),
    "text": ("a", "Q 7", "-x/y=z", "{}"),
}


class BadGlobError(Exception):
    """A glob that is not taken: what is wrong with it, and what to write instead."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix


class Globs:
    """Some globs of one kind; a text matches if one of them does."""

    __slots__ = ("_finder", "kind", "texts")

    def __init__(self, texts: Sequence[str], kind: Kind) -> None:
        """Raise BadGlobError, naming the glob."""
        either = "|".join(_translated(text, kind) for text in texts)
        if len(texts) > MAX_GLOBS or sum(map(len, texts)) > MAX_CHARS_IN_ALL:
            what = f"a condition of {len(texts)} globs, {sum(map(len, texts)):,} characters"
            raise BadGlobError(
                what, f"at most {MAX_GLOBS} globs and {MAX_CHARS_IN_ALL:,} characters"
            )
        self.kind: Kind = kind
        self.texts = tuple(texts)
        self._finder = Finder(f"(?im)^(?:{either})$".encode())

    def first(self, candidates: Sequence[str]) -> str | None:
        """Return the first candidate that matches; names must be folded already."""
        if not candidates or not self.texts:
            return None
        lines = "\n".join(map(_one_line, candidates)).encode("utf-8", "replace")
        found = next(iter(self._finder.spans(lines)), None)
        return None if found is None else lines[slice(*found)].decode("utf-8", "replace")

    def is_for_all(self) -> bool:
        """Say whether it matches whatever it is asked."""
        return all(self.first([probe]) is not None for probe in _PROBES[self.kind])


def folded(name: str) -> str:
    """Return the form in which names of tools and commands are compared."""
    return _APART.sub(".", name).strip(".").lower()


def _one_line(text: str) -> str:
    if text.isascii():
        return text if "\n" not in text else text.replace("\n", " ")
    return unicodedata.normalize("NFC", text).replace("\n", " ")


def _translated(glob: str, kind: Kind) -> str:
    shown = repr(glob if len(glob) <= _SHOWN else glob[:_SHOWN] + "...")
    wildcards = len(_WILDCARDS.findall(glob)) if "**" not in glob else glob.count("*")
    if wildcards > MAX_WILDCARDS:
        fix = f"at most {MAX_WILDCARDS} wildcards; `**` stands for any number of folders"
        raise BadGlobError(f"glob {shown} has {wildcards:,} wildcards", fix)
    if not glob.strip() or len(glob) > MAX_CHARS or not glob.isprintable():
        fix = f"1 to {MAX_CHARS} printable characters"
        raise BadGlobError(f"glob {shown} of {len(glob):,} characters", fix)
    for sign, fix in _REFUSED[kind]:
        if sign in glob:
            raise BadGlobError(f"glob {shown} has a {sign}", fix)
    if glob.startswith("!"):
        raise BadGlobError(f"glob {shown} is a negation", "name what the rule is for")
    return _Translator(_normal(glob, kind), kind, shown).whole()


_SHOWN: Final = 60
_REFUSED: Final[dict[Kind, tuple[tuple[str, str], ...]]] = {
    "path": (("\\", "separate folders with /, on Windows too"),),
    "name": (("[", "use * and ? and {a,b} in the name of a tool"),),
    "text": (),
}


def _normal(glob: str, kind: Kind) -> str:
    glob = unicodedata.normalize("NFC", glob)
    if kind == "name":
        return folded(glob)
    if kind == "path":
        glob = re.sub(r"/{2,}", "/", glob).removeprefix("./")
        return glob + "**" if glob.endswith("/") else glob
    return glob


class _Translator:
    """From one glob to the source of one expression."""

    def __init__(self, glob: str, kind: Kind, shown: str) -> None:
        self._glob = glob
        self._at = 0
        self._braces = 0
        self._shown = shown
        self._is_path = kind == "path"
        self._one = "[^/\n]" if self._is_path else "[^\n]"

    def whole(self) -> str:
        parts: list[str] = []
        while self._at < len(self._glob):
            parts.append(self._next())
        if self._braces:
            raise BadGlobError(f"glob {self._shown} does not close a brace", "write {a,b}")
        return "".join(parts)

    def _next(self) -> str:
        rest = self._glob[self._at :]
        if self._is_path and (found := self._folders(rest)):
            return found
        char = rest[0]
        self._at += 1
        match char:
            case "*":
                self._at += len(rest) - len(rest.lstrip("*")) - 1
                return f"{self._one}*"
            case "?":
                return self._one
            case "[":
                return self._class()
            case "{" | "}" | ",":
                return self._brace(char)
            case _:
                return re.escape(char)

    def _folders(self, rest: str) -> str:
        """Take `/**` at the end, and `**/` or `**` where a part of the path begins."""
        before = self._glob[: self._at]
        if rest.startswith("/**") and not rest.strip("/*") and before:
            self._at = len(self._glob)
            return "(?:/[^\n]*)?"
        if before and before[-1] not in "/{,":
            return ""
        if found := _FOLDERS.match(rest):
            self._at += found.end()
            return "(?:[^\n]*/)?"
        if rest.startswith("**") and (len(rest.strip("*")) == 0 or rest.lstrip("*")[0] in ",}"):
            self._at += len(rest) - len(rest.lstrip("*"))
            return "[^\n]*"
        return ""

    def _class(self) -> str:
        found = _CLASS.match(self._glob, self._at - 1)
        if found is None:
            raise BadGlobError(
                f"glob {self._shown} does not close a bracket", "write [abc] or [a-z]"
            )
        self._at = found.end()
        parts = [(low or one, high or one) for low, high, one in _MEMBER.findall(found[2])]
        if not parts or any(low > high for low, high in parts):
            raise BadGlobError(f"glob {self._shown} has a bad range", "write [abc] or [a-z]")
        inside = "".join(f"\\x{{{ord(low):x}}}-\\x{{{ord(high):x}}}" for low, high in parts)
        slash = "/" if self._is_path else ""
        return f"[^{inside}{slash}\n]" if found[1] else f"[{inside}]"

    def _brace(self, char: str) -> str:
        if char == "{":
            self._braces += 1
            if self._braces > _MAX_BRACES:
                raise BadGlobError(f"glob {self._shown} nests braces", "write several globs")
            return "(?:"
        if not self._braces:
            return re.escape(char)
        self._braces -= char == "}"
        return ")" if char == "}" else "|"
