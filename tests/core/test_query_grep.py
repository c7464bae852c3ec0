"""Grep: what is found, how it is shown, what is refused, and how long it may take."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import query
from osiris.core.errors import Refusal
from osiris.core.query_ask import from_recall
from osiris.core.query_grep import Grep
from osiris.core.query_page import Page
from osiris.core.query_re2 import Hit, Pattern, compile_pattern
from tests.core.query_cases import hurried, joined, limits, page, pages, refusal

LOG = "start\nINFO one\nERROR two\nINFO three\nINFO four\nINFO five\nERROR six\nend\n"


def test_rows_carry_line_numbers_and_the_count_is_of_all() -> None:
    assert page(Grep("ERROR"), LOG) == Page("3:ERROR two\n7:ERROR six\n", shown=2, total=2)


def test_lines_around_a_match_are_marked_and_never_repeated() -> None:
    assert page(Grep("ERROR", before=1, after=2), LOG).text == (
        "2-INFO one\n3:ERROR two\n4-INFO three\n5-INFO four\n6-INFO five\n7:ERROR six\n8-end\n"
    )


def test_a_gap_between_matches_is_shown() -> None:
    assert page(Grep("ERROR", after=1), LOG).text == (
        "3:ERROR two\n4-INFO three\n--\n7:ERROR six\n8-end\n"
    )


def test_inverted_shows_the_other_lines() -> None:
    assert page(Grep("INFO|ERROR", invert=True), LOG).text == "1:start\n8:end\n"


def test_a_literal_is_no_pattern() -> None:
    assert page(Grep("a.c[", literal=True), "abc[\na.c[\n").text == "2:a.c[\n"


def test_case_may_be_ignored_beyond_ascii() -> None:
    assert page(Grep("éRR", ignore_case=True), "Érr\nerr\n").text == "1:Érr\n"


def test_each_match_has_its_offset_in_the_line() -> None:
    assert page(Grep("a+", each=True), "aa baa\nc\na\n") == Page(
        "1@0:aa baa\n1@4:aa baa\n3@0:a\n", shown=3, total=3
    )


def test_a_count_alone_counts_lines_or_each_match() -> None:
    assert page(Grep("a", count_only=True), "aa\nb\na\n").text == "2 match\n"
    assert page(Grep("a", count_only=True, each=True), "aa\nb\na\n").text == "3 match\n"
    assert page(Grep("a", count_only=True, invert=True), "aa\nb\na\n").text == "1 match\n"


def test_a_limit_ends_the_rows_but_not_the_count() -> None:
    assert page(Grep("INFO", limit=2), LOG) == Page("2:INFO one\n4:INFO three\n", 2, 4)


def test_every_page_says_how_many_there_are_in_all() -> None:
    found = pages(Grep("x"), "x\n" * 500, 20)

    assert {answer.total for answer in found} == {500}
    assert joined(found) == "".join(f"{number}:x\n" for number in range(1, 501))


def test_the_ends_of_a_line_are_found_before_a_carriage_return() -> None:
    text = "a b\r\nb a\r\n\r\nb"

    assert page(Grep("b$"), text).text == "1:a b\n4:b\n"
    assert page(Grep("^b"), text).text == "2:b a\n4:b\n"
    assert page(Grep("^$"), text).text == "3:\n"
    assert page(Grep("[$]|\\$"), "$\n").text == "1:$\n"


def test_no_match_leaves_its_line() -> None:
    assert page(Grep("a[^x]*b"), "a\nb\nab\n").text == "3:ab\n"
    assert page(Grep("a\\s+b"), "a\nb\na b\n").text == "3:a b\n"


def test_nul_and_other_separators_are_ordinary_characters() -> None:
    text = "a\x00key\n\u2028key\x85\nkey\x0c"

    assert page(Grep("key"), text).text == "1:a\x00key\n2:\u2028key\x85\n3:key\x0c\n"


def test_of_a_long_line_the_part_around_the_match_is_shown() -> None:
    text = "x" * 50_000 + "NEEDLE" + "y" * 50_000

    answer = page(Grep("NEEDLE"), text)

    assert answer.text.startswith("1:[49800 bytes]…xxx")
    assert "NEEDLEyyy" in answer.text
    assert len(answer.text) < 900
    assert answer.truncated


def test_every_match_of_one_minified_line_can_be_listed() -> None:
    text = '{"id":1},' * 40_000

    answer = page(Grep('"id":1', each=True), text)

    assert answer.total == 40_000
    assert answer.text.startswith('1@1:{"id":1},{"id":1}')


WORDS = st.text("ab \n$é", max_size=80)
PATTERNS = st.sampled_from(
    ["a+b", "^a", "b$", "a.b", "^$", "a", "(a|b)+$", "é", ".*", "a{2,3}", " "]
)


@given(WORDS, PATTERNS, st.sampled_from([30, 90, 65_536]))
def test_windows_find_what_a_line_by_line_search_finds(text: str, wanted: str, window: int) -> None:
    pattern = compile_pattern(wanted)
    assert isinstance(pattern, Pattern)
    pattern._window, pattern._overlap = window, window // 4
    lines = text.removesuffix("\n").split("\n") if text else []
    if max(map(len, lines), default=0) * 2 >= window:
        return

    found = [item for item in pattern.scan(text.encode()) if isinstance(item, Hit)]

    starts: list[int] = []
    at = 0
    for line in lines:
        if re.search(wanted, line):
            starts.append(at)
        at += len(line.encode()) + 1
    assert [hit.line_start for hit in found] == starts


def test_in_a_line_longer_than_a_window_a_match_across_two_is_found_once() -> None:
    pattern = compile_pattern("NEEDLE+")
    assert isinstance(pattern, Pattern)

    for at in range(65_500, 65_560):
        text = b"x" * at + b"NEEDLEEEE" + b"x" * 70_000
        hits = [item for item in pattern.scan(text, each=True) if isinstance(item, Hit)]
        assert [(hit.start, hit.end) for hit in hits] == [(at, at + 9)]


EVIL = [
    "(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*a){25}$", "(a*)*b", "((a*)*)*$", "(x+x+)+y", "a{1000}b",
    "(a?){500}a{500}", "(a{1,30}){30}b", "a[ab]{500}x", "a[ab]{1000}x", ".{0,999}b.{0,999}q",
    "(.{1,50}a){10}x", "[^a]*a[^b]*b.{200}x", "(?i)(\\pL+\\s*){20}x", "\\pL{200}x", "(\\w+\\s?)*$",
    "^(([a-z])+.)+[A-Z]([a-z])+$", "(a|b|ab)*c", ".*.*.*.*.*=.*", "(?:a.{40}){3}b", "a.{900}x",
    "(([a-z]+)*)+z", "(ab|a)(bc|c)?$", "\\b(a+\\b)*z",
]  # fmt: skip


@pytest.mark.parametrize("pattern", EVIL)
def test_no_pattern_takes_more_than_its_share_of_time(pattern: str) -> None:
    text = (b"ab" * 700 + b"a" * 20_000 + b"\n") * 15 + b"a" * 300_000 + b"!"

    answers, seconds = zip(*(_timed(Grep(pattern), text) for _ in range(3)), strict=True)

    assert min(seconds) < 0.4  # a machine may stand still once; a pattern that explodes does always
    assert all(isinstance(a, Page) or a.code == "bad_pattern" for a in answers)


def _timed(asked: Grep, text: bytes) -> tuple[Page | Refusal, float]:
    began = time.thread_time()
    answer = query.answer(asked, text, hurried())
    return answer, time.thread_time() - began


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("foo(?=bar)", "lookahead"),
        ("foo(?!bar)", "-v"),
        ("(?<=foo)bar", "lookbehind"),
        ("(a)\\1", "back-reference"),
        ("(?P<x>a)(?P=x)", "back-reference"),
        ("a++", "possessive"),
        ("(?>a)", "possessive"),
        ("end\\Z", "\\z"),
        ("a{2000}", "1000"),
        ("\\pL{1000}", "smaller"),
        ("foo(", "-F"),
        ("foo)", "-F"),
        ("*foo", "-F"),
        ("[z-a]", "a-z"),
        ("[abc", "-F"),
        ("a\\nb", "line"),
        ("a\nb", "line"),
        ("x" * 5_000, "4,000"),
    ],
)
def test_a_pattern_re2_does_not_take_is_refused_with_what_to_write(pattern: str, word: str) -> None:
    answer = refusal(Grep(pattern))

    assert answer.code == "bad_pattern"
    assert word in answer.fix
    assert len(answer.text()) < 500


def test_a_lone_surrogate_in_a_pattern_is_no_crash() -> None:
    assert page(Grep("\ud800", literal=True), "a\n").total == 0


class Recalled:
    """The arguments of a recall."""

    def __init__(self, op: str = "grep", q: str | None = "x", expr: str | None = None) -> None:
        self.op, self.q, self.expr = op, q, expr
        self.start: int | None = None
        self.to: int | None = None
        self.n: int | None = None


@pytest.mark.parametrize(
    ("expr", "asked"),
    [
        (None, Grep("x")),
        ("-i -F", Grep("x", ignore_case=True, literal=True)),
        ("-inv", Grep("x", ignore_case=True, invert=True)),
        ("-A2 -B 3", Grep("x", after=2, before=3)),
        ("-C 2", Grep("x", after=2, before=2)),
        ("-C999999999999", Grep("x", after=20, before=20)),
        ("o", Grep("x", each=True)),
        ("-c", Grep("x", count_only=True)),
    ],
)
def test_flags_are_those_of_grep(expr: str | None, asked: Grep) -> None:
    assert from_recall(Recalled(expr=expr)) == asked


@pytest.mark.parametrize("expr", ["-z", "--color", "-A", "-", "-P x", "é"])
def test_another_flag_is_refused_with_those_there_are(expr: str) -> None:
    answer = from_recall(Recalled(expr=expr))

    assert isinstance(answer, Refusal)
    assert "-i -F -v" in answer.fix


def test_a_missing_pattern_is_refused() -> None:
    answer = from_recall(Recalled(q=None))

    assert isinstance(answer, Refusal)
    assert answer.code == "missing_argument"


def test_ten_megabytes_are_answered_within_the_time_in_full_or_in_part() -> None:
    text = b"2024-01-01 12:00:00 INFO request 12345 handled in 17 ms\n" * 190_000
    began = time.thread_time()

    answer = query.answer(Grep("INFO"), text, hurried())

    assert time.thread_time() < began + 0.25
    assert isinstance(answer, Page)
    assert answer.cursor
    assert answer.total > answer.shown
    assert query.answer(Grep("WARN"), text, limits()) == Page("", 0, 0)
