"""The shape of a payload by its kind: definitions, headings, keys, failures, files.

Rule 1: an outline row is `number:text`, and the number is what `range` takes.
Rule 2: JSON is outlined as keys, types and lengths instead; a text without structure as lines
        spread evenly over it.
"""

from collections.abc import Iterator

import msgspec

from osiris.core import plain, query_grep, stub_json
from osiris.core.errors import Refusal
from osiris.core.query_grep import Grep
from osiris.core.query_lines import line_end, offset_of, total_lines
from osiris.core.query_page import Limits, Page, State, Step, cursor, take
from osiris.core.stub_kind import DEFINITION, NUMBERED, TEST_SUMMARY, Kind, kind_of

START: State = query_grep.START
_ROW_CHARS = 120
_SHAPE_CHARS = 400
_SPREAD = 40

# kind -> the lines that make its outline
_ROWS: dict[Kind, str] = {
    "diff": r"^diff --git |^\+\+\+ |^@@ ",
    "test": r"^(?:"
    + TEST_SUMMARY
    + r")$|^(?:FAILED |ERROR |FAIL: |ERROR: |not ok )|\.\.\. FAILED$",
    "trace": (
        r'^Traceback|^\s+File "|^\s+at .+[:(].*\d|^(?:\w+\.)*\w*(?:Error|Exception)\b|^panic: '
    ),
    "code": "^" + NUMBERED + "(?:" + DEFINITION + ")",
    "markdown": "^" + NUMBERED + r"#{1,6} \S",
    "log": r"\b(?:ERROR|Error|error|FATAL|FAILED|panic|Exception|Traceback|WARN(?:ING)?)\b",
}


class Outline(msgspec.Struct, frozen=True, tag="outline"):
    """The shape of the payload."""


def answer(data: bytes, limits: Limits, of: str, state: State) -> Page | Refusal:
    """Return one page of the outline."""
    kind = kind_of(data)
    if kind == "json":
        count, fields = stub_json.fields(data, state[4])
        rows = (stub_json.field_row(name, found, _SHAPE_CHARS) for name, found in fields)
        return _listed(rows, count, limits, of, state)
    if kind == "jsonl":
        count, shape = stub_json.records_shape(data, _SHAPE_CHARS)
        told = iter([f"{count:,} records of {shape}"][state[4] :])
        return _listed(told, 1, limits, of, state)
    page = query_grep.answer(Grep(_ROWS[kind]), data, limits, of, state) if kind in _ROWS else None
    if isinstance(page, Page) and not page.total and not page.partial:
        page = None
    if page is not None:
        return page
    spread = list(_spread(data))
    return _listed(iter(spread[state[4] :]), len(spread), limits, of, state)


def _listed(rows: Iterator[str], total: int, limits: Limits, of: str, state: State) -> Page:
    """Return the page of `rows`, those that come after as many as `state` says."""
    taken = take(_steps(rows, state[4]), state, limits)
    return Page(
        text=taken.text,
        shown=taken.results,
        total=total,
        cursor=cursor(of, taken.state) if taken.more else "",
        before=state[4],
        truncated=taken.cut,
        partial=taken.late,
    )


def _steps(rows: Iterator[str], skip: int) -> Iterator[Step]:
    for number, row in enumerate(rows, skip + 1):
        yield Step(row + "\n", 1, (0, 0, 1, 0, number, 0))


def _spread(data: bytes) -> Iterator[str]:
    total = total_lines(data)
    step = max(1, total / _SPREAD)
    numbers = dict.fromkeys(round(1 + step * place) for place in range(min(total, _SPREAD)))
    at, before = 0, 1
    for number in numbers:
        at, before = offset_of(data, number - before + 1, at), number
        end = min(line_end(data, at), at + 4 * _ROW_CHARS)
        line = data[at:end].decode("utf-8", "ignore").strip()
        if line:
            yield f"{number}:{plain.one_line(line, _ROW_CHARS)}"
