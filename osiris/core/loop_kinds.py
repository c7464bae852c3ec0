"""What a call can do to the world, told from its tool's name and, of a shell, its command.

Rule 1: `read` changes nothing, `write` does, `poll` waits for something, `step` moves through
        something (a page, a key press) and repeats by design, `run` may do anything.
Rule 2: a shell command is a write if one of its simple commands is, else a poll if one is, else a
        read if all are, else a run.
Rule 3: an empty command asks a shell for more of its output: a poll.
Rule 4: in doubt it is a run: what it did counts as a change only while it is new.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, cast

Kind = Literal["read", "write", "run", "poll", "step"]

# Kind -> the words of tool names that mean it. The first word of a name decides if it writes, any
# word if it polls, else the first word that is in the table.
VERBS: Final[dict[Kind, str]] = {
    "read": "read get list ls cat search grep glob find view fetch show query describe open "
    "outline lookup stat head tail count inspect recall retrieve explain calculate think diff lsp",
    "write": "write edit create update delete remove move rename copy send post put insert patch "
    "apply replace set add commit push upload book cancel save append mkdir todo publish merge "
    "install assign close reply transfer",
    "poll": "status poll wait progress output monitor stdin input",
    "step": "press scroll click key swipe tap hover next back step",
}

# Words of a shell's name; its command is in one of the arguments.
SHELLS: Final = frozenset({
    "bash", "shell", "terminal", "exec", "execute", "powershell", "cmd", "console", "zsh", "sh",
    "command", "commands",
})  # fmt: skip
COMMAND_KEYS: Final = ("command", "cmd", "commands", "script")

# One tool, several acts: the argument `command` of an editor names the act; without one it shows
# a file unless it is given a text.
ACTS: Final[dict[str, Kind]] = {
    "view": "read",
    "create": "write",
    "str_replace": "write",
    "insert": "write",
    "undo_edit": "write",
}
TEXT_KEYS: Final = ("old_str", "new_str", "old_text", "new_text", "file_text", "content")

# Kind -> the first words of simple commands that mean it.
COMMANDS: Final[dict[Kind, str]] = {
    "read": "ls cat head tail grep egrep fgrep rg ag find fd wc pwd echo printf which type file "
    "stat du df tree less more awk sort uniq cut tr diff cmp jq yq date whoami id uname env "
    "printenv ps top pgrep lsof netstat ss hostname nl od xxd hexdump strings basename dirname "
    "realpath readlink sha256sum md5sum test [ [[ true false man sed column comm tac rev seq cd "
    "pushd popd set export unset for in done fi Get-Content gc Get-ChildItem dir Select-String "
    "findstr where whereis",
    "write": "mv cp rm mkdir rmdir touch ln chmod chown tee patch dd rsync unzip tar truncate "
    "install New-Item Remove-Item Move-Item Copy-Item Set-Content",
    "poll": "sleep wait watch Start-Sleep",
}
GIT: Final[dict[Kind, str]] = {
    "read": "status log diff show branch blame ls-files rev-parse grep describe remote ls-tree "
    "cat-file reflog shortlog config name-rev merge-base for-each-ref rev-list",
    "write": "add commit checkout switch reset merge rebase cherry-pick stash push pull fetch "
    "apply am tag rm mv restore clean init clone bisect revert worktree",
}
INSTALLERS: Final = "npm pnpm yarn pip pip3 uv brew apt apt-get cargo go"
INSTALLS: Final = "install i ci add remove uninstall update get"

# Words before the one that counts.
PREFIXES: Final = frozenset({
    "sudo", "env", "time", "nohup", "do", "then", "else", "if", "while", "until", "!", "command",
    "exec", "xargs", "builtin", "{", "(",
})  # fmt: skip

_VERBS: Final[dict[str, Kind]] = {
    word: kind for kind, words in VERBS.items() for word in words.split()
}
_COMMANDS: Final[dict[str, Kind]] = {
    **{word: kind for kind, words in COMMANDS.items() for word in words.split()},
    **{f"git {verb}": kind for kind, verbs in GIT.items() for verb in verbs.split()},
    **{f"{tool} {verb}": "write" for tool in INSTALLERS.split() for verb in INSTALLS.split()},
}

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SERVER: Final = re.compile(r"^.*(?:__|[./:])(?=[^./:])")
_SHELL_CHARS: Final = 4096
_QUOTED: Final = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_SEPARATOR: Final = re.compile(r"&&|\|\||[;|\n&]")
_DUPLICATED: Final = re.compile(r"\d?>&\d?|&>\s*/dev/null|\d?>{1,2}\s*/dev/null")
_ASSIGNMENT: Final = re.compile(r"^\w+=")


def kind_of(tool: str, args: Mapping[str, Any]) -> Kind:
    """Return what the call can do."""
    command = command_of(tool, args)
    if command is not None:
        return _kind_of_line(command[:_SHELL_CHARS])
    words = words_of(tool)
    return _kind_of_act(args) if "editor" in words else _kind_of_name(words)


@lru_cache(maxsize=1024)
def words_of(tool: str) -> tuple[str, ...]:
    """Return the lower case words of a tool's own name, without its server's."""
    return tuple(word.lower() for word in _WORD.findall(_SERVER.sub("", tool[:200])))


def command_of(tool: str, args: Mapping[str, Any]) -> str | None:
    """Return the command line of a shell call, None of any other."""
    if SHELLS.isdisjoint(words_of(tool)):
        return None
    for key in COMMAND_KEYS:
        value = args.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return "\n".join(map(str, cast("list[object]", value)))
    return None


def simple_commands(command: str) -> list[tuple[str, ...]]:
    """Return the words of each simple command, without quotes, prefixes and assignments."""
    return _simple(_bare(command))


def _simple(bare: str) -> list[tuple[str, ...]]:
    split = [_words(part) for part in _SEPARATOR.split(bare)]
    return [words for words in split if words]


def _bare(command: str) -> str:
    bare = command[:_SHELL_CHARS]
    if "'" in bare or '"' in bare:
        bare = _QUOTED.sub("_", bare)
    return _DUPLICATED.sub(" ", bare) if ">" in bare else bare


def _words(part: str) -> tuple[str, ...]:
    words = part.split()
    while words and (words[0] in PREFIXES or _ASSIGNMENT.match(words[0])):
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[1:]
    if not words:
        return ()
    return (words[0].rpartition("/")[2], *words[1:])


@lru_cache(maxsize=256)
def _kind_of_line(command: str) -> Kind:
    """Return what a command line can do; a call asks several times."""
    bare = _bare(command)
    return _kind_of_commands(_simple(bare), redirects=">" in bare)


def _kind_of_commands(commands: list[tuple[str, ...]], *, redirects: bool) -> Kind:
    if not commands:
        return "poll"
    kinds = {_kind_of_command(words) for words in commands}
    if redirects or "write" in kinds:
        return "write"
    if "poll" in kinds:
        return "poll"
    return "run" if "run" in kinds else "read"


def _kind_of_command(words: tuple[str, ...]) -> Kind:
    if words[0] == "sed" and any(word.startswith("-i") for word in words):
        return "write"
    if words[0] == "find" and not {"-delete", "-exec", "-execdir"}.isdisjoint(words):
        return "run"
    if words[0] in _COMMANDS:
        return _COMMANDS[words[0]]
    return _COMMANDS.get(" ".join(words[:2]), "run")


def _kind_of_act(args: Mapping[str, Any]) -> Kind:
    act = args.get("command")
    if isinstance(act, str) and act in ACTS:
        return ACTS[act]
    return "read" if all(args.get(key) is None for key in TEXT_KEYS) else "write"


def _kind_of_name(words: tuple[str, ...]) -> Kind:
    kinds: list[Kind] = [_VERBS[word] for word in words if word in _VERBS]
    if words and _VERBS.get(words[0]) == "write":
        return "write"
    if "poll" in kinds:
        return "poll"
    return kinds[0] if kinds else "run"
