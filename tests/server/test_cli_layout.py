"""Tables, ages and cells of the command line."""

import pytest

from osiris.cli.layout import (
    Screen,
    ago,
    amounts,
    cell,
    compact,
    cut,
    encodable,
    many,
    on_terminal,
    pairs,
    table,
    width,
)

NARROW = Screen(columns=24)
ASCII = Screen(columns=24, encoding="ascii")
NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("age_s", "said"),
    [
        (-60, "just now"),
        (4, "just now"),
        (5, "5 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3_599, "59 min ago"),
        (3_600, "1 h ago"),
        (86_399, "23 h ago"),
        (86_400, "1 d ago"),
        (30 * 86_400 - 1, "29 d ago"),
        (30 * 86_400, "2026-12-16"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(age_s: int, said: str) -> None:
    assert ago(NOW - age_s * 1000, NOW) == said


def test_numbers_are_separated_and_words_follow_their_number() -> None:
    assert cell(1_234_567, NARROW) == "1,234,567"
    assert (many(1, "call"), many(0, "call"), many(2_000, "ref")) == (
        "1 call",
        "0 calls",
        "2,000 refs",
    )


def test_a_table_aligns_numbers_right_and_gives_the_rest_to_the_last_column() -> None:
    rows = [("a", 1, "short"), ("bcd", 12_345, "a text that does not fit here")]

    assert table(("id", "size>", "text"), rows, NARROW).splitlines() == [
        "id     size  text",
        "a         1  short",
        "bcd  12,345  a text tha…",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert width("中文") == 4
    assert cut("中文中文", 5, NARROW) == "中文…"
    assert table(("a", "b"), [("中文", "x"), ("abc", "y")], NARROW).splitlines() == [
        "a     b",
        "中文  x",
        "abc   y",
    ]


def test_a_mark_that_combines_takes_no_column() -> None:
    assert width("e\u0301") == 1


def test_labels_are_aligned_and_what_they_say_is_cut() -> None:
    rows = [("a", 1_000), ("longer", "x" * 40)]

    assert pairs(rows, NARROW).splitlines() == ["  a       1,000", "  longer  xxxxxxxxxxxxx…"]


def test_amounts_stand_under_each_other() -> None:
    assert amounts([("in", 1_000), ("out", -5)]).splitlines() == ["in   1,000", "out     -5"]


def test_an_encoding_without_a_character_gets_its_escape_and_the_columns_hold() -> None:
    assert encodable("a…", "ascii") == "a..."
    assert encodable("ż", "ascii") == "\\u017c"
    assert encodable("a…", "cp1252") == "a…"
    lines = table(("a", "b"), [("ż", "x" * 40)], ASCII).splitlines()
    assert lines == ["a       b", "\\u017c  xxxxxxxxxxxxx..."]


def test_stored_text_cannot_move_the_cursor() -> None:
    assert cell("a\x1b[2J\r\nb", NARROW) == "a\\u001b[2J\\u000d\\nb"
    assert on_terminal("a\tb\r\nc\x1b]0;x\x07\rd\n") == "a\tb\nc\\u001b]0;x\\u0007\\u000dd\n"


def test_fields_are_shown_in_few_characters() -> None:
    values = ["ab" * 32, True, None, 1_000, {"reply": 1}, ("a", "b"), "text"]
    shown = ["abababababab", "yes", "-", "1,000", '{"reply": 1}', '["a", "b"]', "text"]

    assert [compact(value) for value in values] == shown
