"""What an agent may ask: one struct a tool, parsed once, wrong values impossible after it.

Rule 1: `parse` is the only way from JSON to a command; unknown, missing and mistyped arguments
        are refusals that name the argument and say what to send.
Rule 2: null means absent.
Rule 3: `key` and `task` are understood everywhere; `seal` too. The kind `note` is understood, not
        listed: a listing has no token to spare.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, field

from osiris.core.errors import Refusal

Line = Annotated[str, Meta(max_length=500)]
Text = Annotated[str, Meta(max_length=16_384)]
Name = Annotated[str, Meta(max_length=200)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]

PlanMode = Literal["start", "update", "resume", "status"]
ObserveKind = Literal[
    "action", "decision", "constraint", "lesson", "fact", "state", "file", "head", "contract",
    "dropped", "usage",
]  # fmt: skip
UnlistedKind = Literal["note"]
RecallOp = Literal[
    "grep", "range", "head", "tail", "outline", "aggregate", "jsonl", "diff", "memory"
]
CheckpointMode = Literal["snapshot", "resume", "report", "compact", "trim", "clear"]
HandoffOp = Literal[
    "offer", "accept", "decline", "beat", "input", "return", "verify", "reject", "cancel", "list",
    "wait",
]  # fmt: skip
Scope = Literal["task", "project", "agent", "global"]


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    mode: PlanMode
    task: Name | None = None
    objective: Annotated[str, Meta(min_length=1, max_length=2_000)] | None = None
    steps: Annotated[tuple[Line, ...], Meta(max_length=100)] | None = None
    step: Annotated[int, Meta(ge=1, le=100)] | None = None
    done: bool | None = None
    constraints: Annotated[tuple[Text, ...], Meta(max_length=50)] | None = None
    pinned: Annotated[tuple[Text, ...], Meta(max_length=50)] | None = None
    agent: Name | None = None
    budget: Name | None = None
    query: Line | None = None
    seal: Name | None = None
    key: Name | None = None


class Precheck(Struct, frozen=True, forbid_unknown_fields=True):
    tool: Name
    args: dict[str, Any] | None = None
    task: Name | None = None
    seal: Name | None = None
    key: Name | None = None


class Observe(Struct, frozen=True, forbid_unknown_fields=True):
    kind: ObserveKind | UnlistedKind
    task: Name | None = None
    tool: Name | None = None
    args: dict[str, Any] | None = None
    ok: bool | None = None
    result: str | None = None
    path: Annotated[str, Meta(max_length=4_096)] | None = None
    ref: Name | None = None
    text: Text | None = None
    id: Annotated[str, Meta(max_length=64)] | None = None
    scope: Scope | None = None
    batch: Annotated[str, Meta(max_length=64)] | None = None
    seal: Name | None = None
    key: Name | None = None


class Recall(Struct, frozen=True, forbid_unknown_fields=True):
    op: RecallOp
    task: Name | None = None
    ref: Name | None = None
    path: Annotated[str, Meta(max_length=4_096)] | None = None
    q: Annotated[str, Meta(max_length=2_000)] | None = None
    expr: Annotated[str, Meta(max_length=2_000)] | None = None
    start: Count | None = field(default=None, name="from")
    to: Count | None = None
    n: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    cursor: Annotated[str, Meta(max_length=400)] | None = None
    seal: Name | None = None
    key: Name | None = None


class Checkpoint(Struct, frozen=True, forbid_unknown_fields=True):
    mode: CheckpointMode
    task: Name | None = None
    id: Annotated[str, Meta(max_length=64)] | None = None
    seal: Name | None = None
    key: Name | None = None


class Handoff(Struct, frozen=True, forbid_unknown_fields=True):
    op: HandoffOp
    task: Name | None = None
    contract: Name | None = None
    attempt: Annotated[int, Meta(ge=1, le=1_000)] | None = None
    to: Name | None = None
    goal: Line | None = None
    inputs: Annotated[tuple[Name, ...], Meta(max_length=100)] | None = None
    budget: Name | None = None
    checks: Annotated[tuple[Line, ...], Meta(max_length=50)] | None = None
    schema: dict[str, Any] | None = None
    result: str | None = None
    agent: Name | None = None
    cursor: Annotated[str, Meta(max_length=400)] | None = None
    seal: Name | None = None
    key: Name | None = None


Command = Plan | Precheck | Observe | Recall | Checkpoint | Handoff

TYPES: dict[str, type[Command]] = {
    "plan": Plan,
    "precheck": Precheck,
    "observe": Observe,
    "recall": Recall,
    "checkpoint": Checkpoint,
    "handoff": Handoff,
}

_UNKNOWN = re.compile(r"unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"required field `(.*)`")
_AT = re.compile(r" - at `(.*)`$")


def parse(tool: str, arguments: Mapping[str, Any]) -> Command | Refusal:
    """Return the command that `arguments` spell for `tool`, a name of TYPES."""
    try:
        return msgspec.convert(arguments, TYPES[tool])
    except msgspec.ValidationError as error:
        return _refusal(tool, str(error))


def arguments_of(tool: str) -> tuple[str, ...]:
    """Return the argument names of `tool` as a caller writes them."""
    return tuple(f.encode_name for f in msgspec.structs.fields(TYPES[tool]))


def _refusal(tool: str, why: str) -> Refusal:
    if found := _UNKNOWN.search(why):
        names = ", ".join(name for name in arguments_of(tool) if name != "key")
        return Refusal(
            "unknown_argument", f"{tool} has no argument {found[1][:64]!r}", f"use only: {names}"
        )
    if found := _MISSING.search(why):
        return Refusal(
            "missing_argument", f"{tool} needs {found[1]!r}", f"add {found[1]!r} and call again"
        )
    where = _AT.search(why)
    name = where[1].removeprefix("$.") if where else "arguments"
    words = choices(tool, name)
    fix = f"send one of: {', '.join(words)}" if words else f"correct {name!r} and call again"
    return Refusal("bad_argument", f"{tool} {name}: {_AT.sub('', why)[:200]}", fix)


def choices(tool: str, name: str) -> tuple[str, ...]:
    """Return the words that argument `name` of `tool` takes; none where it takes other text."""
    fields = msgspec.structs.fields(TYPES[tool])
    return tuple(
        word for field in fields if field.encode_name == name for word in _words(field.type)
    )


def _words(kind: object) -> Iterator[str]:
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    else:
        for part in get_args(kind):
            yield from _words(part)
