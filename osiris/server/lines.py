"""One line of JSON in, one JSON-RPC message or one error reply out.

Rule 1: a line is one JSON object in strict UTF-8: no byte order mark, no NaN or infinity, no
        integer beyond 64 bits, no lone surrogate, no key named twice. Nothing is repaired.
Rule 2: a line is at most 64 levels deep and holds at most 100,000 items.
Rule 3: a request's id is an integer or a string; null, floats and booleans are refused. A response
        is never refused: two sides would answer each other's errors for ever.
Rule 4: a refused line is answered under its id wherever the id can be found, else under null.
"""

import json
import re
from typing import Any, NoReturn, TypeGuard

import msgspec

from osiris.core.errors import Refusal
from osiris.server.line_id import Id, recover_id

MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 64
MAX_ITEMS = 100_000

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602

# code -> (JSON-RPC error number, what to do instead)
_REFUSALS: dict[str, tuple[int, str]] = {
    "bad_json": (PARSE_ERROR, "send one JSON object on one line, in UTF-8"),
    "duplicate_key": (INVALID_REQUEST, "name each key of an object once"),
    "too_deep": (INVALID_REQUEST, "send large data as a file path or a ref, not as nested JSON"),
    "line_too_long": (
        INVALID_REQUEST,
        "send large data as a file path, or pipe it to `osiris put`",
    ),
    "bad_request": (
        INVALID_REQUEST,
        'send {"jsonrpc":"2.0","id":<integer or string>,"method":...,"params":{...}}',
    ),
    "missing_argument": (INVALID_PARAMS, "name the tool in params.name"),
    "bad_argument": (INVALID_PARAMS, "send params.arguments as a JSON object"),
}

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_INT64 = range(-(2**63), 2**63)

Container = dict[str, Any] | list[Any]


class LineError(msgspec.Struct, frozen=True):
    """An error reply: JSON-RPC error number, the request's id or None, the text."""

    code: int
    id: Id | None
    text: str


class _RefusedError(ValueError):
    def __init__(self, code: str, what: str) -> None:
        super().__init__(what)
        self.code = code


def parse_line(line: bytes) -> dict[str, Any] | LineError:
    """Return the message that `line` holds, or the error that answers it."""
    try:
        text = _decode(line)
        _check_size(text)
        message = _JSON.decode(text)
        _check_nesting(text, message)
        _check_surrogates(text, message)
    except _RefusedError as error:
        return line_error(error.code, str(error), recover_id(line))
    except json.JSONDecodeError as error:
        return line_error("bad_json", f"{error.msg} at character {error.pos}", recover_id(line))
    except RecursionError:
        return line_error("too_deep", f"more than {MAX_DEPTH} levels", recover_id(line))
    return _check_message(message)


def line_error(code: str, what: str, request_id: Id | None) -> LineError:
    """Return the reply that refuses a line for `code`, a key of the codes table."""
    number, fix = _REFUSALS[code]
    return LineError(number, request_id, Refusal(code, what, fix).text())


def _decode(line: bytes) -> str:
    if line.startswith(b"\xef\xbb\xbf"):
        raise _RefusedError("bad_json", "the line starts with a byte order mark")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _RefusedError("bad_json", f"bytes at {error.start} are not UTF-8") from None


def _check_size(text: str) -> None:
    """Refuse too many items before they are built: 8 MiB of `{},` would take 200 MB."""
    if _items(text) > MAX_ITEMS and _items(_STRING.sub("", text)) > MAX_ITEMS:
        raise _RefusedError("too_deep", f"more than {MAX_ITEMS:,} items")


def _items(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{")


def _check_nesting(text: str, message: object) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH or not _is_container(message):
        return
    level = [message]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise _RefusedError("too_deep", f"more than {MAX_DEPTH} levels")


def _children(node: Container) -> list[Container]:
    values = node.values() if isinstance(node, dict) else node
    return [child for child in values if _is_container(child)]


def _is_container(value: object) -> TypeGuard[Container]:
    return type(value) is dict or type(value) is list


def _check_surrogates(text: str, message: object) -> None:
    """Surrogates enter by escapes alone, since the bytes are UTF-8; pairs have been joined."""
    if not _SURROGATE.search(text):
        return
    try:
        json.dumps(message, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise _RefusedError("bad_json", "a string holds a lone surrogate") from None


def _check_message(value: object) -> dict[str, Any] | LineError:
    if not _is_container(value):
        return line_error("bad_request", "not an object", None)
    if isinstance(value, list):
        return line_error("bad_request", "a batch array", None)
    is_named = type(value.get("id")) in (int, str)
    request_id = value["id"] if is_named else None
    what = _unfit(value)
    if what is not None:
        return line_error("bad_request", what, request_id)
    if "method" in value and "id" in value and not is_named:
        return line_error("bad_request", "the id is neither an integer nor a string", None)
    if value.get("method") == "tools/call":
        return _check_call(value, request_id)
    return value


def _unfit(message: dict[str, Any]) -> str | None:
    """Return what keeps `message` from being a request, notification or response."""
    if "method" not in message:
        return None if "result" in message or "error" in message else "no method"
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc is not "2.0"'
    if type(message["method"]) is not str:
        return "the method is not a string"
    if not isinstance(message.get("params"), dict | None):
        return "params is not an object"
    return None


def _check_call(message: dict[str, Any], request_id: Id | None) -> dict[str, Any] | LineError:
    params: dict[str, Any] = message.get("params") or {}
    if type(params.get("name")) is not str:
        return line_error("missing_argument", "tools/call names no tool", request_id)
    if not isinstance(params.get("arguments"), dict | None):
        return line_error("bad_argument", "arguments is not an object", request_id)
    return message


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _RefusedError("duplicate_key", "an object names the same key twice")
    return result


def _integer(digits: str) -> int:
    # 20 characters hold every 64-bit integer; longer ones are never converted
    if len(digits) <= 20 and (value := int(digits)) in _INT64:  # noqa: PLR2004  the line above
        return value
    raise _RefusedError("bad_json", f"an integer of {len(digits)} digits is beyond 64 bits")


def _real(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _RefusedError("bad_json", "a number is beyond the range of a double")
    return value


def _constant(name: str) -> NoReturn:
    raise _RefusedError("bad_json", f"{name} is not JSON")


_JSON = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_real, parse_constant=_constant
)
