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

from osiris.core import json_parts
from osiris.core.errors import Refusal
from osiris.core.json_cuts import WINDOW
from osiris.core.json_parts import Large
from osiris.core.query_jmes import Expression, OutOfTime, Unanswerable, parse
from osiris.core.query_lines import line_end, line_ends
from osiris.core.query_page import LINE_CHARS, Limits, Page, State, Step, cursor, take
from osiris.core.stub_json import is_array, is_object, opened, shape_of

# the element the answer goes on with (its index, or the offset of its line), rows of it already
# given, rows in all so far, rows in all (plus 1; 0 is not known)
START: State = (0, 0, 0, 0)
_ROWS, _KNOWN = 2, 3
_CUT = LINE_CHARS - 60
_TICK = 32
_CHUNK = 64
_FIRST_LINES = 5
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
    document = json_parts.read(data)
    if document is None and not _has_records(data):
        return Refusal("bad_argument", "the payload is no JSON", "ask with op=grep or op=range")
    as_array = query.expression.lstrip().startswith("[")

    def elements(at: int) -> Iterator[_Element]:
        if document is not None:
            return _of_document(expression, document, at, limits)
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
    expression: Expression, root: object, at: int, limits: Limits
) -> Iterator[_Element]:
    split, path, counted = expression.split(), expression.path(), expression.counted()
    if split is not None:
        array = _at_path(root, split.path)
        for item, after in _elements(array, at, split.part):
            expired = limits.expired if isinstance(item, Large) else _never
            element = _whole(item, expired)
            yield _rows(split.each.value_in([element], expired)), after
    elif path is not None:
        yield from _each_row(_at_path(root, path), at)
    elif counted is not None and (size := _size(_at_path(root, counted))) is not None:
        yield from _each_row(size, at)
    else:
        value = _whole(root, limits.expired)
        yield from _each_row(expression.value_in(value, limits.expired), at)


def _elements(array: object, at: int, part: slice) -> Iterator[tuple[object, int]]:
    """Yield the elements of a part of an array, the first `at` left out, and where each ends."""
    if isinstance(array, Large) and array.is_array:
        numbers = range(len(array))[part]
        for place in range(at, len(numbers)):
            yield array.element(numbers[place]), place + 1
    elif is_array(array):
        chosen = array[part]
        for place in range(at, len(chosen)):
            yield chosen[place], place + 1


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
    if is_array(value) or is_object(value) or isinstance(value, Large):
        return len(value)
    return None


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
                yield _record(line), after
            except (ValueError, RecursionError):
                number, counted = number + line_ends(data, counted, at), at
                yield _BadLine(number), after
        at = after


def _record(line: bytes) -> object:
    """Return the value of a line. Raises ValueError."""
    if len(line) <= WINDOW:
        return msgspec.json.decode(line)
    value = json_parts.read(line)
    if value is None or len(line) > WHOLE:
        raise ValueError("no JSON, or too much of it")
    return _whole(value, _never)


def _has_records(data: bytes) -> bool:
    """Say whether one of the first lines is a JSON text."""
    at = 0
    for _ in range(_FIRST_LINES):
        line = data[at : (end := line_end(data, at))].strip()
        if line and json_parts.read(line) is not None:
            return True
        at = end
    return False


def _each_row(result: object, at: int) -> Iterator[_Element]:
    rows = result if isinstance(result, Large) and result.is_array else _rows(result)
    for item, after in _elements(rows, at, slice(None)):
        yield [opened(item)], after


def _rows(result: object) -> list[object]:
    if is_array(result):
        return result
    return [] if result is None else [result]


def _at_path(value: object, path: tuple[str | int, ...]) -> object:
    """Return what is at `path`, open or large."""
    value = opened(value)
    for step in path:
        value = opened(_field(value, step) if isinstance(step, str) else _element(value, step))
    return value


def _field(value: object, key: str) -> object:
    if isinstance(value, Large):
        return None if value.is_array else value.field(key)
    return value.get(key) if is_object(value) else None


def _element(value: object, number: int) -> object:
    if isinstance(value, Large):
        known = value.is_array and -len(value) <= number < len(value)
        return value.element(number % len(value)) if known else None
    return value[number] if is_array(value) and -len(value) <= number < len(value) else None


def _whole(value: object, expired: Expired) -> object:
    """Return a value with nothing raw or large in it. Raises OutOfTime."""
    value = opened(value)
    if not isinstance(value, Large):
        return value
    if value.size > WHOLE or expired():
        raise OutOfTime
    items: list[object] = []
    keyed: dict[str, object] = {}
    for piece in value.pieces():
        if expired():
            raise OutOfTime
        if is_object(piece):
            keyed |= {key: _whole(item, expired) for key, item in piece.items()}
        else:
            items += [_whole(item, expired) for item in piece]
    return items if value.is_array else keyed


def _never() -> bool:
    return False


def _always() -> bool:
    return True


def _row(value: object) -> tuple[str, bool]:
    """Return a value as one line, cut if it is too long, and whether it was."""
    if isinstance(value, _BadLine):
        return f"! line {value.number} is no JSON\n", False
    if isinstance(value, Large):
        return f"{shape_of(value, _CUT)} (large: this is its shape, name a part of it)\n", True
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    if len(text) <= LINE_CHARS:
        return text + "\n", False
    return f"{text[:_CUT]}…[{len(text) - _CUT:,} more characters]\n", True
