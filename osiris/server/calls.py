"""tools/list and tools/call.

Rule 1: a tool's name, or the dispatch tool's `op`, becomes an operation; its arguments go to the
        service as they came.
Rule 2: a name nobody has and a dispatch call of the wrong shape are tool errors that say what to
        send, so that the model can correct itself.
Rule 3: an answer is one text block, never structured content: clients disagree about which of the
        two their model sees.
"""

from collections.abc import Mapping
from typing import Any

import mcp_types as types
import msgspec

from osiris.core.errors import Refusal
from osiris.server.context import Context, caller_of, request_key, seat_of, sendable
from osiris.server.tools import (
    DISPATCH,
    OPERATIONS,
    Flavour,
    ToolSpec,
    instructions,
    operation,
    schemas_json,
    specs,
)
from osiris.server.turnstile import FreeTurn
from osiris.service import Answer, Ask, Turn

_UNSAID = Refusal("unknown_tool", "no such tool", "list the tools")
_SHOWN = 64  # characters of a wrong name that are repeated to its sender


class Operation(msgspec.Struct, frozen=True):
    """What a tools/call asks for."""

    name: str
    arguments: Mapping[str, Any]


class Tools:
    """The two handlers for one flavour of listing."""

    def __init__(self, flavour: Flavour) -> None:
        self._flavour: Flavour = flavour
        self._list = types.ListToolsResult(tools=[_tool(spec, flavour) for spec in specs(flavour)])
        self._schemas = schemas_json(flavour)
        self._instructions = instructions(flavour)

    async def list(
        self, context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Answer tools/list with the one constant list, and charge it to the connection."""
        session = seat_of(context).session
        session.listed(caller_of(context), self._schemas, self._instructions)
        return self._list

    async def call(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        """Answer tools/call when its turn comes."""
        seat = seat_of(context)
        if seat.ticket is None:
            return _result(await self._answer(context, params, FreeTurn()))
        async with seat.ticket.running():
            return _result(await self._answer(context, params, seat.ticket))

    async def _answer(
        self, context: Context, params: types.CallToolRequestParams, turn: Turn
    ) -> Answer:
        wanted = wanted_operation(params.name, params.arguments or {}, self._flavour)
        if isinstance(wanted, Refusal):
            return Answer(self._refusal(context, params).text(), is_error=True)
        ask = Ask(wanted.name, wanted.arguments, request_key(context))
        return await seat_of(context).session.service.call(caller_of(context), ask, turn)

    def _refusal(self, context: Context, params: types.CallToolRequestParams) -> Refusal:
        """Return why a call names no operation, without the secrets that its names may hold."""
        clean = seat_of(context).session.service.clean
        arguments = {
            clean(name): clean(value) if isinstance(value, str) else value
            for name, value in (params.arguments or {}).items()
        }
        wanted = wanted_operation(clean(params.name), arguments, self._flavour)
        return wanted if isinstance(wanted, Refusal) else _UNSAID


def wanted_operation(
    tool: str, arguments: Mapping[str, Any], flavour: Flavour
) -> Operation | Refusal:
    """Return what a call of `tool` asks for; every spelling is understood in every flavour."""
    name = operation(tool)
    if name is None:
        return Refusal("unknown_tool", f"no tool named {tool[:_SHOWN]!r}", _use_one_of(flavour))
    return _dispatched(arguments) if name == DISPATCH else Operation(name, arguments)


def _dispatched(arguments: Mapping[str, Any]) -> Operation | Refusal:
    operations = ", ".join(OPERATIONS)
    for extra in arguments.keys() - {"op", "args"}:
        what = f"call has no argument {extra[:_SHOWN]!r}"
        return Refusal("unknown_argument", what, f"put {extra[:_SHOWN]!r} inside args")
    if "op" not in arguments:
        return Refusal("missing_argument", "call needs 'op'", f"send op: one of {operations}")
    op: object = arguments["op"]
    args: dict[str, Any] | None = arguments.get("args")
    if not isinstance(op, str):
        return Refusal("bad_argument", "op is not a string", f"send op: one of {operations}")
    if not _is_object_or_null(args):
        return Refusal("bad_argument", "args is not an object", "send args as a JSON object")
    name = op if op in OPERATIONS else operation(op)
    if name is None or name == DISPATCH:
        what = f"no operation named {op[:_SHOWN]!r}"
        return Refusal("unknown_tool", what, f"send op: one of {operations}")
    return Operation(name, args or {})


def _is_object_or_null(value: object) -> bool:
    return value is None or isinstance(value, dict)


def _use_one_of(flavour: Flavour) -> str:
    names = ", ".join(spec.listed_name(flavour) for spec in specs(flavour))
    if flavour == "dispatch":
        return f"call {names} with op: one of {', '.join(OPERATIONS)}"
    return f"call one of {names}"


def _tool(spec: ToolSpec, flavour: Flavour) -> types.Tool:
    return types.Tool(
        name=spec.listed_name(flavour),
        title=spec.title,
        description=spec.description,
        input_schema=spec.input_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=spec.is_read_only, destructive_hint=False, open_world_hint=False
        ),
    )


def _result(answer: Answer) -> dict[str, Any]:
    """Return the wire form of CallToolResult; a dict saves the SDK one dump."""
    return {
        "content": [{"type": "text", "text": sendable(answer.text)}],
        "isError": answer.is_error,
        "resultType": "complete",
    }
