"""A large JSON text is read in windows, and reads as the decoder reads it whole."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import json_parts
from osiris.core.json_cuts import WINDOW
from osiris.core.json_parts import Large

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=12)
    | st.sampled_from(['"', "\\", "},{", "],[", ", ", "[{"]),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=6)
    ),
    max_leaves=30,
)  # fmt: skip
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")])
INDENTS = st.sampled_from([None, 1, 4])


def large_text(value: Any, indent: int | None, separators: tuple[str, str]) -> str:
    """Return a JSON text of more than two windows that repeats `value` in arrays and objects."""
    one = json.dumps(value, separators=separators, ensure_ascii=False)
    times = 2 * WINDOW // len(one.encode()) + 1
    fields = {f"k{number}": value for number in range(min(times, 500))}
    whole = {"rows": [value] * times, "kept": fields, "value": value}
    return json.dumps(whole, indent=indent, separators=separators, ensure_ascii=indent == 1)


def plain(value: object) -> object:
    """Return what a value read in parts is, whole."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    if not isinstance(value, Large):
        return value
    pieces = list(value.pieces())
    if value.is_array:
        return [plain(item) for piece in pieces for item in piece]
    return {k: plain(v) for piece in pieces if isinstance(piece, dict) for k, v in piece.items()}


@given(VALUES, INDENTS, SEPARATORS)
def test_a_text_read_in_parts_is_the_value_that_it_spells(
    value: Any, indent: int | None, separators: tuple[str, str]
) -> None:
    text = large_text(value, indent, separators).encode()

    read = json_parts.read(text)

    assert isinstance(read, Large)
    rows = read.field("rows")
    assert plain(read) == json.loads(text)
    assert plain(read.field("value")) == value
    assert isinstance(rows, Large)
    assert {str(plain(rows.element(n))) for n in (0, len(rows) // 2, len(rows) - 1)} == {str(value)}
    assert [name for name, _ in read.fields(1)] == ["kept", "value"]


@given(VALUES, st.floats(0, 1), st.sampled_from(list('"[]{},:\\1 ex\n')))
def test_what_is_no_json_anywhere_is_none(value: Any, place: float, sign: str) -> None:
    good = large_text(value, None, (",", ":"))
    at = int(place * (len(good) - 1))

    for text in (good[:at], good[:at] + sign + good[at + 1 :]):
        try:
            msgspec.json.decode(text, type=msgspec.Raw)
        except ValueError:
            assert json_parts.read(text.encode()) is None
        else:
            assert json_parts.read(text.encode()) is not None


def test_an_array_is_known_by_number_and_length() -> None:
    read = json_parts.read(b"[" + b"1," * WINDOW + b"[2]" + b"," + b"3" * 9 + b"]")

    assert isinstance(read, Large)
    assert (len(read), plain(read.element(0))) == (WINDOW + 2, 1)
    assert [plain(read.element(n)) for n in (WINDOW - 1, WINDOW, WINDOW + 1)] == [1, [2], 333333333]


@pytest.mark.parametrize(
    "text",
    [
        '{"text":"' + '\\"' * WINDOW + '"}',
        "[" * 100 + '"' + "a" * WINDOW + '"' + "]" * 100,
        '{"' + "k" * WINDOW + '":' + "1" * 9 + ', "b" : [] }',
        " \n[ " + '"é\\u00e9" ,\r\n' * WINDOW + " {} ]\n",
        "[[" + "[[[[1]]]]," * WINDOW + "2]]",
    ],
)
def test_long_texts_deep_nests_and_blanks_are_no_obstacle(text: str) -> None:
    assert plain(json_parts.read(text.encode())) == json.loads(text)
