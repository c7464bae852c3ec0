"""The tools that an agent has, as a client or a server lists them.

Rule 1: MCP `tools/list`, OpenAI function lists and bare arrays of either are read.
Rule 2: tool texts are other people's: only the name is ever shown, as one short printable line;
        descriptions serve to find a tool and go nowhere else.
Rule 3: everything is bounded; what is over a bound is cut, a list over its bound is refused.
"""

import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from osiris.core.errors import Refusal

MAX_TOOLS: Final = 10_000
MAX_NAME: Final = 128
MAX_TEXT: Final = 8_192
MAX_PARAMETER_TEXTS: Final = 200
MAX_DEPTH: Final = 6

_SCHEMA_KEYS: Final = ("inputSchema", "input_schema", "parameters")
_FIX: Final = 'send {"tools": [{"name", "description", "inputSchema"}]} as tools/list returns it'


class Tool(Struct, frozen=True):
    """One tool: `parameters` are names and descriptions, `about` describes its server."""

    name: str
    description: str = ""
    parameters: tuple[str, ...] = ()
    server: str = ""
    about: str = ""


def parse(raw: str | bytes) -> tuple[Tool, ...] | Refusal:
    """Return the tools of a JSON listing in its order, each (server, name) once."""
    try:
        listing = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError) as error:
        return Refusal("bad_argument", f"the tool list is no JSON: {str(error)[:120]}", _FIX)
    except RecursionError:
        return Refusal("too_deep", "the tool list is nested too deep", _FIX)
    return from_listing(listing)


def from_listing(listing: object) -> tuple[Tool, ...] | Refusal:
    """Return the tools of a decoded listing."""
    rows = _rows(listing)
    if rows is None:
        return Refusal("bad_argument", "the tool list is no array of tools", _FIX)
    if len(rows) > MAX_TOOLS:
        return Refusal(
            "payload_too_large", f"{len(rows)} tools are over {MAX_TOOLS}", "send fewer tools"
        )
    tools: dict[tuple[str, str], Tool] = {}
    for n, row in enumerate(rows, 1):
        tool = _tool(row)
        if tool is None:
            return Refusal("bad_argument", f"tool {n} of the list has no name", _FIX)
        tools.setdefault((tool.server, tool.name), tool)
    return tuple(tools.values())


def _rows(listing: object) -> list[Any] | None:
    outer = _object(listing)
    rows = (_object(outer.get("result")) or outer).get("tools", listing)
    try:
        return msgspec.convert(rows, list[Any])
    except msgspec.ValidationError:
        return None


def _tool(row: object) -> Tool | None:
    outer = _object(row)
    fields = _object(outer.get("function")) or outer
    name = _line(fields.get("name"))
    schema = next((fields[key] for key in _SCHEMA_KEYS if key in fields), None)
    tool = Tool(
        name,
        _text(fields.get("description")),
        tuple(islice(_walk(schema, MAX_DEPTH), MAX_PARAMETER_TEXTS)),
        _line(fields.get("server")),
        _text(fields.get("server_description")),
    )
    return tool if name else None


def _walk(schema: object, depth: int) -> Iterator[str]:
    """Yield names and descriptions under `properties`, each before what is inside it."""
    fields = _object(schema)
    if depth == 0 or not fields:
        return
    for name, inner in _object(fields.get("properties")).items():
        yield _text(name)
        yield _text(_object(inner).get("description"))
        yield from _walk(inner, depth - 1)
    yield from _walk(fields.get("items"), depth - 1)


def _object(value: object) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value[:MAX_TEXT] if isinstance(value, str) else ""


def _line(value: object) -> str:
    """Return `value` as one short line without control, bidi or other invisible characters."""
    line = " ".join(_text(value).split())
    return "".join(char for char in line if unicodedata.category(char)[0] != "C")[:MAX_NAME]
