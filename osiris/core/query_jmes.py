"""Expressions from outside over JSON values: the only importer of jmespath.

Rule 1: JMESPath always ends, but it may multiply: an expression is at most MAX_EXPRESSION long, and
        every list or object it builds is measured, shared parts counted each time they appear.
Rule 2: the time is asked at every step; when it is up, `OutOfTime` leaves the evaluation.
Rule 3: a function that sees much in one call, which nothing interrupts, is measured before it.
Rule 4: an expression that maps over an array can be answered element by element: `Split`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jmespath
from jmespath import exceptions
from jmespath.visitor import TreeInterpreter

from osiris.core.errors import Refusal
from osiris.core.stub_json import is_array, is_object

MAX_EXPRESSION = 1_000
MAX_PARTS = 200_000
MAX_TEXT = 1 << 20
MAX_SORTED = 20_000  # 10 ms in one call
_LESS = "select less, or filter first"

Node = dict[str, Any]
_IDENTITY: Node = {"type": "identity", "children": []}
_MAKERS = frozenset({"multi_select_list", "multi_select_dict"})
_SORTS = frozenset({"sort", "sort_by"})
_WRITES = frozenset({"to_string", "join"})
_MAPS = frozenset({"projection", "filter_projection"})
_LEFT_FIRST = _MAPS | {"subexpression", "pipe", "flatten", "index_expression"}


class OutOfTime(Exception):  # noqa: N818  (named by what happened to the caller)
    """The time was up before the expression had its value."""


class Unanswerable(Exception):  # noqa: N818  (same)
    """The expression does not fit the values; `refusal` is what to answer."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.refusal = Refusal("bad_pattern", what, fix)


Path = tuple[str | int, ...]


class Split(NamedTuple):
    """An expression as the path to an array, the part of it, and what is done with each element."""

    path: Path
    part: slice
    each: "Expression"


class Expression:
    """A parsed expression."""

    def __init__(self, tree: Node) -> None:
        self._tree = tree

    def value_in(self, value: object, expired: Callable[[], bool]) -> object:
        """Return what the expression makes of a JSON value. Raises OutOfTime, Unanswerable."""
        try:
            return _Guarded(expired).visit(self._tree, value)
        except (exceptions.JMESPathError, RecursionError, TypeError, ValueError) as complaint:
            fix = "leave other types out first, e.g. [?name] | [?starts_with(name, 'a')]"
            raise Unanswerable(_said(complaint), fix) from complaint

    def path(self) -> Path | None:
        """Return the keys and indexes if the expression is nothing but those."""
        return _path(self._tree)

    def counted(self) -> Path | None:
        """Return the path whose length is asked for, if that is all."""
        is_length = (self._tree["type"], self._tree.get("value")) == (
            "function_expression",
            "length",
        )
        return _path(self._tree["children"][0]) if is_length else None

    def leading(self) -> int | None:
        """Return how many elements of the array it is asked of it needs; None is all of them."""
        return _leading(self._tree)

    def split(self) -> Split | None:
        """Return the expression as path and mapping, or None if it must see all elements."""
        if self._tree["type"] not in _MAPS:
            return None
        found = _split(self._tree)
        return Split(*found[:2], Expression(found[2])) if found else None


def parse(text: str) -> Expression | Refusal:
    """Parse a JMESPath expression."""
    if len(text) > MAX_EXPRESSION:
        return Refusal("bad_pattern", f"{len(text):,} characters", f"at most {MAX_EXPRESSION:,}")
    try:
        parsed = jmespath.compile(text)
    except (exceptions.JMESPathError, RecursionError, ValueError) as complaint:
        return Refusal(
            "bad_pattern", _said(complaint), "JMESPath: items[?id > `5`].name, length(@)"
        )
    return Expression(parsed.parsed)


def _said(complaint: Exception) -> str:
    if isinstance(complaint, RecursionError):
        return "nested too deep"
    return " ".join(str(complaint).split())[:200]


def _path(node: Node) -> Path | None:
    match node["type"]:
        case "identity" | "current":
            return ()
        case "field" | "index":
            return (node["value"],)
        case "subexpression" | "index_expression":
            steps = [_path(child) for child in node["children"]]
            known = [step for step in steps if step is not None]
            return sum(known, ()) if len(known) == len(steps) else None
        case _:
            return None


def _split(node: Node) -> tuple[Path, slice, Node] | None:
    """Return the path and part under a chain of mappings, and the chain over the identity instead.

    Each link maps the concatenation of two arrays to the concatenation of what it maps them to.
    """
    path = _path(node)
    if path is not None:
        return path, slice(None), _IDENTITY
    base, *rest = node["children"] or (_IDENTITY,)
    if node["type"] == "index_expression" and [one["type"] for one in rest] == ["slice"]:
        path, step = _path(base), rest[0]["children"][2]
        return (
            (path, slice(*rest[0]["children"]), _IDENTITY)
            if path is not None and step != 0
            else None
        )
    if node["type"] not in _MAPS and node["type"] != "flatten":
        return None
    below = _split(base)
    return (*below[:2], {**node, "children": [below[2], *rest]}) if below else None


def _leading(node: Node) -> int | None:
    base, *rest = node["children"] or (_IDENTITY,)
    if node["type"] == "index_expression" and base["type"] in {"identity", "current"}:
        return _end_of(rest[0])
    return _leading(base) if node["children"] and node["type"] in _LEFT_FIRST else None


def _end_of(node: Node) -> int | None:
    """Return after which element an index or slice ends, None if that depends on the length."""
    if node["type"] == "index":
        return node["value"] + 1 if node["value"] >= 0 else None
    start, stop, step = node["children"]
    forward = (start or 0) >= 0 and (step or 1) > 0
    return stop if forward and stop is not None and stop >= 0 else None


class _Guarded(TreeInterpreter):
    """jmespath's interpreter, stopped by time and size."""

    def __init__(self, expired: Callable[[], bool]) -> None:
        super().__init__()
        self._expired = expired
        self._visits = 0

    def visit(self, node: Node, *args: object, **kwargs: object) -> object:
        self._visits += 1
        if not self._visits % 64 and self._expired():
            raise OutOfTime
        value = super().visit(node, *args, **kwargs)
        if node["type"] in _MAKERS:
            _measure(value)
        elif isinstance(value, str) and len(value) > MAX_TEXT and node["type"] != "field":
            raise Unanswerable("the expression makes a text of more than 1 MiB", _LESS)
        return value

    def visit_function_expression(self, node: Node, value: object) -> object:
        name, arguments = node["value"], [self.visit(child, value) for child in node["children"]]
        if name in _SORTS and max(map(_length, arguments), default=0) > MAX_SORTED:
            raise Unanswerable(f"{name} of more than {MAX_SORTED:,} elements", _LESS)
        if name in _WRITES:
            _measure(arguments)
        found: list[Node] = [{"type": "literal", "value": one} for one in arguments]
        return super().visit_function_expression({**node, "children": found}, value)


def _length(value: object) -> int:
    return len(value) if is_array(value) else 0


def _measure(value: object) -> None:
    """Raise Unanswerable if `value`, written out, has too many parts or too long a text."""
    left, texts = MAX_PARTS, MAX_TEXT
    stack = [value]
    while stack:
        item = stack.pop()
        left -= 1
        if isinstance(item, str):
            texts -= len(item)
        elif is_array(item):
            stack.extend(item)
        elif is_object(item):
            stack.extend(item.values())
        if len(stack) > left or texts < 0:
            what = f"the expression makes more than {MAX_PARTS:,} parts or 1 MiB of text"
            raise Unanswerable(what, _LESS)
