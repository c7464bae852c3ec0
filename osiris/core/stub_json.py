"""The shape of a JSON text: keys, types and array lengths.

Rule 1: an array is its length and the shape of its elements, merged over a sample; a key that some
        of them lack gets a `?`.
Rule 2: what says how it went (errors, states, totals) is shown with its value.
Rule 3: large values are opened one level at a time, so that the cost follows what is shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TypeGuard, TypeVar

import msgspec

from osiris.core import json_parts, plain
from osiris.core.json_parts import Large
from osiris.core.query_lines import filled_lines

_T = TypeVar("_T")

_SAMPLE = 12
_SOME_KEYS = 1_000  # of an object that is large
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


def opened(value: object) -> object:
    """Return a value with nothing raw in it; what is large stays so."""
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value


def sketch(data: bytes, limit: int) -> str:
    """Return the shape of a JSON text in at most `limit` characters, as deep as they allow."""
    return shape_of(json_parts.read(data), limit)


def shape_of(value: object, limit: int, key: str = "") -> str:
    """Return the shape of a JSON value in at most `limit` characters; `key` is where it stands."""
    shape, shapes = "", _Shapes()
    for levels, keys in _DETAIL:
        shape = shapes.of(value, levels, keys, key)
        if len(shape) <= limit:
            return shape
    return plain.one_line(shape, limit)


Field = tuple[str, tuple[object, ...]]


def fields(data: bytes, skip: int = 0) -> tuple[int, Iterator[Field]]:
    """Return how many keys a JSON text has, and them with their values after the first `skip`.

    Of an array, the keys are those of its elements.
    """
    value = opened(json_parts.read(data))
    if isinstance(value, Large) and not value.is_array:
        return len(value), ((name, (item,)) for name, item in value.fields(skip))
    if is_object(value):
        rows: list[Field] = [(name, (item,)) for name, item in value.items()]
    elif _is_listed(value) and len(value):
        rows = _of_elements(len(value), _items(value))
    else:
        rows = [("", (value,))]
    return len(rows), islice(iter(rows), skip, None)


def _of_elements(count: int, sample: Sequence[object]) -> list[Field]:
    objects = [_keyed(item) for item in sample if _is_keyed(item)]
    names = dict.fromkeys(name for item in objects for name in item)
    rows: list[Field] = [(f"{count:,} elements", ())]
    if len(objects) < len(sample):
        rows.append(("elements", tuple(item for item in sample if not _is_keyed(item))))
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


def records_shape(data: bytes, limit: int) -> tuple[int, str]:
    """Return how many records a JSONL text has and the shape that a sample of them shares.

    A line that is no JSON is a record without a shape.
    """
    count, lines = filled_lines(data, spread)
    read = (json_parts.read(line) for line in lines)
    values = [opened(value) for value in read if value is not None]
    return count, shape_of(values, limit).partition("]")[2]


def first_path(data: bytes) -> str:
    """Return the expression for the first element of the largest array, "@" if there is none."""
    value = opened(json_parts.read(data))
    if is_array(value) or (isinstance(value, Large) and value.is_array):
        return "[0]"
    arrays = [
        (len(array), name)
        for name, item in (_keyed(value).items() if _is_keyed(value) else ())
        if name.isidentifier() and _is_listed(array := opened(item))
    ]
    return f"{max(arrays)[1]}[0]" if arrays else "@"


def _is_keyed(value: object) -> TypeGuard[dict[str, object] | Large]:
    return is_object(value) or (isinstance(value, Large) and not value.is_array)


def _is_listed(value: object) -> TypeGuard[list[object] | Large]:
    return is_array(value) or (isinstance(value, Large) and value.is_array)


def _keyed(value: Mapping[str, object] | Large) -> Mapping[str, object]:
    """Return the fields of an object; of a large one the first ones and those that are large."""
    if not isinstance(value, Large):
        return value
    return dict(chain(islice(value.fields(), _SOME_KEYS), value.large_fields()))


def _items(value: object) -> Sequence[object]:
    """Return a sample of the elements of an array, open."""
    if isinstance(value, Large):
        places = spread(range(len(value))) if value.is_array else ()
        return [opened(value.element(place)) for place in places]
    return [opened(item) for item in spread(value)] if is_array(value) else []


class _Shapes:
    """Writes shapes; each value is opened once."""

    def __init__(self) -> None:
        self._opened: dict[int, tuple[object, object]] = {}
        self._sampled: dict[int, tuple[object, Sequence[object]]] = {}

    def of(self, value: object, levels: int, keys: int, key: str = "") -> str:
        value = self._open(value)
        if _is_keyed(value):
            return self._object([value], levels, keys, values=True)
        if _is_listed(value):
            return self._array(value, levels, keys)
        return _scalar(value, told=key.lower() in TOLD)

    def _open(self, value: object) -> object:
        if not isinstance(value, msgspec.Raw):
            return value
        known = self._opened.get(id(value))
        if known is None:
            known = self._opened[id(value)] = (value, opened(value))
        return known[1]

    def _sample(self, value: object) -> Sequence[object]:
        known = self._sampled.get(id(value))
        if known is None:
            known = self._sampled[id(value)] = (value, _items(value))
        return known[1]

    def _array(self, items: Sequence[object] | Large, levels: int, keys: int) -> str:
        if not len(items):
            return "[]"
        count = f"[{len(items):,}]"
        if levels < 1:
            return count
        sample = self._sample(items)
        objects = [item for item in sample if _is_keyed(item)]
        if len(objects) == len(sample):
            return count + self._object(objects, levels - 1, keys, values=False)
        kinds = sorted({self.of(item, levels - 1, keys) for item in sample})
        return f"{count}({'|'.join(kinds[:4])})"

    def _object(
        self,
        found: Sequence[Mapping[str, object] | Large],
        levels: int,
        keys: int,
        *,
        values: bool,
    ) -> str:
        objects = [self._keys(item) for item in found]
        names = list(dict.fromkeys(name for item in objects for name in item))
        count = max(len(names), *map(len, found))
        if keys < 1 or levels < 0:
            return f"{{{count:,} keys}}"
        names.sort(key=lambda name: name.lower() not in TOLD)
        fields: list[str] = []
        for name in names[:keys]:
            those = [item[name] for item in objects if name in item]
            optional = "?" if len(those) < len(objects) else ""
            kinds = [self.of(item, levels - 1, keys, name if values else "") for item in those]
            fields.append(f"{plain.one_line(name, 40)}{optional}:{_merged(kinds)}")
        more = f", +{count - keys:,} keys" if count > keys else ""
        return "{" + ", ".join(fields) + more + "}"

    def _keys(self, value: Mapping[str, object] | Large) -> Mapping[str, object]:
        if not isinstance(value, Large):
            return value
        known = self._opened.get(id(value))
        if known is None:
            known = self._opened[id(value)] = (value, _keyed(value))
        keyed = known[1]
        return keyed if is_object(keyed) else {}


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
