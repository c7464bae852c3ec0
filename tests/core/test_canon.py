"""One way to hash: different inputs differ, the same meaning agrees."""

import hashlib
import json
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import canon

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
PARTS = st.lists(TEXT | st.binary(), max_size=4)


def test_a_hash_is_sha256_over_version_purpose_and_length_prefixed_parts() -> None:
    framed = b"".join(
        len(part).to_bytes(8, "big") + part for part in (b"osiris/1", b"tail", b"ab", "é".encode())
    )

    assert canon.digest("tail", ["ab", "é"]) == hashlib.sha256(framed).digest()


def test_the_hash_of_a_known_input_never_changes() -> None:
    assert canon.hexdigest("head", ["system", "rules"]) == (
        "8fde03e4fbcf8f2fd0235f582f244c1a2bec572d0e925d6bd6dbb1d7de0111eb"
    )


@given(TEXT, TEXT, TEXT)
def test_moving_a_part_boundary_changes_the_hash(left: str, middle: str, right: str) -> None:
    one = canon.digest("zone", [left + middle, right])
    other = canon.digest("zone", [left, middle + right])

    assert (one == other) == (not middle)


@given(PARTS, PARTS)
def test_different_parts_have_different_hashes(
    one: list[str | bytes], other: list[str | bytes]
) -> None:
    same = [_raw(part) for part in one] == [_raw(part) for part in other]

    assert (canon.digest("zone", one) == canon.digest("zone", other)) == same


@given(PARTS)
def test_an_empty_part_counts(parts: list[str | bytes]) -> None:
    assert canon.digest("zone", parts) != canon.digest("zone", [*parts, ""])


@given(PARTS)
def test_the_purpose_parts_equal_contents(parts: list[str | bytes]) -> None:
    assert canon.digest("head", parts) != canon.digest("tail", parts)


@given(TEXT)
def test_text_and_its_utf8_bytes_hash_alike(text: str) -> None:
    assert canon.digest("zone", [text]) == canon.digest("zone", [text.encode()])


def test_a_lone_surrogate_has_a_hash_of_its_own() -> None:
    assert canon.digest("zone", ["\ud800"]) != canon.digest("zone", ["\ud801"])


@given(st.dictionaries(TEXT, JSON, min_size=1), st.randoms())
def test_key_order_does_not_change_canonical_json(value: dict[str, object], random: Random) -> None:
    keys = list(value)
    random.shuffle(keys)

    assert canon.canonical_json({key: value[key] for key in keys}) == canon.canonical_json(value)


@given(JSON)
def test_canonical_json_is_json_of_the_same_value(value: object) -> None:
    assert json.loads(canon.canonical_json(value)) == value


def test_canonical_json_is_the_shortest_utf8_form() -> None:
    value = {"b": [1, None, 0.5], "a": {"é": "x\ny"}}

    assert canon.canonical_json(value) == '{"a":{"é":"x\\ny"},"b":[1,null,0.5]}'.encode()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_say_is_refused_and_not_read_as_null(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canon.canonical_json({"deep": [{"n": number}]})


@given(TEXT)
def test_meaning_is_settled_after_one_pass(text: str) -> None:
    settled = canon.meaning(text)

    assert canon.meaning(settled) == settled


@pytest.mark.parametrize(
    "text",
    [
        "caf\u00e9\nau lait",
        "cafe\u0301\nau lait",
        "caf\u00e9\r\nau lait",
        "caf\u00e9\rau lait",
        "  caf\u00e9\nau lait\t\n",
    ],
)
def test_meaning_ignores_composition_line_ends_and_outer_space(text: str) -> None:
    assert canon.meaning(text) == "caf\u00e9\nau lait"


def test_meaning_keeps_case_and_inner_space() -> None:
    assert canon.meaning("Fix  the Bug") == "Fix  the Bug"


def test_a_ref_is_named_by_the_plain_sha256() -> None:
    assert canon.sha256_hex(b"abc") == hashlib.sha256(b"abc").hexdigest()


def _raw(part: str | bytes) -> bytes:
    return part if isinstance(part, bytes) else part.encode()
