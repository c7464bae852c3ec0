"""What a simple command really runs, and by which names a rule may call it.

| wrapper            | what it runs                                     |
| env A=1, sudo, ... | the words behind its own options and assignments |
| sh -c, eval, ...   | a text, which is a line of its own               |
| find -exec         | the words up to `;` or `+`                       |
| uv run, npx, ...   | the words behind it; both go by their names      |

Rule 1: a command goes by `argv0`, `argv0.argv1` and `argv0.argv1.argv2`, option words and their
        values left out; `argv0` is without its folder and `.exe`.
Rule 2: what is not in a table takes no options with values.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple


class Wrapper(NamedTuple):
    """`values`: options followed by a value; `skips`: words of its own before the command."""

    values: str = ""
    skips: int = 0
    passes_status: bool = True


def _words(text: str) -> list[str]:
    return text.split()


WRAPPERS: Final[dict[str, Wrapper]] = {
    "env": Wrapper("-u --unset -C --chdir"),
    "sudo": Wrapper("-u -g -h -p -C -T -U -r -t -D -R --user --group --host --prompt --chdir"),
    "doas": Wrapper("-u -C"),
    "nice": Wrapper("-n --adjustment"),
    "ionice": Wrapper("-c -n --class --classdata"),
    "chrt": Wrapper("", 1),
    "taskset": Wrapper("", 1),
    "timeout": Wrapper("-k -s --kill-after --signal", 1),
    "gtimeout": Wrapper("-k -s --kill-after --signal", 1),
    "time": Wrapper("-f -o --format --output"),
    "stdbuf": Wrapper("-i -o -e --input --output --error"),
    "flock": Wrapper("-w -E --timeout --conflict-exit-code", 1),
    "strace": Wrapper("-e -o -s -p"),
    "exec": Wrapper("-a"),
    **dict.fromkeys(_words("nohup setsid builtin command busybox unbuffer winpty"), Wrapper()),
    "xargs": Wrapper("-n -I -P -L -d -E -a -s", 0, passes_status=False),
    "watch": Wrapper("-n --interval", 0, passes_status=False),
}

SHELLS: Final = frozenset(_words("sh bash zsh dash ksh ash fish"))
RUN_AS: Final = frozenset({"su", "script"})  # words may stand before their -c
POWERSHELLS: Final = frozenset({"pwsh", "powershell"})
EXECS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})

# first word -> second words behind which another command stands; empty: behind the first
RUNNERS: Final[dict[str, str]] = {
    **dict.fromkeys(_words("uv poetry pipenv pdm hatch rye pixi"), "run"),
    **dict.fromkeys(_words("npx bunx pnpx uvx"), ""),
    "npm": "exec x",
    "pnpm": "exec dlx",
    "yarn": "exec dlx",
    "bun": "x",
    "bundle": "exec",
    "conda": "run",
    "dotenv": "run",
}

# first word -> options that are followed by a value
VALUES: Final[dict[str, frozenset[str]]] = {
    name: frozenset(options.split())
    for names, options in {
        "python": "-X -W",
        "git": "-C -c --git-dir --work-tree --namespace --config-env --super-prefix",
        "npm pnpm yarn bun": "--prefix -C --dir --cwd -w --workspace -F --filter",
        "make gmake": "-C -f -I -o -W --directory --file",
        "just": "-f -d --justfile --working-directory",
        "cargo": "--manifest-path --config -Z -C",
        "go": "-C",
        "docker podman": "-H --host -c --context -l --log-level --config",
        "kubectl helm": "-n --namespace --context --cluster -s --kubeconfig --user --kube-context",
        "gh": "-R --repo",
        "aws gcloud az": "--profile --region --output --project --subscription",
        "uv uvx": "--project --directory -p --python --with --extra --group -C",
        "poetry pdm hatch": "-C --directory -P --project -p -e --env",
        "conda": "-n --name -p --prefix",
        "gradle gradlew mvn mvnw": "-p -f -b --project-dir --file",
        "tox nox": "-e -c -s -f",
    }.items()
    for name in names.split()
}

_MOST_NAMES: Final = 16
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_SUFFIX: Final = re.compile(r"\.(?:exe|cmd|bat|com)$", re.IGNORECASE)
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*|py")
_SCRIPT_FLAG: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*")


class Inside(NamedTuple):
    """`words` run as they stand, or `script` is a line to be run."""

    words: tuple[str, ...]
    script: str | None = None
    passes_status: bool = True
    pipefail: bool = False


def inside(words: Sequence[str]) -> Inside:
    """Return what is left of a simple command when its wrappers are off."""
    passes = True
    while words := _without_assignments(words):
        name = command_name(words[0])
        wrapper = WRAPPERS.get(name)
        found = None if wrapper is None else _behind(words, wrapper)
        if wrapper is None or found is None:
            break
        passes = passes and wrapper.passes_status
        if name == "env" and found and found[0].startswith(("-S", "--split-string")):
            return Inside((), _split_string(found), passes)
        if not found:
            break
        words = found
    return Inside(tuple(words), _script(words), passes, pipefail="pipefail" in words)


def executed(words: Sequence[str]) -> tuple[str, ...]:
    """Return the command that `find` runs for each file; empty if none."""
    at = next((at for at, word in enumerate(words) if word in EXECS), None)
    if at is None or command_name(words[0]) != "find":
        return ()
    rest = words[at + 1 :]
    end = next((at for at, word in enumerate(rest) if word in {";", "+"}), len(rest))
    return tuple(rest[:end])


def reads_commands(words: Sequence[str]) -> bool:
    """Say whether it is a shell that takes its commands from stdin."""
    is_shell = bool(words) and command_name(words[0]) in SHELLS
    return is_shell and all(word.startswith("-") for word in words[1:])


def command_names(words: Sequence[str]) -> tuple[str, ...]:
    """Return every name of a command, the shortest first: git, git.commit."""
    names: list[str] = []
    while words and len(names) < _MOST_NAMES:
        first = command_name(words[0])
        spoken = [first, *_spoken(first, words, 2)]
        names += [".".join(spoken[:count]) for count in range(1, len(spoken) + 1)]
        words = _run_by(first, words)
    return tuple(names)


def command_name(word: str) -> str:
    """Return the first word of a command as a name: `/usr/bin/git.exe` is git."""
    return _SUFFIX.sub("", word.replace("\\", "/").rpartition("/")[2]).lower()


def option_value(words: Sequence[str], option: str) -> str:
    """Return the word behind `option`; empty if there is none."""
    at = next((at for at, word in enumerate(words) if word == option), len(words))
    return words[at + 1] if at + 1 < len(words) else ""


def _without_assignments(words: Sequence[str]) -> Sequence[str]:
    at = next((at for at, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return words[at:]


def _behind(words: Sequence[str], wrapper: Wrapper) -> Sequence[str] | None:
    """Return the words behind a wrapper's own; None if it only looks a command up."""
    values, at = wrapper.values.split(), 1
    while at < len(words) and (words[at].startswith("-") or _ASSIGNMENT.match(words[at])):
        word = words[at]
        if word in {"-v", "-V"} and command_name(words[0]) == "command":
            return None
        if word.startswith(("-S", "--split-string")) and command_name(words[0]) == "env":
            return words[at:]
        at += 2 if word in values else 1
        if word == "--":
            break
    return words[at + wrapper.skips :]


def _split_string(words: Sequence[str]) -> str:
    first = words[0].removeprefix("--split-string").removeprefix("-S").removeprefix("=")
    return " ".join([first, *words[1:]])


def _script(words: Sequence[str]) -> str | None:
    if not words:
        return None
    name, rest = command_name(words[0]), words[1:]
    if name == "eval":
        return " ".join(rest)
    if name in POWERSHELLS:
        return _joined_behind(rest, ("-c", "-command"))
    if name == "cmd":
        return _joined_behind(rest, ("/c", "/k"))
    return _shell_script(rest, name) if name in SHELLS | RUN_AS else None


def _joined_behind(words: Sequence[str], options: tuple[str, ...]) -> str | None:
    at = next((at for at, word in enumerate(words) if word.lower() in options), None)
    return None if at is None else " ".join(words[at + 1 :])


def _shell_script(words: Sequence[str], name: str) -> str | None:
    """Return the text behind -c, the first word that is neither option nor an option's value."""
    is_asked = False
    takes_value = False
    for word in words:
        if takes_value:
            takes_value = False
        elif word.startswith(("-", "+")):
            is_asked = is_asked or bool(_SCRIPT_FLAG.fullmatch(word))
            takes_value = word[-1] in "oO" and not word.startswith("--")
        elif is_asked:
            return word
        elif name not in RUN_AS:
            return None
    return None


def _spoken(first: str, words: Sequence[str], most: int) -> list[str]:
    """Return the first words behind `first` that are neither options nor their values."""
    values = _values(first)
    found: list[str] = []
    skips, is_past = False, False
    for before, word in pairwise(words):
        is_value = skips or (before.startswith("-") and word.isdecimal())
        is_option = not is_past and (word.startswith("-") or (word[:1] == "+" and not found))
        is_past = is_past or word == "--"
        skips = is_option and word in values
        if not (is_value or is_option):
            found.append(word)
        if len(found) == most:
            break
    return found


def _run_by(first: str, words: Sequence[str]) -> Sequence[str]:
    """Return the command that a runner runs; empty if it is none."""
    if _PYTHON.fullmatch(first):
        return _module(words)
    seconds = RUNNERS.get(first)
    if seconds is None:
        return ()
    spoken = _spoken(first, words, 2)
    if seconds and (not spoken or spoken[0] not in seconds.split()):
        return ()
    wanted: Iterable[str] = spoken[1:2] if seconds else spoken[:1]
    start = 1 + (words.index(spoken[0]) if seconds else 0)
    return next((words[words.index(word, start) :] for word in wanted), ())


def _module(words: Sequence[str]) -> Sequence[str]:
    for at, word in enumerate(words[1:], 1):
        if word == "-m":
            return words[at + 1 :]
        if not word.startswith("-") and words[at - 1] not in VALUES["python"]:
            return ()
    return ()


def _values(first: str) -> frozenset[str]:
    return VALUES.get("python" if _PYTHON.fullmatch(first) else first, frozenset())
