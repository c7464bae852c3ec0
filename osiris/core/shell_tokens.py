"""The tokens of a shell line: words, signs and redirections, without running anything.

Rule 1: any text has tokens; what is not closed ends with the text.
Rule 2: quotes and escapes are taken off a word; what a word would run, `$(...)`, backticks and
        `<(...)`, is kept beside it as text.
Rule 3: the body of a here-document belongs to its redirection and is no word.
Rule 4: every step goes forward, so the time is linear in the text; after `most` tokens it stops
        and says so.
Rule 5: in PowerShell a brace stands between commands as `;` does.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_CHARS: Final = 256 << 10  # Linux takes no word above 128 KiB
POWERSHELL_ESCAPE: Final = "`"


class Word(NamedTuple):
    """`runs` are command texts inside it; `is_bare`: nothing of it was quoted."""

    text: str
    runs: tuple[str, ...] = ()
    is_bare: bool = True


class Sign(NamedTuple):
    text: str


class Redirect(NamedTuple):
    """`word` is the target, or the end mark of a here-document whose text is `body`."""

    sign: str
    word: Word
    body: str = ""

    def writes(self) -> bool:
        """Say whether its target is a file that it may change."""
        name = self.word.text
        is_file = not _DESCRIPTOR.fullmatch(name) and name != "/dev/null"
        return self.sign in _WRITING and is_file

    def runs(self) -> tuple[str, ...]:
        """Return what it would run: a here-document does unless its end mark is quoted."""
        return (*self.word.runs, *(runs_in(self.body) if self.word.is_bare else ()))


Token = Word | Sign | Redirect


class Tokens(NamedTuple):
    """`is_whole`: nothing was left out."""

    tokens: tuple[Token, ...]
    is_whole: bool


_WRITING: Final = frozenset({">", ">>", ">|", "<>", ">&"})
_DESCRIPTOR: Final = re.compile(r"\d*-?")
_BLANK: Final = re.compile(r"[^\S\n]+")
_COMMENT: Final = re.compile(r"#[^\n]*")
_PLAIN: Final = re.compile(r"[^\s'\"\\`$^;&|()<>]+")
_PLAIN_POWERSHELL: Final = re.compile(r"[^\s'\"\\`$^;&|()<>{}]+")
_BRACE: Final = re.compile(r"[{}]")
_SIGN: Final = re.compile(r"&&|\|\||\|&|;;&?|;&|[;&|()\n]")
_REDIRECT: Final = re.compile(r"(?:\d{1,9}|&)?(<<<|<<-?|<>|<&|>>|>&|>\||[<>])")
_PROCESS: Final = re.compile(r"[<>]\(")
_SINGLE: Final = re.compile(r"'([^']*)'?")
_DOLLAR_QUOTE: Final = re.compile(r"\$'((?:\\.|[^'\\])*)'?", re.DOTALL)
_IN_DOUBLE: Final = re.compile(r"[^\"\\`$^]+")
_DOUBLE_ESCAPES: Final = ("$", "`", '"', "\\", "\n")  # a backslash before another stays
_BACKTICK: Final = re.compile(r"`((?:\\.|[^`\\])*)`?", re.DOTALL)
_NESTING: Final = re.compile(r"[()]|'[^']*'?|\"(?:\\.|[^\"\\])*\"?|\\.|[^()'\"\\]+|\\", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def tokens_of(text: str, most: int, *, escape: str = "\\") -> Tokens:
    """Return the first tokens of `text`; `escape` is "`" in PowerShell, "^" in cmd."""
    reader = _Reader(text[:MAX_CHARS], escape)
    tokens = tuple(reader.read(most))
    return Tokens(tokens, reader.at_end() and len(text) <= MAX_CHARS)


def runs_in(text: str) -> tuple[str, ...]:
    """Return what a text would run if it stood in double quotes."""
    reader = _Reader(text[:MAX_CHARS], "\\")
    reader.expand(None)
    return tuple(reader.runs)


class _Reader:
    def __init__(self, text: str, escape: str) -> None:
        self.runs: list[str] = []
        self._text = text
        self._escape = escape
        self._powershell = escape == POWERSHELL_ESCAPE
        self._at = 0
        self._parts: list[str] = []

    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def read(self, most: int) -> Iterator[Token]:
        """Yield tokens; a here-document is yielded when its body has been read."""
        waiting: list[Redirect] = []
        for _ in range(most):
            self._skip_blanks()
            if self.at_end():
                break
            if redirect := self._redirect():
                if redirect.sign in {"<<", "<<-"}:
                    waiting.append(redirect)
                else:
                    yield redirect
            elif found := self._match(_SIGN):
                if found[0] == "\n":
                    yield from map(self._with_body, waiting)
                    waiting = []
                yield Sign(found[0])
            elif self._powershell and self._match(_BRACE):
                yield Sign(";")
            else:
                yield self._word()
        yield from waiting

    def expand(self, closer: str | None) -> None:
        """Read on to `closer` as inside double quotes."""
        while not self.at_end():
            char = self._text[self._at]
            if char == closer:
                self._at += 1
                return
            if char == self._escape:
                pair = self._text[self._at : self._at + 2]
                keeps = char == "\\" and pair[1:] not in _DOUBLE_ESCAPES
                self._parts.append(pair if keeps else pair[1:].replace("\n", ""))
                self._at += 2
            elif found := self._match(_IN_DOUBLE):
                self._parts.append(found[0])
            elif not self._run():
                self._take(char)

    def _word(self) -> Word:
        self._parts, self.runs, is_bare = [], [], True
        while not self.at_end():
            char = self._text[self._at]
            if self._powershell and char in "{}":
                break
            if found := self._match(_PLAIN_POWERSHELL if self._powershell else _PLAIN):
                self._parts.append(found[0])
            elif char == self._escape:
                is_bare = False
                self._parts.append(self._text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            elif char in "'\"" or self._text.startswith("$'", self._at):
                is_bare = False
                self._quoted(char)
            elif not self._run():
                if char not in "$\\`^":
                    break
                self._take(char)
        return Word("".join(self._parts), tuple(self.runs), is_bare)

    def _quoted(self, char: str) -> None:
        if char == '"':
            self._at += 1
            self.expand('"')
        elif found := self._match(_SINGLE):
            self._parts.append(found[1])
        elif found := self._match(_DOLLAR_QUOTE):
            self._parts.append(_ESCAPED.sub(r"\1", found[1]))

    def _run(self) -> bool:
        """Take a substitution, if one begins here."""
        if self._text.startswith("$(", self._at) or _PROCESS.match(self._text, self._at):
            self._at += 2
            start, end = self._at, self._closed()
            self.runs.append(self._text[start:end])
            self._parts.append("$()")
            return True
        if not self._powershell and (found := self._match(_BACKTICK)):
            self.runs.append(_ESCAPED.sub(r"\1", found[1]))
            self._parts.append("$()")
            return True
        return False

    def _closed(self) -> int:
        """Go behind the parenthesis that closes the one before, and return where it stands."""
        depth = 1
        for found in _NESTING.finditer(self._text, self._at):
            depth += (found[0] == "(") - (found[0] == ")")
            if not depth:
                self._at = found.end()
                return found.start()
        self._at = len(self._text)
        return self._at

    def _redirect(self) -> Redirect | None:
        if _PROCESS.match(self._text, self._at):
            return None
        found = self._match(_REDIRECT)
        if found is None:
            return None
        self._skip_blanks()
        if self.at_end() or _SIGN.match(self._text, self._at):
            return Redirect(found[1], Word(""))
        return Redirect(found[1], self._word())

    def _with_body(self, redirect: Redirect) -> Redirect:
        """Read the lines up to the end mark."""
        start = self._at
        while not self.at_end():
            line_at = self._at
            end = self._text.find("\n", line_at)
            self._at = len(self._text) if end < 0 else end + 1
            line = self._text[line_at : len(self._text) if end < 0 else end].rstrip("\r")
            if (line.lstrip("\t") if redirect.sign == "<<-" else line) == redirect.word.text:
                return redirect._replace(body=self._text[start:line_at])
        return redirect._replace(body=self._text[start:])

    def _skip_blanks(self) -> None:
        while not self.at_end():
            if self._text.startswith((self._escape + "\n", self._escape + "\r\n"), self._at):
                self._at = self._text.index("\n", self._at) + 1
            elif not (self._match(_BLANK) or self._match(_COMMENT)):
                return

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _take(self, char: str) -> None:
        self._parts.append(char)
        self._at += 1
