"""What may be asked of a payload, and one page of the answer.

Rule 1: a query is a value; the same query on the same bytes has the same answer, however it is
        paged. A payload is UTF-8 text as bytes.
Rule 2: an answer is made in slices: the caller's `expired` is asked between two, a few milliseconds
        apart, and ends the page, not the answer.
Rule 3: patterns from outside are matched by RE2 and expressions evaluated by JMESPath, in bounded
        time and memory; neither reaches `re`.
"""

from typing import assert_never

from osiris.core import (
    canon,
    query_aggregate,
    query_diff,
    query_grep,
    query_json,
    query_lines,
    query_outline,
)
from osiris.core.errors import Refusal
from osiris.core.query_aggregate import Aggregate
from osiris.core.query_ask import Query, from_recall
from osiris.core.query_diff import Diff
from osiris.core.query_grep import Grep
from osiris.core.query_json import Jsonl
from osiris.core.query_lines import Head, Range, Tail
from osiris.core.query_outline import Outline
from osiris.core.query_page import Limits, Page, State, resume

__all__ = ["Query", "answer", "from_recall"]

_START: dict[type[Query], State] = {
    Range: query_lines.START,
    Head: query_lines.START,
    Tail: query_lines.START,
    Grep: query_grep.START,
    Outline: query_outline.START,
    Aggregate: query_aggregate.START,
    Jsonl: query_json.START,
    Diff: query_diff.START,
}


def answer(
    query: Query, data: bytes, limits: Limits, cursor: str = "", old: bytes | None = None
) -> Page | Refusal:
    """Return the page of the answer that begins at `cursor`, the first one without it.

    `old` is the payload of the ref that a diff names.
    """
    names = [canon.sha256_hex(payload) for payload in (data, old or b"")]
    of = canon.hexdigest("query", [repr(query), *names])
    state = resume(of, cursor, _START[type(query)])
    if isinstance(state, Refusal):
        return state
    match query:
        case Range() | Head() | Tail():
            return query_lines.answer(query, data, limits, of, state)
        case Grep():
            return query_grep.answer(query, data, limits, of, state)
        case Outline():
            return query_outline.answer(data, limits, of, state)
        case Aggregate():
            return query_aggregate.answer(query, data, limits, of, state)
        case Jsonl():
            return query_json.answer(query, data, limits, of, state)
        case Diff() if old is None:
            return Refusal("unknown_ref", "the older payload is not there", "give its ref as q")
        case Diff():
            return query_diff.answer(old or b"", data, limits, of, state)
        case _:
            assert_never(query)
