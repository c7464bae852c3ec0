"""The tables of `.osiris/invariants.toml` as they are written, and what is wrong with one.

Rule 1: `_TABLES` and `_FIXES` name what may stand where; a message about a value tells one of them.
"""

import re
from difflib import get_close_matches
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from osiris.core.invariant_rules import Expected, Verdict

MAX_TABLES: Final = 200

Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$")]
Text = Annotated[str, Meta(max_length=300)]
Command = Annotated[str, Meta(min_length=1, max_length=2_000)]
GlobOrGlobs = str | list[str]
Value = str | bool | int | float | list[str]


class WhenTable(Struct, forbid_unknown_fields=True):
    tool: GlobOrGlobs | None = None
    path_glob: GlobOrGlobs | None = None
    args: dict[str, Value] = {}
    agent: GlobOrGlobs | None = None


class RequireTable(Struct, forbid_unknown_fields=True):
    state: Id | list[Id]


class InvariantTable(Struct, forbid_unknown_fields=True):
    id: Id
    when: WhenTable
    require: RequireTable | None = None
    verdict: Verdict = "block"
    message: Text = ""


class StateTable(Struct, forbid_unknown_fields=True):
    name: Id
    set_by: GlobOrGlobs
    cleared_by: GlobOrGlobs = []
    cleared_by_tool: GlobOrGlobs = []
    files: GlobOrGlobs | None = None


class CheckTable(Struct, forbid_unknown_fields=True):
    id: Id
    command: Command | Annotated[list[Command], Meta(min_length=1, max_length=200)]
    cwd: Text = ""
    timeout_s: Annotated[int, Meta(ge=1, le=3_600)] = 300


class CallTable(Struct, forbid_unknown_fields=True):
    tool: Annotated[str, Meta(min_length=1, max_length=2_000)]
    args: dict[str, Any] = {}
    agent: Text = ""


class ExampleTable(Struct, forbid_unknown_fields=True):
    call: CallTable
    expect: Expected
    states: list[Id] = []
    rule: str = ""


class FileTables(Struct, forbid_unknown_fields=True):
    invariant: Annotated[list[InvariantTable], Meta(max_length=MAX_TABLES)] = []
    state: Annotated[list[StateTable], Meta(max_length=MAX_TABLES)] = []
    check: Annotated[list[CheckTable], Meta(max_length=MAX_TABLES)] = []
    example: Annotated[list[ExampleTable], Meta(max_length=MAX_TABLES)] = []


# the last name of a place in the file -> what may stand there
_TABLES: Final[dict[str, type[Struct]]] = {
    "": FileTables,
    "invariant": InvariantTable,
    "when": WhenTable,
    "require": RequireTable,
    "state": StateTable,
    "check": CheckTable,
    "example": ExampleTable,
    "call": CallTable,
}

_ENTRIES: Final = ("invariant", "state", "check", "example")

# the last name of a place in the file -> what its value may be
_FIXES: Final[dict[str, str]] = {
    **dict.fromkeys(("id", "name", "states"), "1 to 64 letters, digits, points, - and _"),
    **dict.fromkeys(("tool", "path_glob", "agent", "set_by"), "a glob or a list of globs"),
    **dict.fromkeys(("cleared_by", "cleared_by_tool", "files"), "a glob or a list of globs"),
    **dict.fromkeys(_ENTRIES, f"at most {MAX_TABLES} tables of a kind"),
    "require.state": "the name of a state, or a list of names",
    "args": "a table of keys and globs",
    "when": 'a table, e.g. when = { tool = "git.commit" }',
    "require": 'a table, e.g. require = { state = "tests_passed" }',
    "verdict": "write warn or block",
    "expect": "write allow, warn or block",
    "message": "a text of at most 300 characters",
    "command": "a line of words or a list of them",
    "cwd": "a folder below the project's root",
    "timeout_s": "1 to 3600 seconds",
    "call": 'a table, e.g. call = { tool = "Bash", args = { command = "git commit" } }',
}

_PLACE: Final = re.compile(r" - at `\$(.*)`$")
_ENTRY: Final = re.compile(r"\.?(invariant|state|check|example)\[(\d+)\]")
_UNKNOWN: Final = re.compile(r"unknown field `(.*)`")
_MISSING: Final = re.compile(r"required field `(.*)`")


class WrongError(Exception):
    """What is wrong, where (`kind` of table, its number from 0), and the fix."""

    def __init__(self, what: str, fix: str, kind: str = "", number: int = 0) -> None:
        super().__init__(what)
        self.what, self.fix, self.kind, self.number = what, fix, kind, number


def unfit(why: str) -> WrongError:
    """Return what msgspec says about a value, with its place taken apart."""
    found = _PLACE.search(why)
    place, why = (found[1], _PLACE.sub("", why)) if found else ("", why)
    entry = _ENTRY.match(place)
    kind, number = (entry[1], int(entry[2])) if entry else ("", 0)
    field = (place[entry.end() :] if entry else place).replace("[...]", "").lstrip(".")
    last = re.sub(r"\[.*", "", field.rpartition(".")[2]) or kind
    known = [one.encode_name for one in msgspec.structs.fields(_TABLES.get(last, FileTables))]
    if unknown := _UNKNOWN.search(why):
        near = get_close_matches(unknown[1], known, 1)
        fix = f"write {near[0]}" if near else f"use only: {', '.join(known)}"
        return WrongError(f"{field} has no key {unknown[1]!r}".lstrip(), fix, kind, number)
    if missing := _MISSING.search(why):
        what = f"{field} needs {missing[1]!r}".lstrip()
        return WrongError(what, f"add {missing[1]}", kind, number)
    if last in _ENTRIES and why.startswith("Expected `array`, got"):
        return WrongError(f"[{last}] is one table", f"write [[{last}]]", kind, number)
    if "matching regex" in why:
        why = "it is no such name"
    fix = _FIXES.get(field) or _FIXES.get(last, "correct the value")
    return WrongError(f"{field}: {why}" if field else why, fix, kind, number)
