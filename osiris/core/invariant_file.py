"""`.osiris/invariants.toml`: from its bytes to rules, or to what is wrong with it and where.

Rule 1: a file is taken whole or not at all; the refusal names the line or the rule, and the fix.
Rule 2: unknown keys are refused: a misspelt condition would be one that nobody checks.
Rule 3: what is built in comes with every file: the states of `invariant_states`, the rule that
        agents do not approve, and, once the file says anything, that they do not rewrite it.
Rule 4: the size of the file, the number of its tables and every glob are limited.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeVar, cast

import msgspec

from osiris.core import plain
from osiris.core.errors import Refusal
from osiris.core.invariant_calls import ToolCall
from osiris.core.invariant_globs import BadGlobError, Globs, Kind
from osiris.core.invariant_rules import Check, Example, Rule, Rules, When
from osiris.core.invariant_states import State, built_in
from osiris.core.invariant_tables import (
    CheckTable,
    ExampleTable,
    FileTables,
    GlobOrGlobs,
    InvariantTable,
    StateTable,
    Value,
    WhenTable,
    WrongError,
    unfit,
)

MAX_BYTES: Final = 256 << 10
_SHELL_SIGNS: Final = frozenset("|&;<>()")
MAX_DOTS: Final = 20  # the standard library's parser takes n * n memory for n dots in a key
RESERVED: Final = "osiris."
CODE: Final = "bad_rules"

T = TypeVar("T")
R = TypeVar("R")

_APPROVE: Final = Rule(
    "osiris.approve",
    When(tool=Globs(("osiris.approve", "mcp.osiris.approve"), "name")),
    message="approvals come from a person at a terminal, never from an agent",
    approvable=False,
)
_OWN_FILE: Final = Rule(
    "osiris.rules",
    When(path_glob=Globs(("**/.osiris", "**/.osiris/invariants.toml"), "path")),
    message="the rules of a project are changed by a person",
)
_OWN_FILE_BY_SCRIPT: Final = Rule(
    "osiris.script",
    When(
        tool=Globs(
            ("{python*,py,node,deno,bun,perl,ruby,php,lua}.*osiris*invariants.toml*",), "name"
        )
    ),
    message="the rules of a project are changed by a person",
    approvable=False,
)
# what holds where there is no file, and where there never was a good one
BARE: Final = Rules((_APPROVE,), built_in())
GUARDED: Final = Rules((_APPROVE, _OWN_FILE, _OWN_FILE_BY_SCRIPT), built_in())

_AT_END: Final = "(at end of document)"
_TOML_LINE: Final = re.compile(r" \(at line (\d+), column \d+\)$")
_TOML_TEXT: Final = re.compile(
    r"\"{3}(?:\\.|[^\\])*?\"{3}|'{3}.*?'{3}|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|#[^\n]*", re.DOTALL
)


def parse(raw: bytes) -> Rules | Refusal:
    """Return the rules of a file; no bytes are a file without rules. Never raises."""
    if len(raw) > MAX_BYTES:
        return Refusal(CODE, f"{len(raw):,} bytes", f"at most {MAX_BYTES:,} bytes: split the globs")
    try:
        text = raw.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        return Refusal(CODE, f"byte {error.start} is no UTF-8", "save the file as UTF-8")
    data = _toml(text)
    if isinstance(data, Refusal):
        return data
    try:
        return _rules(msgspec.convert(data, FileTables))
    except msgspec.ValidationError as error:
        wrong = unfit(str(error))
    except WrongError as error:
        wrong = error
    where = _where(text, data, wrong)
    return Refusal(CODE, plain.one_line(f"{where}{wrong.what}", 400), wrong.fix)


def _toml(text: str) -> dict[str, Any] | Refusal:
    line = _dotted(text)
    if line:
        return Refusal(CODE, f"line {line}: more than {MAX_DOTS} dots in keys", "use [[tables]]")
    try:
        return tomllib.loads(text)
    except RecursionError:
        return Refusal(CODE, "values nested too deep", "two levels are enough")
    except ValueError as error:
        why = str(error).replace(_AT_END, f"(at line {text.count(chr(10)) + 1}, column 1)")
        found = _TOML_LINE.search(why)
        where = f"line {found[1]}: " if found else ""
        what = plain.one_line(where + _TOML_LINE.sub("", why), 300)
        return Refusal(CODE, what, "correct the TOML there")


def _dotted(text: str) -> int:
    """Return the line with too many dots outside of strings and comments, 0 for none."""
    bare = _TOML_TEXT.sub(lambda found: "\n" * found[0].count("\n"), text)
    lines = enumerate(bare.split("\n"), 1)
    return next((number for number, line in lines if line.count(".") > MAX_DOTS), 0)


def _where(text: str, data: Mapping[str, Any], wrong: WrongError) -> str:
    """Return "line 7, invariant 'x': " for a table, empty for the file."""
    if not wrong.kind:
        return ""
    header = re.compile(rf"^[ \t]*\[\[[ \t]*{wrong.kind}[ \t]*\]\]", re.MULTILINE)
    starts = [found.start() for found in header.finditer(text)]
    entries: list[Any] = data[wrong.kind]
    line = ""
    if len(starts) == len(entries):
        line = f"line {text.count(chr(10), 0, starts[wrong.number]) + 1}, "
    entry = entries[wrong.number]
    table = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
    names = (table.get("id"), table.get("name"))
    name = next((repr(name[:64]) for name in names if isinstance(name, str)), "")
    return f"{line}{wrong.kind} {name or wrong.number + 1}: "


def _rules(file: FileTables) -> Rules:
    """Raise WrongError."""
    states = {**built_in(), **{state.name: state for state in _each("state", file.state, _state)}}
    own = _each("invariant", file.invariant, lambda table: _rule(table, states))
    ids = {rule.id for rule in own}
    has_tables = bool(file.invariant or file.state or file.check or file.example)
    _unique("invariant", [table.id for table in file.invariant])
    _unique("state", [table.name for table in file.state])
    _unique("check", [table.id for table in file.check])
    return Rules(
        (*(GUARDED if has_tables else BARE).invariants, *own),
        states,
        _each("check", file.check, _check),
        _each("example", file.example, lambda table: _example(table, states, ids)),
    )


def _each(kind: str, tables: list[T], make: Callable[[T], R]) -> tuple[R, ...]:
    """Return what is made of each table. Raises WrongError that says of which."""
    made: list[R] = []
    for number, table in enumerate(tables):
        try:
            made.append(make(table))
        except (BadGlobError, WrongError) as wrong:
            raise WrongError(wrong.what, wrong.fix, kind, number) from wrong
    return tuple(made)


def _state(table: StateTable) -> State:
    set_by = Globs(_list(table.set_by), "name")
    if set_by.is_for_all():
        raise WrongError("set_by matches every call", "name the commands that set it")
    if not set_by.texts:
        raise WrongError("set_by is empty", "name the commands that set it")
    return State(
        table.name,
        set_by,
        Globs(_list(table.cleared_by), "path"),
        Globs(_list(table.cleared_by_tool), "name"),
        Globs(_list(table.cleared_by if table.files is None else table.files), "path"),
    )


def _rule(table: InvariantTable, states: Mapping[str, State]) -> Rule:
    if table.id.startswith(RESERVED):
        raise WrongError("such ids are OSIRIS's own", f"an id without {RESERVED}")
    when = _when(table.when)
    if when == When():
        fix = 'name a tool, a folder or an argument in `when`, e.g. tool = ["edit", "write"]'
        raise WrongError("it has no condition", fix)
    required = () if table.require is None else tuple(_list(table.require.state))
    if table.require is not None and not required:
        raise WrongError("it requires no state", "name one, or leave `require` out")
    for name in required:
        _known(name, states)
    return Rule(table.id, when, required, table.verdict, table.message)


def _when(table: WhenTable) -> When:
    return When(
        _condition(table.tool, "name"),
        _condition(table.path_glob, "path"),
        tuple((key, Globs(_values(key, value), "text")) for key, value in table.args.items()),
        _condition(table.agent, "text"),
    )


def _condition(given: GlobOrGlobs | None, kind: Kind) -> Globs | None:
    if given is None:
        return None
    if not given:
        raise WrongError("a condition without a glob matches nothing", "name one, or leave it out")
    return Globs(_list(given), kind)


def _values(key: str, value: Value) -> list[str]:
    """Return the globs of an argument; a number or a truth value is compared as its JSON."""
    if isinstance(value, bool | int | float):
        return [json.dumps(value)]
    if not value:
        raise WrongError(f"args.{key} without a glob matches nothing", "name one, or leave it out")
    return _list(value)


def _check(table: CheckTable) -> Check:
    parts = table.cwd.replace("\\", "/").split("/")
    if ".." in parts or ":" in table.cwd or (table.cwd and not parts[0]):
        raise WrongError("cwd leads out of the project", "name a folder below its root")
    command = table.command
    words = _words(command) if isinstance(command, str) else tuple(command)
    return Check(table.id, words, table.cwd, table.timeout_s)


def _words(line: str) -> tuple[str, ...]:
    """Return the words of a line that no shell will read."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    fix = 'write a list of words, e.g. command = ["make", "test"], or name a script'
    try:
        words = tuple(lexer)
    except ValueError as error:
        raise WrongError("command has a quote that is not closed", fix) from error
    signs = next((word for word in words if set(word) <= _SHELL_SIGNS), "")
    if signs or "$" in line or "`" in line:
        raise WrongError(f"command needs a shell for {signs or '$'}, and none runs it", fix)
    if not words:
        raise WrongError("command is empty", fix)
    return words


def _example(table: ExampleTable, states: Mapping[str, State], ids: set[str]) -> Example:
    for name in table.states:
        _known(name, states)
    if table.rule and table.rule not in ids:
        raise WrongError(f"no rule {table.rule[:64]!r}", "name an id of this file")
    call = ToolCall(table.call.tool, table.call.args, table.call.agent)
    return Example(call, table.expect, tuple(table.states), table.rule)


def _known(name: str, states: Mapping[str, State]) -> None:
    if name in states:
        return
    near = get_close_matches(name, states, 1)
    fix = f"write {near[0]}" if near else f"add [[state]] name = {name!r} with its set_by"
    raise WrongError(f"no state {name!r}", fix)


def _unique(kind: str, names: list[str]) -> None:
    for number, name in enumerate(names):
        if names.index(name) < number:
            raise WrongError("its name is taken", "give it another one", kind, number)


def _list(given: GlobOrGlobs) -> list[str]:
    return [given] if isinstance(given, str) else given
