"""Lines by number, cursors, time: what holds for every op."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import query
from osiris.core.errors import Refusal
from osiris.core.query import Query
from osiris.core.query_aggregate import Aggregate
from osiris.core.query_diff import Diff
from osiris.core.query_grep import Grep
from osiris.core.query_json import Jsonl
from osiris.core.query_lines import Head, Range, Tail
from osiris.core.query_outline import Outline
from osiris.core.query_page import Limits, Page
from tests.core.query_cases import always, joined, limits, never, page, pages, refusal

LINES = "".join(f"line {number}\n" for number in range(1, 101))
TEXTS = st.lists(
    st.sampled_from(["a", "é", "漢", "\n", "\n", "\r\n", "\x00", "\u2028", " ", "error", "🍸"]),
    max_size=60,
).map("".join)


@given(TEXTS, st.integers(20, 40))
def test_pages_of_a_range_join_to_the_very_bytes(text: str, size: int) -> None:
    found = pages(Range(), text, size)

    assert joined(found) == text


@given(TEXTS, st.integers(20, 40))
def test_pages_of_a_tail_come_last_page_first_and_lose_nothing(text: str, size: int) -> None:
    found = pages(Tail(1_000), text, size)

    assert joined(found[::-1]) == text


@given(TEXTS)
def test_head_and_the_rest_are_the_whole(text: str) -> None:
    rest = query.answer(Range(4), text.encode(), limits())

    assert page(Head(3), text).text + (rest.text if isinstance(rest, Page) else "") == text


def test_a_range_includes_both_of_its_lines() -> None:
    answer = page(Range(3, 5), LINES)

    assert answer == Page("line 3\nline 4\nline 5\n", shown=3, total=3)


def test_a_range_beyond_the_end_stops_at_the_last_line() -> None:
    assert page(Range(99, 500), LINES).text == "line 99\nline 100\n"


def test_a_last_line_needs_no_line_end() -> None:
    assert page(Tail(1), "a\nb").text == "b"
    assert page(Tail(1), "a\nb\n").text == "b\n"
    assert page(Range(), "").text == ""


def test_a_line_ends_at_lf_and_nowhere_else() -> None:
    assert page(Range(2, 2), "a\x00\x0b\u2028\x85b\r\nc\r\n").text == "c\r\n"


@pytest.mark.parametrize(
    "asked", [Range(5, 3), Range(0, 3), Range(101), Head(0), Tail(0), Range(2, -4)]
)
def test_an_empty_or_reversed_range_is_refused(asked: Query) -> None:
    assert refusal(asked, LINES).code == "bad_range"


def test_a_long_line_is_shown_in_part_and_says_how_to_get_the_rest() -> None:
    answer = page(Range(), "short\n" + "x" * 5_000 + "\nend\n")

    assert answer.text == (
        "short\n" + "x" * 2_000 + "…[3001 more bytes: range from=2 to=2]\n" + "end\n"
    )
    assert answer.truncated


@given(
    st.text("aé漢🍸", min_size=1, max_size=200).map(lambda text: text * 60), st.integers(200, 2_000)
)
def test_the_pieces_of_one_long_line_join_to_it(line: str, size: int) -> None:
    found = pages(Range(2, 2), f"first\n{line}\nlast\n", size)

    assert joined(found) == line + "\n"
    assert all(len(answer.text) <= 2_001 for answer in found)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (Range(), LINES),
        (Tail(90), LINES),
        (Grep("1", before=1, after=2), LINES),
        (Grep("1", invert=True), LINES),
        (Grep("[0-9]", each=True), LINES),
        (Jsonl("[*]"), "[" + ",".join(map(str, range(300))) + "]"),
        (Jsonl("@"), "".join(f'{{"a":{number}}}\n' for number in range(300))),
        (Outline(), "".join(f"def f{number}():\n    return {number}\n" for number in range(200))),
        (Diff("mem://0"), "".join(f"{number % 7 and number}\n" for number in range(900))),
    ],
)
def test_pages_join_to_what_one_large_page_says_even_when_the_time_is_always_up(
    asked: Query, text: str
) -> None:
    old = "".join(f"{number}\n" for number in range(900)).encode()
    large = query.answer(asked, text.encode(), limits(10_000), "", old)
    assert isinstance(large, Page)
    assert large.cursor == ""

    small = pages(asked, text, 60, old=old)
    hurried = pages(asked, text, 60, always, old)

    backward = -1 if isinstance(asked, Tail) else 1
    assert joined(small[::backward]) == large.text
    assert joined(hurried[::backward]) == large.text
    assert sum(answer.shown for answer in hurried) == sum(answer.shown for answer in small)
    assert large.shown == sum(answer.shown for answer in small)
    assert small[1].before == small[0].shown


@pytest.mark.parametrize(
    ("asked", "text", "cursor"),
    [
        (Range(1, 50), LINES, ""),
        (Range(), LINES + "more\n", ""),
        (Grep("line"), LINES, ""),
        (Range(), LINES, "x"),
        (Range(), LINES, "0"),
        (Range(), LINES, ".1.2"),
        (Range(), LINES, "z" * 10_000),
        (Range(), LINES, "0." * 5_000),
        (Range(), LINES, "é.1.1"),
    ],
)
def test_a_cursor_of_anything_else_is_refused(asked: Query, text: str, cursor: str) -> None:
    cursor = cursor or pages(Range(), LINES, 20)[0].cursor

    answer = query.answer(asked, text.encode(), limits(), cursor)

    assert isinstance(answer, Refusal)
    assert answer.code == "bad_cursor"


def test_a_changed_cursor_is_refused() -> None:
    digest, offset, line = pages(Range(), LINES, 20)[0].cursor.split(".")

    answer = query.answer(Range(), LINES.encode(), limits(), f"{digest}.{offset}1.{line}")

    assert isinstance(answer, Refusal)
    assert answer.code == "bad_cursor"


@pytest.mark.parametrize("size", [1, 10, 2_000, 10_000])
def test_a_page_is_never_larger_than_asked(size: int) -> None:
    text = LINES * 200

    for asked in (Range(), Tail(9_000), Grep("line", after=5), Jsonl("@"), Outline()):
        answer = query.answer(asked, text.encode(), limits(size))
        if isinstance(answer, Page):
            assert len(answer.text) <= 4 * size + 60


def test_a_page_is_counted_in_tokens_not_in_characters() -> None:
    dense = query.answer(Range(), LINES.encode(), Limits(never, len, 100))

    assert isinstance(dense, Page)
    assert len(dense.text) <= 100
    assert dense.text == page(Range(1, dense.shown), LINES).text


def test_the_same_query_on_the_same_bytes_has_the_same_cursor() -> None:
    assert pages(Grep("1"), LINES, 20) == pages(Grep("1"), LINES, 20)


def test_distinct_values_are_summed_up_over_all_lines() -> None:
    text = "GET /a 200\nGET /b 500\nPOST /a 200\nGET /a 404\n"

    assert page(Aggregate(r" (\d+)$", "top"), text).text == (
        "4 matches in 4 lines\n3 distinct\n2 200\n1 404\n1 500\n"
    )
    assert (
        page(Aggregate(r"^\w+", "distinct"), text).text
        == "4 matches in 4 lines\n2 distinct\nGET\nPOST\n"
    )
    assert page(Aggregate("/a", "count"), text).text == "3 matches in 4 lines\n"
    assert page(Aggregate(r" (\d+)$", "stats"), text).text == (
        "4 matches in 4 lines\nn=4 min=200 max=500 mean=326 sum=1304\n"
    )


def test_matches_that_are_no_numbers_are_told_not_counted() -> None:
    assert page(Aggregate(r"=(\S+)", "stats"), "a=1\na=x\na=nan\na=inf\n").text == (
        "4 matches in 4 lines\nn=1 min=1 max=1 mean=1 sum=1\n3 are no numbers\n"
    )


def test_parts_of_a_sum_add_up_when_the_time_runs_out() -> None:
    text = "x1\n" * 60_000

    found = pages(Aggregate("x", "count"), text, 2_000, always)

    assert len(found) > 1
    assert sum(answer.total for answer in found) == 60_000
    assert found[0].partial
    assert "lines 1-" in found[0].text


def test_a_diff_without_the_older_payload_is_refused() -> None:
    assert refusal(Diff("mem://0")).code == "unknown_ref"
