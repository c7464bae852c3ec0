"""The id of a line that could not be read, found without reading it.

Rule 1: only an `id` of the outermost object counts.
Rule 2: an id that is not whole, not an integer or string, or not text, is no id.
"""

import json
import re
from typing import Any

Id = int | str

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_VALUE = r'(-?\d{1,19}|"[^"\\]{0,1024}(?:\\.[^"\\]{0,1024}){0,64}")'
_AFTER_KEY = re.compile(rf"\s*:\s*{_VALUE}\s*[,}}]")
# clients that write the id last: `..., "jsonrpc": "2.0", "id": 7}` at the very end of the line
_AT_END = re.compile(
    rf'[,{{]\s*"id"\s*:\s*{_VALUE}\s*(?:,\s*"\w+"\s*:\s*(?:"[^"\\]*"|[-+.\w]+)\s*)*}}\s*$'
)


def recover_id(line: bytes) -> Id | None:
    """Return the id of `line`, or None."""
    return _scan(line.decode("utf-8", "surrogateescape").lstrip("\ufeff"))


def recover_cut_id(head: bytes, tail: bytes) -> Id | None:
    """Return the id of a complete line known by its first and last bytes only, or None."""
    found = recover_id(head)
    if found is None and head.lstrip().startswith(b"{"):
        at_end = _AT_END.search(tail.decode("utf-8", "surrogateescape"))
        found = _read(at_end[1]) if at_end else None
    return found


def _scan(text: str) -> Id | None:
    """Walk strings and brackets from the start; return the id met at depth one."""
    depth = 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" if depth == 0 and text[: token.start()].strip():
                return None
            case "[" if depth == 0:
                return None
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
            case '"id"' if depth == 1 and (after := _AFTER_KEY.match(text, token.end())):
                return _read(after[1])
            case _:
                pass
    return None


def _read(value: str) -> Id | None:
    try:
        found: Any = json.loads(value)
        str(found).encode("utf-8")
    except ValueError:
        return None
    in_range = type(found) is str or -(2**63) <= found < 2**63
    return found if in_range else None
