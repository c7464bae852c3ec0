"""JMESPath over a JSON text, or over the records of a JSONL text.

Rule 1: a row is one value as compact JSON; the elements of an array are rows of their own.
Rule 2: the records of a JSONL text are the elements of one array to an expression that begins with
        `[`; any other expression is asked of each record, and null is no row.
Rule 3: a large text is opened only where the expression goes. One that maps over an array is
        answered element by element, so that time and page may end anywhere in it.
Rule 4: an expression that must see everything does so within the time and of at most WHOLE bytes,
        or is answered with what to ask instead.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from osiris.core.errors import Refusal
from osiris.core.query_jmes import Expression, OutOfTime, Unanswerable, parse
from osiris.core.query_lines import line_end
from osiris.core.query_page import LINE_CHARS, Limits, Page, State, Step, cursor, take
from osiris.core.stub_json import is_array, is_large, is_object, opened, shape_of
from osiris.core.stub_kind import is_json

# the element the answer goes on with (its index, or the offset of its line), rows of it already
# given, rows in all so far, rows in all (plus 1; 0 is not known)
START: State = (0, 0, 0, 0)
_ROWS, _KNOWN = 2, 3
_CUT = LINE_CHARS - 60
_TICK = 32
_CHUNK = 64
_CHUNK_BYTES = 1 << 20
Expired = Callable[[], bool]
_LATE = "too large to see at once: map over an array, e.g. items[?n > `5`].name, or name a part\n"
WHOLE = 4 << 20


class Jsonl(msgspec.Struct, frozen=True, tag="jsonl"):
    """The values of a JMESPath `expression`; `@` is all of them."""

    expression: str = "@"


class _BadLine(NamedTuple):
    """Stands where a line of a JSONL text is no JSON."""

    number: int


# the rows of one element, and where the next element is
_Element = tuple[list[object], int]


def answer(query: Jsonl, data: bytes, limits: Limits, of: str, state: State) -> Page | Refusal:
    """Return one page of values."""
    expression = parse(query.expression)
    if isinstance(expression, Refusal):
        return expression
    document = is_json(data)
    if not document and not _has_records(data):
        return Refusal("bad_argument", "the payload is no JSON", "ask with op=grep or op=range")
    as_array = query.expression.lstrip().startswith("[")

    def elements(at: int) -> Iterator[_Element]:
        if document:
            return _of_document(expression, data, at, limits)
        return _of_lines(expression, data, at, limits, as_array=as_array)

    try:
        taken = take(_steps(elements(state[0]), state), state, limits)
        total, late = _total(elements, taken.state, limits) if taken.more else (0, False)
    except OutOfTime:
        return Page(_LATE, 0, 0, partial=True)
    except Unanswerable as reason:
        return reason.refusal
    known = 0 if late else total + 1
    return Page(
        text=taken.text,
        shown=taken.results,
        total=total if taken.more else taken.state[_ROWS],
        cursor=cursor(of, (*taken.state[:_KNOWN], known)) if taken.more else "",
        before=state[_ROWS],
        truncated=taken.cut,
        partial=taken.late or late,
    )


def _steps(elements: Iterator[_Element], state: State) -> Iterator[Step]:
    """Yield one step a row, and one now and then where elements have none."""
    at, skip, rows, known = state
    quiet = 0
    for values, after in elements:
        for number, value in enumerate(values[skip:], skip + 1):
            rows += 1
            text, cut = _row(value)
            following = (at, number) if number < len(values) else (after, 0)
            yield Step(text, 1, (*following, rows, known), cut)
        quiet = 0 if len(values) > skip else quiet + 1
        at, skip = after, 0
        if quiet % _TICK == _TICK - 1:
            yield Step("", 0, (at, 0, rows, known))


def _total(
    elements: Callable[[int], Iterator[_Element]], state: State, limits: Limits
) -> tuple[int, bool]:
    """Return the number of all rows; out of time, that of those seen, and True."""
    at, skip, rows, known = state
    if known:
        return known - 1, False
    total = rows - skip
    for number, (values, _) in enumerate(elements(at)):
        total += len(values)
        if not number % _TICK and limits.expired():
            return total, True
    return total, False


def _of_document(
    expression: Expression, data: bytes, at: int, limits: Limits
) -> Iterator[_Element]:
    root = msgspec.Raw(data)
    split, path, counted = expression.split(), expression.path(), expression.counted()
    if split is not None:
        array = _at_path(root, split.path)
        part = array[split.part] if is_array(array) else []
        for number in range(at, len(part)):
            expired = limits.expired if is_large(part[number]) else _never
            element = _whole(part[number], expired)
            yield _rows(split.each.value_in([element], expired)), number + 1
    elif path is not None:
        yield from _each_row(_at_path(root, path), at)
    elif counted is not None and (size := _size(_at_path(root, counted))) is not None:
        yield from _each_row(size, at)
    else:
        value = _whole(root, _within(data, limits))
        yield from _each_row(expression.value_in(value, limits.expired), at)


def _of_lines(
    expression: Expression, data: bytes, at: int, limits: Limits, *, as_array: bool
) -> Iterator[_Element]:
    split = expression.split()
    mapped = split if split and not split.path and split.part == slice(None) else None
    if as_array and not mapped:
        array = _array(data, expression.leading(), limits)
        yield from _each_row(expression.value_in(array, limits.expired), at)
        return
    for value, after in _records(data, at):
        if isinstance(value, _BadLine):
            yield [value], after
        elif as_array and mapped:
            yield _rows(mapped.each.value_in([value], _never)), after
        else:
            result = expression.value_in(value, _never)
            yield ([] if result is None else [result]), after


def _size(value: object) -> int | None:
    return len(value) if is_array(value) or is_object(value) else None


def _array(data: bytes, leading: int | None, limits: Limits) -> list[object]:
    """Return all records, or so many leading ones. Raises OutOfTime."""
    expired = limits.expired if leading is not None else _within(data, limits)
    values: list[object] = []
    for number, (value, _) in enumerate(_records(data, 0)):
        if len(values) == leading:
            break
        if not number % _CHUNK and expired():
            raise OutOfTime
        if not isinstance(value, _BadLine):
            values.append(value)
    return values


def _within(data: bytes, limits: Limits) -> Expired:
    """Return the limit for what must be opened whole: a large tree holds up other threads."""
    return limits.expired if len(data) <= WHOLE else _always


def _records(data: bytes, at: int) -> Iterator[tuple[object, int]]:
    """Yield the values of the lines from offset `at` on, and where the next line begins."""
    number, counted = 1, 0
    while at < len(data):
        after = line_end(data, at)
        line = data[at:after].strip()
        if line:
            try:
                yield msgspec.json.decode(line), after
            except (ValueError, RecursionError):
                number, counted = number + data.count(b"\n", counted, at), at
                yield _BadLine(number), after
        at = after


def _has_records(data: bytes) -> bool:
    lines = [line for line in data[: 1 << 16].split(b"\n", 6)[:5] if line.strip()]
    return any(is_json(line) for line in lines)


def _each_row(result: object, at: int) -> Iterator[_Element]:
    rows = _rows(result)
    for number in range(at, len(rows)):
        yield [opened(rows[number])], number + 1


def _rows(result: object) -> list[object]:
    if is_array(result):
        return result
    return [] if result is None else [result]


def _at_path(value: object, path: tuple[str | int, ...]) -> object:
    """Return what is at `path`, one level open."""
    value = opened(value)
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if is_object(value) else None
        elif is_array(value) and -len(value) <= step < len(value):
            value = value[step]
        else:
            value = None
        value = opened(value)
    return value


def _whole(value: object, expired: Expired) -> object:
    """Return a value with nothing raw in it. Raises OutOfTime."""
    value = opened(value)
    if not _has_raw(value):
        return value
    if is_object(value):
        return {key: _whole(item, expired) for key, item in value.items()}
    raws = [item for item in value if isinstance(item, msgspec.Raw)] if is_array(value) else []
    chunks = (raws[at : at + _CHUNK] for at in range(0, len(raws), _CHUNK))
    return [item for chunk in chunks for item in _chunk(chunk, expired)]


def _has_raw(value: object) -> bool:
    """Say whether a value is one level open only."""
    items = value.values() if is_object(value) else value if is_array(value) else ()
    return any(isinstance(item, msgspec.Raw) for item in items)


def _chunk(raws: list[msgspec.Raw], expired: Expired) -> list[object]:
    """Open many small values at once, large ones one by one."""
    if expired():
        raise OutOfTime
    if sum(len(memoryview(raw)) for raw in raws) > _CHUNK_BYTES:
        return [_whole(raw, expired) for raw in raws]
    return msgspec.json.decode(b"[" + b",".join(raws) + b"]", type=list[object])


def _never() -> bool:
    return False


def _always() -> bool:
    return True


def _row(value: object) -> tuple[str, bool]:
    """Return a value as one line, cut if it is too long, and whether it was."""
    if isinstance(value, _BadLine):
        return f"! line {value.number} is no JSON\n", False
    if _has_raw(value):
        return f"{shape_of(value, _CUT)} (large: this is its shape, name a part of it)\n", True
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    if len(text) <= LINE_CHARS:
        return text + "\n", False
    return f"{text[:_CUT]}…[{len(text) - _CUT:,} more characters]\n", True
