"""Work is cut into slices: however dense a text is, time is looked at and a page is bounded."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.query import Query
from osiris.core.query_aggregate import Aggregate
from osiris.core.query_grep import Grep
from osiris.core.query_jmes import MAX_SORTED
from osiris.core.query_json import Jsonl
from osiris.core.query_lines import Range, filled_lines, line_ends, offset_of, total_lines
from osiris.core.query_outline import Outline
from osiris.core.stub_json import fields, spread
from tests.core.query_cases import always, limits, page, pages, refusal

DENSE = 20_000  # matches in one window


@pytest.mark.promise("S3-query")
@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (Grep("a", each=True, count_only=True), "a" * DENSE),
        (Grep("^$", count_only=True), "\n" * DENSE),
        (Grep("x", invert=True, count_only=True), "a\n" * DENSE),
        (Aggregate("a", "count"), "a" * DENSE),
    ],
)
def test_a_count_stops_inside_a_window_and_goes_on_where_it_stopped(
    asked: Query, text: str
) -> None:
    found = pages(asked, text, expired=always)
    counted = [answer.total for answer in found]

    assert counted[0] < DENSE // 10
    assert (sum(counted) if isinstance(asked, Aggregate) else counted[-1]) == DENSE


def test_a_page_holds_no_more_lines_than_tokens() -> None:
    assert page(Range(), "\n" * 50_000, size=2_000).shown == 2_000


LINES = st.text(st.sampled_from("ab \t\r\n"), max_size=60)


@given(LINES, st.integers(1, 4_000))
def test_lines_that_are_not_blank_are_counted_and_found_by_number(text: str, times: int) -> None:
    data = (text * times).encode()
    wanted = [line for line in data.split(b"\n") if line.strip()]

    count, found = filled_lines(data, spread)

    assert (count, found) == (len(wanted), list(spread(wanted)))


@given(LINES, st.integers(1, 4_000), st.floats(0, 1))
def test_a_line_is_found_by_its_number_however_long_the_text(
    text: str, times: int, place: float
) -> None:
    data = (text * times).encode()
    lines = data.split(b"\n")
    number = 1 + int(place * (len(lines) - 1))

    at = offset_of(data, number)

    assert at == sum(len(line) + 1 for line in lines[: number - 1])
    assert line_ends(data, 0, at) == number - 1
    assert total_lines(data) == len(lines) - (not lines[-1])


def test_what_one_call_would_sort_is_bounded_before_it() -> None:
    numbers = json.dumps(list(range(MAX_SORTED + 1)))

    assert page(Jsonl("sort(@)[-1]"), json.dumps([3, 1, 2])).text == "3\n"
    assert "20,000" in refusal(Jsonl("sort(@)[-1]"), numbers).what
    assert "20,000" in refusal(Jsonl("sort_by(@, &@)[-1]"), numbers).what


def test_keys_of_a_large_object_come_in_pages_and_are_all_there() -> None:
    text = json.dumps({f"key{number}": {"n": number} for number in range(9_000)})

    found = pages(Outline(), text, size=2_000)
    rows = "".join(answer.text for answer in found).splitlines()

    assert rows == [f"key{number}: {{n:int}}" for number in range(9_000)]
    assert {answer.total for answer in found} == {9_000}


def test_a_large_value_is_told_by_its_shape_with_the_true_count_of_its_keys() -> None:
    keys = {f"k{number}": 1 for number in range(20_000)}

    assert page(Jsonl("@"), json.dumps(keys)).text.startswith("{k0:int, k1:int")
    assert "+19,9" in page(Jsonl("@"), json.dumps(keys)).text
    assert page(Jsonl("a.k7"), json.dumps({"a": keys})).text == "1\n"
    assert page(Jsonl("length(a)"), json.dumps({"a": keys})).text == "20000\n"
    assert fields(json.dumps({"a": keys}).encode())[0] == 1


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ("[-1]", "29999\n"),
        ("[30000]", ""),
        ("[-2:]", "29998\n29999\n"),
        ("[::-1] | [0]", "29999\n"),
        ("[:29996:-1]", "29999\n29998\n29997\n"),
        ("[29997::2]", "29997\n29999\n"),
        ("[:3:2]", "0\n2\n"),
        ("[?@ > `29998`]", "29999\n"),
    ],
)
def test_elements_of_a_large_array_are_those_of_a_small_one(expression: str, rows: str) -> None:
    text = json.dumps(list(range(30_000)))

    assert page(Jsonl(expression), text).text == rows


def test_a_record_longer_than_a_window_is_asked_like_any_other() -> None:
    text = json.dumps({"a": list(range(20_000)), "b": 1}) + '\n{"b": 2}\n'

    assert page(Jsonl("b"), text).text == "1\n2\n"
    assert page(Jsonl("a[-1]"), text).text == "19999\n"
    assert page(Grep("b", count_only=True), text, size=limits().tokens).text == "2 match\n"
