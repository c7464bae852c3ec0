"""The shape of a JSON text: keys, types and array lengths.

Rule 1: an array is its length and the shape of its elements, merged over a sample; a key that some
        of them lack gets a `?`.
Rule 2: what says how it went (errors, states, totals) is shown with its value.
Rule 3: large values are opened one level at a time, so that the cost follows what is shown.
"""

from collections.abc import Sequence
from typing import TypeGuard, TypeVar

import msgspec

from osiris.core import plain

_T = TypeVar("_T")

_OPEN_WHOLE = 32 << 10
_SAMPLE = 12
_VALUE_CHARS = 40
TOLD = frozenset(
    {
        "error", "errors", "message", "status", "state", "code", "ok", "success", "total", "count",
        "total_count", "truncated", "next", "has_more", "exit_code", "exitcode", "reason",
    }
)  # fmt: skip

# how much is shown, most first: levels, keys of an object
_DETAIL = (
    (5, 40), (4, 24), (3, 16), (3, 10), (2, 16), (2, 12), (1, 24), (2, 8), (1, 16), (1, 12), (2, 5),
    (1, 8), (1, 4), (0, 0),
)  # fmt: skip


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def is_large(value: object) -> bool:
    """Say whether a value is raw and too large to be opened whole."""
    return isinstance(value, msgspec.Raw) and len(memoryview(value)) > _OPEN_WHOLE


def opened(value: object) -> object:
    """Return a raw value one level open: its elements may be raw again."""
    if not isinstance(value, msgspec.Raw):
        return value
    if is_large(value):
        first = bytes(memoryview(value)[:64]).lstrip()[:1]
        if first == b"{":
            return msgspec.json.decode(value, type=dict[str, msgspec.Raw])
        if first == b"[":
            return msgspec.json.decode(value, type=list[msgspec.Raw])
    return msgspec.json.decode(value)


def sketch(data: bytes, limit: int) -> str:
    """Return the shape of a JSON text in at most `limit` characters, as deep as they allow."""
    return shape_of(msgspec.Raw(data), limit)


def shape_of(value: object, limit: int, key: str = "") -> str:
    """Return the shape of a JSON value in at most `limit` characters; `key` is where it stands."""
    shape, shapes = "", _Shapes()
    for levels, keys in _DETAIL:
        shape = shapes.of(value, levels, keys, key)
        if len(shape) <= limit:
            return shape
    return plain.one_line(shape, limit)


def fields(data: bytes) -> list[tuple[str, tuple[object, ...]]]:
    """Return the keys of a JSON text with their values: of an array, those of its elements."""
    value = opened(msgspec.Raw(data))
    if is_object(value):
        return [(name, (item,)) for name, item in value.items()]
    if not is_array(value):
        return [("", (value,))]
    sample = [opened(item) for item in spread(value)]
    objects = [item for item in sample if is_object(item)]
    names = dict.fromkeys(name for item in objects for name in item)
    rows: list[tuple[str, tuple[object, ...]]] = [(f"{len(value):,} elements", ())]
    if len(objects) < len(sample):
        rows.append(("elements", tuple(item for item in sample if not is_object(item))))
    for name in names:
        found = tuple(item[name] for item in objects if name in item)
        rows.append((f"[].{name}{'?' if len(found) < len(objects) else ''}", found))
    return rows


def field_row(name: str, values: tuple[object, ...], limit: int) -> str:
    """Return one key and the shape of its values in at most `limit` characters."""
    if not values:
        return plain.one_line(name, limit)
    shape = _merged([shape_of(value, limit // 2, name) for value in values])
    return f"{plain.one_line(name, 80)}: {shape}"[:limit]


def lines_shape(lines: Sequence[bytes], limit: int) -> str:
    """Return the shape that the records of a JSONL text share; a line that is no JSON is none."""
    values: list[object] = []
    for line in spread(lines):
        try:
            values.append(msgspec.json.decode(line))
        except (ValueError, RecursionError):
            continue
    return shape_of(values, limit).partition("]")[2]


def first_path(data: bytes) -> str:
    """Return the expression for the first element of the largest array, "@" if there is none."""
    value = opened(msgspec.Raw(data))
    if is_array(value):
        return "[0]"
    arrays = [
        (len(array), name)
        for name, item in (value.items() if is_object(value) else ())
        if name.isidentifier() and is_array(array := opened(item))
    ]
    return f"{max(arrays)[1]}[0]" if arrays else "@"


class _Shapes:
    """Writes shapes; each raw value is opened once."""

    def __init__(self) -> None:
        self._opened: dict[int, tuple[object, object]] = {}

    def of(self, value: object, levels: int, keys: int, key: str = "") -> str:
        value = self._open(value)
        if is_object(value):
            return self._object([value], levels, keys, values=True)
        if is_array(value):
            return self._array(value, levels, keys)
        return _scalar(value, told=key.lower() in TOLD)

    def _open(self, value: object) -> object:
        if not isinstance(value, msgspec.Raw):
            return value
        known = self._opened.get(id(value))
        if known is None:
            known = self._opened[id(value)] = (value, opened(value))
        return known[1]

    def _array(self, items: Sequence[object], levels: int, keys: int) -> str:
        if not items:
            return "[]"
        count = f"[{len(items):,}]"
        if levels < 1:
            return count
        sample = [self._open(item) for item in spread(items)]
        objects = [item for item in sample if is_object(item)]
        if len(objects) == len(sample):
            return count + self._object(objects, levels - 1, keys, values=False)
        kinds = sorted({self.of(item, levels - 1, keys) for item in sample})
        return f"{count}({'|'.join(kinds[:4])})"

    def _object(
        self, objects: Sequence[dict[str, object]], levels: int, keys: int, *, values: bool
    ) -> str:
        names = list(dict.fromkeys(name for item in objects for name in item))
        if keys < 1 or levels < 0:
            return f"{{{len(names):,} keys}}"
        names.sort(key=lambda name: name.lower() not in TOLD)
        fields: list[str] = []
        for name in names[:keys]:
            found = [item[name] for item in objects if name in item]
            optional = "?" if len(found) < len(objects) else ""
            kinds = [self.of(item, levels - 1, keys, name if values else "") for item in found]
            fields.append(f"{plain.one_line(name, 40)}{optional}:{_merged(kinds)}")
        more = f", +{len(names) - keys:,} keys" if len(names) > keys else ""
        return "{" + ", ".join(fields) + more + "}"


def _merged(kinds: Sequence[str]) -> str:
    different = sorted(set(kinds))
    if len(different) > 1 and all(kind.startswith("[") for kind in different):
        return max(different, key=len)
    return "|".join(different[:3])


def _scalar(value: object, *, told: bool) -> str:
    if told:
        text = msgspec.json.encode(value).decode("utf-8", "replace")
        return plain.one_line(text, _VALUE_CHARS)
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "num"
        case _:
            return "str"


def spread(items: Sequence[_T]) -> Sequence[_T]:
    """Return a sample that has the first and the last."""
    if len(items) <= _SAMPLE:
        return items
    step = (len(items) - 1) / (_SAMPLE - 1)
    return [items[round(number * step)] for number in range(_SAMPLE)]
