"""Where a secret can be put in what a client sends: a table of calls, and their arguments.

Rule 1: every argument of every tool is a place, whatever its type: what does not fit is refused,
        and the refusal must not repeat it.
Rule 2: a place is tried in every call of its tool in turn, so that each mode meets each argument.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import fields

from osiris.core import commands

Arguments = dict[str, Any]
Line = Callable[[int, int, str], bytes]

# tool -> calls that work, or nearly
CALLS: dict[str, tuple[Arguments, ...]] = {
    "plan": (
        {"mode": "start", "objective": "find what leaks", "steps": ["look"]},
        {"mode": "update", "step": 1, "done": True},
        {"mode": "status"},
        {"mode": "resume"},
    ),
    "precheck": ({"tool": "Bash", "args": {"command": "ls"}}, {"tool": "Read"}),
    "observe": (
        {"kind": "action", "tool": "Bash", "args": {"command": "ls"}, "ok": True, "result": "a b"},
        {"kind": "action", "tool": "Bash", "args": {"command": "make"}, "ok": False},
        {"kind": "decision", "text": "use a table"},
        {"kind": "constraint", "text": "no new parts"},
        {"kind": "lesson", "text": "read it first", "scope": "agent"},
        {"kind": "fact", "text": "it is blue", "scope": "project"},
        {"kind": "fact", "text": "it is round", "scope": "global"},
        {"kind": "state", "id": "tests_passed", "ok": True},
        {"kind": "file", "path": "a.py", "text": "x = 1"},
        {"kind": "head", "result": "You are an agent."},
        {"kind": "contract", "result": "[]"},
        {"kind": "dropped"},
        {"kind": "usage", "text": '{"input": 10, "output": 2}'},
    ),
    "recall": (
        {"op": "grep", "q": "a"},
        {"op": "memory", "q": "blue"},
        {"op": "range", "from": 1, "to": 2},
        {"op": "aggregate", "q": "a", "expr": "b"},
        {"op": "jsonl", "expr": "a"},
        {"op": "diff"},
    ),
    "checkpoint": (
        {"mode": "snapshot"},
        {"mode": "report"},
        {"mode": "resume"},
        {"mode": "compact"},
        {"mode": "clear"},
    ),
    "handoff": (
        {"op": "offer", "to": "reviewer", "goal": "check it"},
        {"op": "list"},
        {"op": "accept", "contract": "abcd"},
        {"op": "return", "contract": "abcd", "result": "done"},
        {"op": "input", "contract": "abcd"},
    ),
}
# what is put in the place of an argument: as a value, in lists, in objects, as a key
_SHAPES: tuple[Callable[[str], object], ...] = (
    lambda text: text,
    lambda text: [text, "b"],
    lambda text: {"a": {"b": [1, text]}},
    lambda text: {text: 1},
)
_LISTS = ("steps", "constraints", "pinned", "inputs", "checks")
_OBJECTS = ("args", "schema")


class Place(NamedTuple):
    """Where a text goes; `line` makes the message that carries the `turn`-th one, under an id."""

    tool: str
    argument: str
    line: Line


def places() -> Iterator[Place]:
    """Yield every place."""
    for tool in commands.TYPES:
        for field in fields(commands.TYPES[tool]):
            for number, fill in _fillings(field.encode_name):
                yield _place(tool, field.encode_name, number, fill)
        yield Place(tool, "(no argument)", _in_name_of_argument(tool))
        yield Place(tool, "(dispatched)", _dispatched(tool))
    yield from (Place(*where, line) for where, line in _ODD.items())


def _fillings(name: str) -> tuple[tuple[str, Callable[[str], object]], ...]:
    as_value, in_list, in_object, as_key = _SHAPES
    if name in _OBJECTS:
        return (" value", in_object), (" key", as_key), (" wrong", as_value)
    if name in _LISTS:
        return (" item", in_list), (" wrong", in_object)
    return (("", as_value),)


def _place(tool: str, name: str, kind: str, fill: Callable[[str], object]) -> Place:
    def line(ident: int, turn: int, text: str) -> bytes:
        base = CALLS[tool][turn % len(CALLS[tool])]
        return called(ident, f"osiris_{tool}", {**base, name: fill(text)})

    return Place(tool, f"{name}{kind}", line)


def _in_name_of_argument(tool: str) -> Line:
    return lambda ident, _, text: called(ident, f"osiris_{tool}", {**CALLS[tool][0], text: 1})


def _dispatched(tool: str) -> Line:
    required = fields(commands.TYPES[tool])[0].encode_name

    def line(ident: int, turn: int, text: str) -> bytes:
        inner = {**CALLS[tool][0], "task": text} if turn % 2 else {required: text}
        return called(ident, "osiris_call", {"op": tool, "args": inner})

    return line


def called(ident: int, name: str, arguments: Mapping[str, object]) -> bytes:
    """Return the line of one tool call."""
    return asked(ident, "tools/call", {"name": name, "arguments": arguments})


def asked(ident: object, method: str, params: object) -> bytes:
    """Return the line of one request."""
    message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


# (tool, argument) -> what is no argument, or no call
_ODD: dict[tuple[str, str], Line] = {
    ("(no tool)", "name"): lambda i, _, text: called(i, text, {}),
    ("call", "op"): lambda i, _, text: called(i, "osiris_call", {"op": text}),
    ("call", "args"): lambda i, _, text: called(i, "osiris_call", {"op": "plan", "args": text}),
    ("call", "(no argument)"): lambda i, _, text: called(i, "osiris_call", {text: 1}),
    ("(request)", "method"): lambda i, _, text: asked(i, text, {}),
    ("(request)", "params"): lambda i, _, text: asked(i, "tools/call", text),
    ("(request)", "name"): lambda i, _, text: asked(i, "tools/call", {"name": [text]}),
    ("(request)", "arguments"): lambda i, _, text: asked(
        i, "tools/call", {"name": "osiris_plan", "arguments": text}
    ),
    ("(request)", "uri"): lambda i, turn, text: asked(
        i, "resources/read", {"uri": ("osiris://ref/", "osiris://task/", "")[turn % 3] + text}
    ),
    ("(request)", "prompt"): lambda i, _, text: asked(i, "prompts/get", {"name": text}),
    ("(request)", "prompt argument"): lambda i, _, text: asked(
        i, "prompts/get", {"name": "osiris/task-resume", "arguments": {"task": text}}
    ),
    ("(broken line)", "cut"): lambda i, _, text: asked(i, "tools/call", text)[:-3] + b"\n",
    ("(broken line)", "batch"): lambda i, _, text: b"[" + asked(i, text, {})[:-1] + b"]\n",
    ("(broken line)", "text"): lambda _, __, text: json.dumps(text).encode() + b"\n",
    ("(id)", "id"): lambda i, _, text: asked(f"{i} {text}", "tools/call", {"name": "none"}),
    ("(id)", "id of a call"): lambda i, turn, text: asked(
        f"{i} {text}",
        "tools/call",
        {"name": "osiris_observe", "arguments": {"kind": "fact", "text": f"fact {turn}"}},
    ),
}
