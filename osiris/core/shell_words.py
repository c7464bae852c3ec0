"""The simple commands of a shell line, in order, and whose exit status the line reports.

| the command stands ...                       | does the line report its status?   |
| last in its list, its chain and its pipeline | yes                                |
| before `&&` and what follows reports         | yes                                |
| before or right behind `||`                  | no                                 |
| before `|`                                   | no, unless `set -o pipefail`       |
| before `;` or a new line and more, or `&`    | no                                 |
| behind `!`, in if, for, while, case, `$(...)`| no                                 |
| in `( )`, `{ }`, `sh -c`, eval               | as the group does                  |
| behind env, sudo, nice, timeout              | as the whole; behind xargs: no     |

Rule 1: nothing is run and nothing looked up: what a variable holds is not known.
Rule 2: any text is read; what makes no sense is passed over, and what follows is still read.
Rule 3: what is beyond MAX_DEPTH, MAX_TOKENS or MAX_COMMANDS is left out, and `is_whole` says so;
        a guard takes that for the worst. So the time is linear in the text.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from osiris.core.shell_tokens import (
    MAX_CHARS,
    Redirect,
    Sign,
    Token,
    Word,
    tokens_of,
)
from osiris.core.shell_wrappers import executed, inside, reads_commands

MAX_DEPTH: Final = 16
MAX_COMMANDS: Final = 512
MAX_TOKENS: Final = 8_192

_CLOSERS: Final = {
    "{": "}",
    "if": "fi",
    "while": "done",
    "until": "done",
    "for": "done",
    "select": "done",
    "case": "esac",
}
_HEADED: Final = ("for", "select", "case")
_FILLERS: Final = frozenset({"then", "do", "else", "elif"})
_ENDS: Final = frozenset({*_CLOSERS.values(), ")"})


class Simple(Struct, frozen=True):
    """A command that runs a program: its words, wrappers off.

    `writes` are the targets of its redirections, `folder` is where `cd` has led before it (empty:
    where the line began), `reports`: if the whole line succeeds, it ran and succeeded.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    folder: str = ""
    reports: bool = True


class Line(Struct, frozen=True):
    """`is_whole`: nothing was left out."""

    commands: tuple[Simple, ...]
    is_whole: bool = True


def simple_commands(text: str, *, escape: str = "\\") -> Line:
    """Return the simple commands of `text`; `escape` is "`" in PowerShell, "^" in cmd."""
    shared = _Shared()
    commands = _Reader(text, shared, "", 0, escape=escape).line()
    return Line(tuple(commands[:MAX_COMMANDS]), shared.is_whole and len(commands) <= MAX_COMMANDS)


class _Shared:
    """What all readers of one line have in common."""

    is_whole = True
    tokens_left = MAX_TOKENS
    chars_left = 3 * MAX_CHARS


class _Reader:
    def __init__(
        self, text: str, shared: _Shared, folder: str, depth: int, *, escape: str = "\\"
    ) -> None:
        found = tokens_of(text, shared.tokens_left, escape=escape)
        shared.tokens_left -= len(found.tokens)
        shared.chars_left -= len(text)
        shared.is_whole = shared.is_whole and found.is_whole
        self._shared = shared
        self._tokens: Sequence[Token] = found.tokens
        self._at = 0
        self._depth = depth
        self._folder = folder
        self._pipefail = False

    def line(self, *, pipefail: bool = False) -> list[Simple]:
        self._pipefail = pipefail
        return self._sequence("")

    def _sequence(self, closer: str) -> list[Simple]:
        chains: list[list[Simple]] = []
        while self._at < len(self._tokens):
            end = self._sign() or self._bare()
            if end in _ENDS:
                self._at += 1
                if end == closer:
                    break
                continue  # it closes nothing
            before = self._at
            chain = self._chain()
            if self._sign() == "&":
                chain = _unsure(chain)
            if chain:
                chains.append(chain)
            self._at += self._at == before or self._sign() in {";", "&", "\n", ";;", ";&", ";;&"}
        earlier = [command for chain in chains[:-1] for command in chain]
        return [*_unsure(earlier), *(chains[-1] if chains else ())]

    def _chain(self) -> list[Simple]:
        pipes, sure_from = [self._pipeline()], 0
        while (sign := self._sign()) in {"&&", "||"}:
            self._next_line()
            pipes.append(self._pipeline())
            if sign == "||":
                sure_from = len(pipes)
        earlier = [command for pipe in pipes[:sure_from] for command in pipe]
        return [*_unsure(earlier), *(command for pipe in pipes[sure_from:] for command in pipe)]

    def _pipeline(self) -> list[Simple]:
        negated = False
        while self._bare() == "!":
            negated = True
            self._at += 1
        parts = [self._command()]
        while self._sign() in {"|", "|&"}:
            self._next_line()
            parts.append(self._command())
        earlier = [command for part in parts[:-1] for command in part]
        if not self._pipefail:
            earlier = _unsure(earlier)
        return _unsure([*earlier, *parts[-1]]) if negated else [*earlier, *parts[-1]]

    def _command(self) -> list[Simple]:
        while self._bare() in _FILLERS:
            self._at += 1
        word = self._bare()
        if self._sign() == "(":
            folder = self._folder
            found = self._group(")")
            self._folder = folder
            return found
        if word in _CLOSERS:
            found = self._group(_CLOSERS[word], is_headed=word in _HEADED)
            return found if word == "{" else _unsure(found)
        if word == "function":
            self._at += 2
            return self._function()
        return self._simple()

    def _group(self, closer: str, *, is_headed: bool = False) -> list[Simple]:
        self._at += 1
        if self._is_too_deep():
            return []
        while is_headed and self._sign() not in {";", "\n"} and self._bare() not in {"do", "in"}:
            if self._at >= len(self._tokens):
                break
            self._at += 1
        self._depth += 1
        found = self._sequence(closer)
        self._depth -= 1
        _, redirects = self._words_and_redirects()
        return [*found, *self._finished((), redirects)]

    def _function(self) -> list[Simple]:
        """Read the body of a function: it may run later, or never."""
        while self._sign() in {"(", ")", "\n"}:
            self._at += 1
        if self._is_too_deep():
            return []
        self._depth += 1
        found = self._command()
        self._depth -= 1
        return _unsure(found)

    def _is_too_deep(self) -> bool:
        if self._depth < MAX_DEPTH:
            return False
        self._shared.is_whole = False
        return True

    def _simple(self) -> list[Simple]:
        words, redirects = self._words_and_redirects()
        if words and self._sign() == "(":
            return self._function()
        return self._finished(words, redirects)

    def _words_and_redirects(self) -> tuple[list[Word], list[Redirect]]:
        words: list[Word] = []
        redirects: list[Redirect] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if isinstance(token, Sign):
                break
            if isinstance(token, Word):
                words.append(token)
            else:
                redirects.append(token)
            self._at += 1
        return words, redirects

    def _finished(self, words: Sequence[Word], redirects: Sequence[Redirect]) -> list[Simple]:
        """Return what runs inside the words, then the command itself."""
        runs = [run for word in words for run in word.runs]
        runs += [run for redirect in redirects for run in redirect.runs()]
        nested = _unsure([command for run in runs for command in self._nested(run)])
        found = inside([word.text for word in words])
        writes = tuple(redirect.word.text for redirect in redirects if redirect.writes())
        own = Simple(found.words, writes, self._folder, found.passes_status)
        script = found.script
        if script is None and reads_commands(found.words):
            script = "\n".join(redirect.body or redirect.word.text for redirect in redirects)
        if script:
            inner = self._nested(script, pipefail=found.pipefail)
            return [*nested, *(inner if found.passes_status else _unsure(inner)), *_writing(own)]
        self._heed(found.words)
        for_each = executed(found.words)
        nested += [Simple(for_each, (), self._folder, reports=False)] if for_each else []
        return [*nested, own] if own.words or own.writes else nested

    def _nested(self, text: str, *, pipefail: bool = False) -> list[Simple]:
        if self._is_too_deep() or len(text) > self._shared.chars_left:
            self._shared.is_whole = False
            return []
        reader = _Reader(text, self._shared, self._folder, self._depth + 1)
        return reader.line(pipefail=pipefail)

    def _heed(self, words: Sequence[str]) -> None:
        """Follow `cd` and `set -o pipefail`."""
        match words:
            case ("cd" | "pushd" | "chdir" | "Set-Location" | "sl", *rest):
                names = [word for word in rest if not word.startswith("-")]
                self._folder = joined(self._folder, names[0]) if names else self._folder
            case ("set", *_) if "pipefail" in words:
                flag = words[words.index("pipefail") - 1]
                self._pipefail = flag.startswith("-")
            case _:
                pass

    def _next_line(self) -> None:
        self._at += 1
        while self._sign() == "\n":
            self._at += 1

    def _sign(self) -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        return token.text if isinstance(token, Sign) else ""

    def _bare(self) -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        return token.text if isinstance(token, Word) and token.is_bare else ""


def joined(folder: str, name: str) -> str:
    """Return where `name` leads from `folder`; lexically."""
    is_absolute = name.startswith(("/", "\\", "~")) or name[1:2] == ":"
    return name if is_absolute or not folder else f"{folder}/{name}"


def _unsure(commands: Iterable[Simple]) -> list[Simple]:
    return [replace(one, reports=False) if one.reports else one for one in commands]


def _writing(command: Simple) -> list[Simple]:
    """Return what a command writes by redirection, without the command."""
    return [replace(command, words=(), reports=False)] if command.writes else []
