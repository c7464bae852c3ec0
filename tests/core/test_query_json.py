"""JMESPath over JSON and JSONL; outlines; diffs."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import query
from osiris.core.query_json import WHOLE, Jsonl
from osiris.core.query_outline import Outline
from osiris.core.query_page import Page
from tests.core.query_cases import hurried, joined, limits, page, pages, refusal

USERS = [{"id": n, "name": f"user {n}", "tags": ["a", "b"], "age": n % 90} for n in range(3_000)]
DOCUMENT = json.dumps({"total": 3_000, "items": USERS})
RECORDS = "".join(json.dumps(user) + "\n" for user in USERS)


def test_an_array_is_a_row_for_each_element_and_a_value_is_one() -> None:
    assert page(Jsonl("items[?id < `2`].name"), DOCUMENT) == Page('"user 0"\n"user 1"\n', 2, 2)
    assert page(Jsonl("total"), DOCUMENT) == Page("3000\n", 1, 1)
    assert page(Jsonl("length(items)"), DOCUMENT) == Page("3000\n", 1, 1)
    assert page(Jsonl("nothing"), DOCUMENT) == Page("", 0, 0)


def test_records_are_the_elements_of_one_array_to_an_expression_with_brackets() -> None:
    assert page(Jsonl("[?id < `2`].name"), RECORDS) == Page('"user 0"\n"user 1"\n', 2, 2)
    assert page(Jsonl("[-1].id"), RECORDS) == Page("2999\n", 1, 1)
    assert page(Jsonl("[0:2].id"), RECORDS) == Page("0\n1\n", 2, 2)


def test_any_other_expression_is_asked_of_each_record_and_null_is_no_row() -> None:
    assert page(Jsonl("b"), '{"a":1}\n{"b":2}\n\n{"b":[3]}') == Page("2\n[3]\n", 2, 2)


def test_a_line_that_is_no_json_is_named_not_fatal() -> None:
    assert page(Jsonl("a"), '{"a":1}\nTraceback\n{"a":2}\n').text == "1\n! line 2 is no JSON\n2\n"


@pytest.mark.parametrize(
    "expression",
    ["items[*].name", "items[].tags[]", "items[?age > `40`].[id, name]", "items[].tags"],
)
def test_a_mapping_answered_element_by_element_says_what_the_whole_says(expression: str) -> None:
    streamed = joined(pages(Jsonl(expression), DOCUMENT, 2_000))
    at_once = joined(pages(Jsonl(f"{expression} | @"), DOCUMENT, 2_000))

    assert streamed == at_once


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ("items[1:3].id", "1\n2\n"),
        ("items[-2:].id", "2998\n2999\n"),
        ("items[::-1] | [0].id", "2999\n"),
        ("items[0].tags[]", '"a"\n"b"\n'),
        ("items[0:2].tags[]", '"a"\n"b"\n"a"\n"b"\n'),
        ("length(@)", "2\n"),
        ("length(items[0].tags)", "2\n"),
        ("length(items[?id < `5`])", "5\n"),
        ("keys(@)", '"total"\n"items"\n'),
    ],
)
def test_a_part_of_an_array_and_its_length(expression: str, rows: str) -> None:
    assert page(Jsonl(expression), DOCUMENT).text == rows


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ("[0].name", '"user 0"\n'),
        ("[1:3].id", "1\n2\n"),
        ("[:2].tags[]", '"a"\n"b"\n"a"\n"b"\n'),
        ("[?id > `2997`] | [0].id", "2998\n"),
        ("[-1].id", "2999\n"),
        ("[::-1] | [0].id", "2999\n"),
    ],
)
def test_of_records_only_as_many_are_read_as_are_asked_for(expression: str, rows: str) -> None:
    assert page(Jsonl(expression), RECORDS).text == rows


def test_what_must_see_a_large_text_whole_is_told_what_to_ask_instead() -> None:
    text = json.dumps({"items": USERS * 24})
    assert len(text) > WHOLE

    assert page(Jsonl("length(items)"), text).text == "72000\n"
    assert page(Jsonl("length(items[0].tags)"), text).text == "2\n"
    assert page(Jsonl("sort_by(items, &id)[0]"), text) == Page(
        "too large to see at once: map over an array, e.g. items[?n > `5`].name, or name a part\n",
        shown=0,
        total=0,
        partial=True,
    )


def test_each_page_of_values_knows_the_total() -> None:
    found = pages(Jsonl("items[*].id"), DOCUMENT, 500)

    assert len(found) > 3
    assert {answer.total for answer in found} == {3_000}


def test_numbers_and_texts_come_back_as_they_are() -> None:
    text = '[12345678901234567890, 1.5, "\\u0000\\ud83c\\udf78", {"a\\nb":1}]'

    assert page(Jsonl("[*]"), text).text == (
        '12345678901234567890\n1.5\n"\\u0000🍸"\n{"a\\nb":1}\n'
    )


def test_a_long_value_is_cut_and_a_large_one_is_its_shape() -> None:
    long = page(Jsonl("a"), json.dumps({"a": "x" * 5_000}))
    large = page(Jsonl("@"), DOCUMENT)

    assert long.truncated
    assert "more characters]" in long.text
    assert len(long.text) < 2_001
    assert large.truncated
    assert large.text.startswith("{total:3000, items:[3,000]{id:int, name:str")


@pytest.mark.parametrize("text", ["plain text\n", "", "[1, 2", '{"a": NaN}', "\x00", "é" * 100])
def test_what_is_no_json_is_refused_with_another_op(text: str) -> None:
    answer = refusal(Jsonl("a"), text)

    assert answer.code == "bad_argument"
    assert "grep" in answer.fix


@pytest.mark.parametrize(
    "expression",
    [
        "items[",
        "items[?id >> 1]",
        "nope(@)",
        "length(total)",
        "(" * 3_000,
        "a." * 400 + "a",
        "a" * 1_001,
        " | ".join(["[@, @]"] * 60),
        " | ".join(["[@, @][]"] * 60),
        " | ".join(["to_string([@, @])"] * 60),
        " | ".join(["join('', [@, @])"] * 60).replace("join", "'aaaaaaaa' | join", 1),
        "{a: " * 100 + "@" + "}" * 100 + " | " + " | ".join(["[@, @]"] * 40),
    ],
)
def test_an_expression_that_is_wrong_or_multiplies_is_refused_at_once(expression: str) -> None:
    began = time.thread_time()

    answer = query.answer(Jsonl(expression), b'{"a":{"a":1},"total":3}', limits())

    assert time.thread_time() - began < 0.5
    assert isinstance(answer, Page) or answer.code == "bad_pattern"


def test_large_documents_are_answered_in_part_within_the_time() -> None:
    items = [{**user, "body": "some text here " * 15} for user in USERS] * 10
    for text in (json.dumps({"items": items}), "".join(json.dumps(item) + "\n" for item in items)):
        data = text.encode()
        assert len(data) > 9_000_000
        for expression in (
            "items[?age > `95`]",
            "[?age > `95`]",
            "sort_by(items, &id)[0]",
            "@",
            "name",
        ):
            began = time.thread_time()

            answer = query.answer(Jsonl(expression), data, hurried())

            assert time.thread_time() < began + 0.3, expression
            assert isinstance(answer, Page) or answer.code == "bad_pattern"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.lists(VALUES.filter(lambda value: value is not None), max_size=12))
def test_elements_come_back_equal(values: list[object]) -> None:
    rows = joined(pages(Jsonl("[*]"), json.dumps(values), 100)).split("\n")[:-1]

    assert [json.loads(row) for row in rows] == values


def test_an_outline_of_code_is_its_definitions_with_their_lines() -> None:
    text = "import os\n\n\nclass A:\n    def b(self):\n        pass\n\n\nasync def c():\n    pass\n"

    assert page(Outline(), text).text == "4:class A:\n5:    def b(self):\n9:async def c():\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("# One\ntext\n\n## Two\nmore\n", "1:# One\n4:## Two\n"),
        (
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            "1:diff --git a/x b/x\n3:+++ b/x\n4:@@ -1 +1 @@\n",
        ),
        (DOCUMENT, "total: 3000\nitems: [3,000]{id:int, name:str, tags:[2](str), age:int}\n"),
        (RECORDS, "3,000 records of {id:int, name:str, tags:[2](str), age:int}\n"),
        ("[1,2]", "2 elements\nelements: int\n"),
    ],
)
def test_an_outline_follows_the_kind(text: str, rows: str) -> None:
    assert page(Outline(), text).text == rows


def test_a_text_without_structure_is_outlined_by_lines_spread_over_it() -> None:
    answer = page(Outline(), "".join(f"lorem ipsum {n} dolor\n" for n in range(1, 4_001)))

    assert answer.total == 40
    assert answer.text.startswith("1:lorem ipsum 1 dolor\n")


def test_an_outline_of_a_minified_file_is_no_flood() -> None:
    text = "function a(){return 1};var b=2;" * 330_000

    answer = page(Outline(), text)

    assert len(answer.text) < 2_000
