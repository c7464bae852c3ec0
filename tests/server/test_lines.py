import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.server.line_id import recover_cut_id, recover_id
from osiris.server.lines import LineError, parse_line
from osiris.server.splitter import CutLine, LineSplitter

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CALL = {
    "jsonrpc": "2.0",
    "id": "a",
    "method": "tools/call",
    "params": {"name": "osiris_plan", "arguments": {"mode": "status", "n": -(2**63)}},
}


def nested(levels: int) -> bytes:
    """Return a request of `levels` levels; three of them are the request's own."""
    inner = "[" * (levels - 3) + "]" * (levels - 3)
    return (
        '{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":{"b":' + (inner or "1") + "}}}"
    ).encode()


def listed(items: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":[' + b"0," * items + b"0]}}"


@pytest.mark.parametrize(
    "message",
    [
        PING,
        CALL,
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": None},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
        {**PING, "params": {"text": "\x00 \u2028 \U0001f378 ]]}}{{[[" * 40}},
    ],
)
def test_a_message_comes_out_as_it_went_in(message: dict[str, object]) -> None:
    assert parse_line(json.dumps(message).encode()) == message
    assert parse_line(json.dumps(message, ensure_ascii=False).encode() + b"\r") == message


def test_an_escaped_pair_is_the_character_it_spells() -> None:
    escaped = parse_line(rb'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud83c\udf78"}}')

    assert isinstance(escaped, dict)
    assert escaped["params"] == {"a": "\U0001f378"}


@pytest.mark.parametrize(("levels", "fits"), [(64, True), (65, False), (200, False), (9999, False)])
def test_nesting_ends_at_64_levels(levels: int, fits: bool) -> None:  # noqa: FBT001  a parameter
    parsed = parse_line(nested(levels))

    assert isinstance(parsed, dict) is fits
    if isinstance(parsed, LineError):
        assert (parsed.code, parsed.id) == (-32600, 9)
        assert parsed.text.startswith("error too_deep: more than 64 levels | fix: ")


@pytest.mark.parametrize(("items", "fits"), [(99_900, True), (100_001, False), (2_000_000, False)])
def test_items_end_at_100_000(items: int, fits: bool) -> None:  # noqa: FBT001  a parameter
    parsed = parse_line(listed(items))

    assert isinstance(parsed, dict) is fits
    if isinstance(parsed, LineError):
        assert parsed.text.startswith("error too_deep: more than 100,000 items | fix: ")


def test_commas_and_brackets_inside_strings_are_no_items() -> None:
    text = '[{,\\"' * 120_000
    line = '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"' + text + '"}}'

    parsed = parse_line(line.encode())

    assert isinstance(parsed, dict)
    assert len(parsed["params"]["a"]) == 4 * 120_000


def test_a_byte_order_mark_is_called_by_its_name() -> None:
    parsed = parse_line(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}')

    assert isinstance(parsed, LineError)
    assert parsed.text.startswith("error bad_json: the line starts with a byte order mark | fix: ")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":NaN}}', 7),
        (b'{"method":"x","params":{"id":3,"b":["id"]},"id":"s-1","x":', "s-1"),
        (b'{"method":"x","params":{"id":3},"broken', None),
        (b'{"id":{"id":3}', None),
        (b'{"id":null}', None),
        (b'{"id":1.5}', None),
        (b'{"id":12', None),
        (b'{"id":99999999999999999999}', None),
        (rb'{"id":"\ud800"}', None),
        (b'{"id":"\xff"}', None),
        (b'[{"id":1}]', None),
        (b'"id":1}', None),
        (b'\xef\xbb\xbf{"id":1}', 1),
        (rb'{"a":"\"id\":2","id":4,', 4),
        (b"", None),
    ],
)
def test_only_a_whole_id_of_the_outermost_object_is_recovered(
    line: bytes, found: int | str | None
) -> None:
    assert recover_id(line) == found


@pytest.mark.parametrize(
    ("tail", "found"),
    [
        (b'..."}},"jsonrpc":"2.0","id":7}', 7),
        (b'..."}},"id":"x","jsonrpc":"2.0"}\r', "x"),
        (b'..."},"id":7}}', None),
        (b"...7}", None),
        (b"", None),
    ],
)
def test_the_id_of_a_cut_line_is_looked_for_at_its_end_too(
    tail: bytes, found: int | str | None
) -> None:
    assert recover_cut_id(b'{"method":"tools/call","params":{"a":"', tail) == found


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_do_not_depend_on_how_the_bytes_arrive(
    lines: list[bytes], data: st.DataObject
) -> None:
    whole = b"\n".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    splitter = LineSplitter(max_bytes=20)
    found = [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish()

    expected = lines if lines and lines[-1] else lines[:-1]
    assert len(found) == len(expected)
    for line, said in zip(found, expected, strict=True):
        if len(said) <= 20:
            assert line == said
        else:
            assert isinstance(line, CutLine)
            assert line.size_bytes == len(said)
            assert line.head == said[: len(line.head)]


def test_a_cut_line_keeps_its_two_ends_and_the_next_line_is_whole() -> None:
    splitter = LineSplitter(max_bytes=100_000)
    line = b"a" * 70_000 + b"b" * 70_000

    assert splitter.feed(line) == []
    assert splitter.feed(b"cc\nnext\nhalf") == [
        CutLine(b"a" * 65_536, b"b" * 4094 + b"cc", 140_002),
        b"next",
    ]
    assert splitter.finish() == [b"half"]


def test_the_end_of_a_line_that_never_ended_says_nothing() -> None:
    splitter = LineSplitter(max_bytes=10)
    splitter.feed(b'{"method":"x","id":1}')

    assert splitter.finish() == [CutLine(b'{"method":"x","id":1}', b"", 21)]
