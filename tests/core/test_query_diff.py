"""A diff applied to the old text gives the new one."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from osiris.core import query
from osiris.core.query_diff import Diff
from osiris.core.query_page import Page
from tests.core.query_cases import hurried, joined, pages

ASKED = Diff("mem://0123456789ab")
LINES = st.sampled_from(
    [b"a\n", b"b\n", b"\n", b"a longer line\n", b"another one\n", b"+x\n", b"@@\n"]
)
HEAD = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


def applied(old: bytes, diff: str) -> bytes:
    """Apply a unified diff, checking its numbers and the lines it says are there."""
    before = old.splitlines(keepends=True)
    after: list[bytes] = []
    at, left, right = 0, 0, 0
    for row in diff.split("\n")[:-1]:
        head = HEAD.fullmatch(row) if left <= 0 and right <= 0 else None
        if head:
            start, left, place, right = map(int, head.groups())
            after += before[at : start - 1]
            at = start - 1
            assert len(after) == place - 1
            continue
        sign, line = row[0], row[1:].encode() + b"\n"
        if sign in " -":
            assert before[at] == line
            at, left = at + 1, left - 1
        if sign in " +":
            after.append(line)
            right -= 1
    return b"".join([*after, *before[at:]])


@given(st.lists(LINES, max_size=80), st.data())
def test_a_diff_applied_to_the_old_text_gives_the_new(
    old: list[bytes], data: st.DataObject
) -> None:
    new = list(old)
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(new)))
        new[at : at + data.draw(st.integers(0, 9))] = data.draw(st.lists(LINES, max_size=9))

    diff = joined(pages(ASKED, b"".join(new), 500, old=b"".join(old)))

    assert applied(b"".join(old), diff) == b"".join(new)


def test_a_large_insertion_is_found_around_not_called_a_rewrite() -> None:
    old = b"".join(b"line %d of the file\n" % number for number in range(3_000))
    lines = old.splitlines(keepends=True)
    added = [b"an added line %d\n" % number for number in range(700)]
    new = b"".join([*lines[:1_000], *added, *lines[1_000:]])

    diff = joined(pages(ASKED, new, 2_000, old=old))

    assert applied(old, diff) == new
    assert len(re.findall(r"^-", diff, re.MULTILINE)) == 0
    assert len(re.findall(r"^\+", diff, re.MULTILINE)) == 700


def test_one_changed_line_is_one_hunk_with_two_lines_around() -> None:
    old = b"".join(b"%d\n" % number for number in range(10))

    (answer,) = pages(ASKED, old.replace(b"5\n", b"five\n"), 500, old=old)

    assert answer.text == "@@ -4,5 +4,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n"


def test_equal_texts_have_no_hunks() -> None:
    assert pages(ASKED, b"a\nb\n", 500, old=b"a\nb\n") == [Page("", 0, 0)]


def test_hostile_texts_end_within_the_time() -> None:
    for old, new in (
        (b"a\nb\n" * 1_000_000, b"b\nb\na\n" * 1_000_000),
        (b"x" * 9_000_000, b"x" * 8_999_999 + b"y"),
        (b"", b"line\n" * 1_000_000),
    ):
        began = time.thread_time()

        answer = query.answer(ASKED, new, hurried(), old=old)

        assert time.thread_time() < began + 0.3
        assert isinstance(answer, Page)
        assert answer.text
