"""Seals: what moves them, and what is taken for one."""

import pytest

from osiris.core import prefix

SEAL = "3f9a1c5e8d21c21b"


@pytest.mark.parametrize(
    "shown",
    [SEAL, f"sha256:{SEAL}", f"SEAL=sha256:{SEAL}", f" {SEAL}\n", SEAL[:12], "3f9a1c…c21b"],
)
def test_a_seal_is_known_whole_shortened_or_by_twelve_digits(shown: str) -> None:
    parsed = prefix.parse_seal(shown)

    assert parsed is not None
    assert prefix.seal_fits(parsed, SEAL)


@pytest.mark.parametrize("shown", ["", "3f9a1c", SEAL + "0", "3F9A1C5E8D21C21B", "x" * 16, "…"])
def test_anything_else_is_no_seal(shown: str) -> None:
    assert prefix.parse_seal(shown) is None


def test_moving_a_boundary_between_texts_changes_the_zone() -> None:
    assert prefix.zone_b("ab", ["c"], "") != prefix.zone_b("a", ["bc"], "")
    assert prefix.zone_b("x", ["ab", "c"], "") != prefix.zone_b("x", ["a", "bc"], "")


def test_white_space_and_line_ends_do_not_move_a_zone() -> None:
    assert prefix.zone_b("do it\r\n", [" look "], "") == prefix.zone_b("do it", ["look"], "")


def test_an_append_and_a_rewrite_give_different_tails() -> None:
    first = prefix.extend_tail(prefix.EMPTY_TAIL, "decision", prefix.pinned_item("d1", "a"))
    appended = prefix.extend_tail(first, "decision", prefix.pinned_item("d1", "b"))
    rewritten = prefix.extend_tail(prefix.EMPTY_TAIL, "decision", prefix.pinned_item("d1", "b"))

    assert len({first, appended, rewritten}) == 3
