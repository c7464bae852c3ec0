"""What lines say about themselves, whole or cut."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.envelope import Envelope, Id, Lines, TooLong, param, peek, walk

PADDING = "p" * 70_000  # makes a line too large to be parsed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
IDS = st.integers() | st.text()
REQUESTS = st.fixed_dictionaries({"id": IDS, "method": st.text()}, optional={"params": JSON})
REPLIES = st.fixed_dictionaries({"id": IDS, "result": JSON})
MESSAGES = (REQUESTS | REPLIES).flatmap(lambda m: st.permutations(list(m.items())).map(dict))

TOP_LEVEL: list[tuple[dict[str, Any], tuple[str | None, Id | None, bool]]] = [
    ({"id": 1, "method": "a"}, ("a", 1, False)),
    ({"method": "a", "params": {"id": 2, "method": "b"}, "id": 'é\\"'}, ("a", 'é\\"', False)),
    ({"method": "a", "params": [{"x": "}]"}, []], "id": 1.5}, ("a", 1.5, False)),
    ({"method": "a"}, ("a", None, False)),
    ({"id": 0, "result": {"method": "b"}}, (None, 0, False)),
    ({"id": 3, "error": {"code": 1}}, (None, 3, True)),
    ({"id": None, "method": "a"}, ("a", None, False)),
    ({"id": True, "method": 5}, (None, None, False)),
    ({"id": [1], "method": "a"}, ("a", None, False)),
]


def said(envelope: Envelope) -> tuple[str | None, Id | None, bool]:
    return envelope.method, envelope.id, envelope.failed


def cut(stream: bytes, limit: int, size: int) -> list[bytes | None]:
    """Feed a stream in pieces; None stands for a line that was dropped."""
    lines = Lines(limit)
    found = [line for at in range(0, len(stream), size) for line in lines.feed(stream[at:][:size])]
    rest = lines.rest()
    return [
        line if isinstance(line, bytes) else None
        for line in [*found, *([] if rest is None else [rest])]
    ]


@pytest.mark.parametrize("padding", ["", PADDING])
@pytest.mark.parametrize(("message", "expected"), TOP_LEVEL)
def test_method_and_id_are_those_of_the_top_level(
    message: dict[str, Any], expected: tuple[str | None, Id | None, bool], padding: str
) -> None:
    first = {"pad": padding} | message
    last = message | {"pad": padding}

    assert said(peek(json.dumps(first).encode())) == expected
    assert said(peek(json.dumps(last, indent=1).encode())) == expected


@given(MESSAGES, st.sampled_from([None, 1]))
def test_walking_a_line_finds_what_parsing_finds(
    message: dict[str, Any], indent: int | None
) -> None:
    line = json.dumps(message, indent=indent).encode()

    assert said(walk(line)) == (message.get("method"), message["id"], False)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{",
        b"[1]",
        b"nonsense",
        b'"id"',
        b'{"id"',
        b'{"id":}',
        b'{"id":1' + b"0" * 5000 + b"}",
        b"[" * 40_000,
        b"\xff{}",
        b"{" * 70_000,
        b'{"a":' + b"[" * 70_000,
        b'{"' + b"\\" * 70_000,
    ],
)
def test_what_cannot_be_read_says_nothing(line: bytes) -> None:
    assert said(peek(line)) == (None, None, False)


def test_parameters_are_read_where_there_are_some() -> None:
    lines = [b'{"params":{"uri":"x"}}', b'{"params":["uri"]}', b'{"params":null}', b"{}", b"["]

    assert [param(line, "uri") for line in lines] == ["x", None, None, None, None]


@given(
    st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b" "))),
    st.integers(1, 9),
    st.integers(1, 30),
)
def test_lines_do_not_depend_on_how_the_stream_was_cut(
    lines: list[bytes], limit: int, size: int
) -> None:
    stream = b"".join(line + b"\n" for line in lines)

    assert cut(stream, limit, size) == [
        line + b"\n" if len(line) <= limit else None for line in lines
    ]


def test_the_last_line_needs_no_line_end() -> None:
    assert cut(b"a\nb", 8, 1) == [b"a\n", b"b\n"]
    assert cut(b"a\n", 8, 1) == [b"a\n"]
    assert cut(b"a\n123456789", 8, 1) == [b"a\n", None]


def dropped(line: bytes) -> TooLong:
    (found,) = Lines(limit=8192).feed(line + b"\n")
    assert isinstance(found, TooLong)
    return found


@pytest.mark.parametrize(
    ("head", "tail", "ident"),
    [
        (b'{"id":1,"params":"', b'"}', 1),
        (b'{"params":"', b'","id":"a"}', "a"),
        (b'{"params":{"a":"', b'"},"jsonrpc":"2.0","id" : 7 , "method":"m"}\r', 7),
        (b'{"params":{"a":"', b'","id":7}}', None),
        (b'{"params":"', b',\\"id\\":7}"}', None),
        (b"", b"", None),
    ],
)
def test_a_dropped_line_keeps_its_id(head: bytes, tail: bytes, ident: Id | None) -> None:
    assert dropped(head + b"x" * 100_000 + tail).id() == ident


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="counts bytes")
def test_a_line_without_an_end_is_not_kept() -> None:
    lines = Lines(limit=65_536)

    for _ in range(1000):
        assert list(lines.feed(b"x" * 65_536)) == []

    assert sum(map(sys.getsizeof, vars(lines).values())) < 2 * 65_536
