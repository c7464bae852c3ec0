"""What a tool call does, as far as it can be told from the call: steps, names and paths.

| the call                   | names of a step                    | paths it changes            |
| any tool                   | the tool's, with and without server| those of its arguments, if  |
|                            |                                    | it may write                |
| a shell, or a line as tool | also argv0, argv0.argv1, ...       | targets of `>`; arguments   |
|                            |                                    | of what `CHANGES` lists     |
| a patch in an argument     | apply.patch                        | those the patch names       |

Rule 1: a path is given from the project's root if it lies below it, else as an absolute path;
        `cd` and `git -C` are followed; both separators separate.
Rule 2: in doubt a tool that takes a path may write; a name of `LOOKING` only looks.
Rule 3: a call too large to be read whole says so.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from osiris.core.invariant_globs import folded
from osiris.core.loop_identity import PATHS, normal_path
from osiris.core.loop_kinds import COMMAND_KEYS, SHELLS, kind_of, words_of
from osiris.core.shell_words import Simple, joined, simple_commands
from osiris.core.shell_wrappers import command_names, option_value

MAX_PATHS: Final = 1_000
_MAX_DEPTH: Final = 6


def _words_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Keys of arguments, without `_`, whose text is a path.
PATH_KEYS: Final = {key.replace("_", "") for key in PATHS - {"cwd", "workdir"}} | {
    "uri", "targetpath", "source", "destination", "dest", "src", "from", "to", "newfile",
    "oldfile", "notebook", "outputpath", "outputfile", "targetfile", "relativeworkspacepath",
}  # fmt: skip
FOLDER_KEYS: Final = ("cwd", "workdir", "working_directory", "workingDirectory")

# Words of tools that take a path and only look, or run something there.
LOOKING: Final = _words_of(
    "run test tests lint check typecheck analyze analyse tree navigate info index goto definition "
    "references symbol symbols hover diagnostics exists validate compile build watch scan"
)
GIT_CHANGES: Final = _words_of("checkout restore rm mv clean reset apply")

# Which words of a command are paths it changes -> the names of such commands.
CHANGES: Final[dict[str, frozenset[str]]] = {
    "all": _words_of(
        "rm rmdir unlink shred mv touch mkdir truncate chmod chown chgrp tee patch dd "
        "git.rm git.mv git.restore git.checkout git.clean "
        "del erase rd ren move set.content add.content clear.content new.item remove.item "
        "move.item rename.item out.file"
    ),
    "last": _words_of("cp ln rsync scp install copy copy.item"),
    "in place": _words_of("sed gsed perl ruby awk gawk"),
}
_IN_PLACE: Final = re.compile(r"-[a-zA-Z]*i|--in-place")

# Words with which a command runs nothing of what it is for.
DRY: Final = _words_of(
    "--help -h --version -V --collect-only --co --no-run --list --list-tests --listTests "
    "--dry-run --fixtures --markers --setup-plan --showConfig --show-settings --show-files"
)

_PATCH_BEGINS: Final = "*** Begin Patch"
_PATCHED: Final = re.compile(
    r"^[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\r?$", re.MULTILINE
)
_POWERSHELLS: Final = frozenset({"powershell", "pwsh"})


class ToolCall(Struct, frozen=True):
    """A tool call before it is made, or after.

    `roots` are the spellings of the project's root (its real path, and how the host says it),
    `cwd` is where relative paths begin (empty: at the first root).
    """

    tool: str
    args: Mapping[str, Any]
    agent: str = ""
    roots: tuple[str, ...] = ()
    cwd: str = ""


class Step(Struct, frozen=True):
    """One thing a call does: under these names, with these paths.

    `named` are all its paths, `changed` those it may change. `reports`: if the call succeeds, this
    has run and succeeded. `is_dry`: it runs nothing of what it is for.
    """

    names: tuple[str, ...]
    named: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    reports: bool = True
    is_dry: bool = False


class Deed(Struct, frozen=True):
    """What a call does, in order; `is_whole`: nothing of it was left out."""

    steps: tuple[Step, ...]
    is_whole: bool = True
    is_shell: bool = False


def deed_of(call: ToolCall) -> Deed:
    """Return what a call does. Total; linear in the size of the call."""
    line = command_line(call)
    own = () if line == call.tool else _tool_names(call.tool)
    patched = [_located(path, call, _folder(call)) for path in _patched(call.args)]
    steps: list[Step] = []
    is_whole = len(patched) <= MAX_PATHS
    if line is None:
        paths = [_located(path, call, _folder(call)) for path in _paths_in(call.args)]
        is_whole = is_whole and len(paths) <= MAX_PATHS
        kept = tuple(paths[:MAX_PATHS])
        steps.append(Step(own, kept, kept if _may_write(call) else ()))
    else:
        found = simple_commands(line, escape=_escape(call.tool))
        is_whole = is_whole and found.is_whole
        steps += [_step(command, own, call) for command in found.commands]
    if patched:
        changed = tuple(patched[:MAX_PATHS])
        steps.append(Step((*own, "apply.patch"), changed, changed))
    return Deed(tuple(steps) or (Step(own),), is_whole, line is not None)


def command_line(call: ToolCall) -> str | None:
    """Return the line that a shell call runs, None of any other call."""
    if SHELLS.isdisjoint(_words(call.tool)):
        return call.tool if " " in call.tool.strip() else None
    for key in COMMAND_KEYS:
        value = call.args.get(key)
        if isinstance(value, str):
            return " ".join([value, *map(shlex.quote, _strings(call.args.get("args")))])
        if words := _strings(value):
            has_lines = any(char.isspace() for char in words[0])
            return "\n".join(words) if has_lines else shlex.join(words)
    return None


def _tool_names(tool: str) -> tuple[str, ...]:
    words = ".".join(words_of(tool))
    server = tool.removeprefix("mcp__")
    names = (folded(tool), folded(server), folded(server.rpartition("__")[2]), words)
    return tuple(dict.fromkeys(name for name in names if name))


def _words(tool: str) -> set[str]:
    return {*words_of(tool), *folded(tool[:200]).split(".")}


def _escape(tool: str) -> str:
    words = _words(tool)
    if not words.isdisjoint(_POWERSHELLS):
        return "`"
    return "^" if words == {"cmd"} else "\\"


def _step(command: Simple, own: tuple[str, ...], call: ToolCall) -> Step:
    names = tuple(dict.fromkeys(folded(name) for name in command_names(command.words)))
    folder = joined(_folder(call), command.folder) if command.folder else _folder(call)
    if "git" in names and (elsewhere := option_value(command.words, "-C")):
        folder = joined(folder, elsewhere)
    words = [word for word in map(_argument, command.words[1:]) if word]
    writes = tuple(_located(path, call, folder) for path in command.writes)
    named = tuple(_located(word, call, folder) for word in words)
    changed = tuple(_located(word, call, folder) for word in _changed(command.words, names, words))
    return Step(
        names=(*own, *(name for name in names if name)),
        named=(*named, *writes),
        changed=(*changed, *writes),
        reports=command.reports and not call.args.get("run_in_background"),
        is_dry=not DRY.isdisjoint(command.words),
    )


def _argument(word: str) -> str:
    """Return what may be a path in a word: `--file=a` and `of=a` name a."""
    if word.startswith("-"):
        return word.partition("=")[2]
    return word.removeprefix("of=")


def _changed(words: Sequence[str], names: Sequence[str], paths: Sequence[str]) -> Sequence[str]:
    if not CHANGES["all"].isdisjoint(names):
        return paths
    if not CHANGES["last"].isdisjoint(names):
        return paths if "-t" in words else paths[-1:]
    if not CHANGES["in place"].isdisjoint(names) and any(map(_IN_PLACE.match, words[1:])):
        return paths
    return ()


def _may_write(call: ToolCall) -> bool:
    words = words_of(call.tool)
    if "git" in _words(call.tool):
        return not GIT_CHANGES.isdisjoint(words)
    kind = kind_of(call.tool, call.args)
    return kind == "write" or (kind in {"run", "step"} and LOOKING.isdisjoint(words))


def _paths_in(value: object, key: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the texts that stand under a key for paths."""
    if isinstance(value, str):
        if key and key.replace("_", "").replace("-", "").lower() in PATH_KEYS:
            yield value
    elif depth < _MAX_DEPTH and isinstance(value, Mapping):
        for name, item in cast("Mapping[str, object]", value).items():
            yield from _paths_in(item, name, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, list | tuple):
        for item in cast("Sequence[object]", value):
            yield from _paths_in(item, key, depth + 1)


def _patched(args: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that a patch in an argument names."""
    for value in args.values():
        for text in [value] if isinstance(value, str) else _strings(value):
            if _PATCH_BEGINS in text:
                yield from (found[1] for found in _PATCHED.finditer(text))


def _strings(value: object) -> list[str]:
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return [item for item in items if isinstance(item, str)]


def _folder(call: ToolCall) -> str:
    given = next((call.args[key] for key in FOLDER_KEYS if isinstance(call.args.get(key), str)), "")
    start = call.cwd or next(iter(call.roots), "")
    return joined(start, given) if given else start


def _located(path: str, call: ToolCall, folder: str) -> str:
    """Return a path from the project's root, or absolute if it leads out of it."""
    found = _normal(joined(folder, path.strip().removeprefix("file://")))
    for root in map(_normal, filter(None, call.roots)):
        if found.lower() == root.lower():
            return "."
        above = root.rstrip("/") + "/"
        if found.lower().startswith(above.lower()):
            return found[len(above) :]
    return found


def _normal(path: str) -> str:
    return normal_path(path.replace("\\", "/"))
