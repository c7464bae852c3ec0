import pytest

from osiris.core import refs

HASH = "3fa9c2d1e0b7" + "0" * 52


def test_a_ref_is_read_back_from_both_of_its_forms() -> None:
    assert refs.parse(refs.name(HASH)) == HASH
    assert refs.parse(refs.short(HASH)) == HASH[:12]


def test_the_short_form_is_the_scheme_and_twelve_digits() -> None:
    assert refs.short(HASH) == "mem://3fa9c2d1e0b7"


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        (f"  {refs.name(HASH)}\n", HASH),
        (refs.name(HASH).upper(), HASH),
        (HASH, HASH),
        ("3fa9c2d1e0b7", "3fa9c2d1e0b7"),
        ("mem://3fa9c2d1e0b70", "3fa9c2d1e0b70"),
        ("sha256:3fa9c2d1e0b7", "3fa9c2d1e0b7"),
    ],
)
def test_blanks_case_and_a_missing_scheme_are_forgiven(text: str, digits: str) -> None:
    assert refs.parse(text) == digits


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mem://",
        "mem://3fa9c2d1e0b",
        "mem://sha256:" + "0" * 65,
        "mem://3fa9c2d1e0bg",
        "mem://3fa9c2d1e0b7/x",
        "mem://3fa9c2d1e0b7 mem://3fa9c2d1e0b8",
        "file://3fa9c2d1e0b7",
        "mem://\uff13fa9c2d1e0b7",
        "README.md",
    ],
)
def test_anything_else_is_no_ref(text: str) -> None:
    assert refs.parse(text) is None


def test_only_all_the_digits_need_no_look_up() -> None:
    assert refs.is_whole(HASH)
    assert not refs.is_whole(HASH[:63])
