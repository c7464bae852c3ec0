"""Each bad line gets an error reply with a stable code; the next call works; nothing is stored."""

import json
import re
from typing import Any

import pytest

from osiris.core.errors import CODES
from osiris.server.lines import MAX_LINE_BYTES
from tests.server.fake_service import FakeService
from tests.server.raw_client import initialized, request, tool_call

CALL = (
    b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"osiris_observe","arguments":'
)

BAD_LINES = [
    pytest.param(CALL + b'{"text":"half', "bad_json", -32700, 77, id="half a line"),
    pytest.param(b"garbage", "bad_json", -32700, None, id="garbage"),
    pytest.param(CALL + b'{"text":"' + b"x" * 9_000_000 + b'"}}}', "line_too_long", -32600, 77,
                 id="a 9 MB line"),
    pytest.param(b'{"method":"tools/call","params":{"name":"osiris_observe","arguments":{"text":"'
                 + b"x" * 9_000_000 + b'"}},"jsonrpc":"2.0","id":77}', "line_too_long", -32600, 77,
                 id="a 9 MB line with its id last"),
    pytest.param(CALL + b'{"text":"\xff\xfe"}}}', "bad_json", -32700, 77, id="invalid UTF-8"),
    pytest.param(CALL + b'{"text":"\xed\xa0\x80"}}}', "bad_json", -32700, 77, id="UTF-8 surrogate"),
    pytest.param(CALL + rb'{"text":"\ud800"}}}', "bad_json", -32700, 77, id="lone surrogate"),
    pytest.param(CALL + rb'{"\udfff x":1}}}', "bad_json", -32700, 77, id="lone surrogate in a key"),
    pytest.param(b"\xef\xbb\xbf" + CALL + b"{}}}", "bad_json", -32700, 77, id="byte order mark"),
    pytest.param(CALL + b'{"n":NaN}}}', "bad_json", -32700, 77, id="NaN"),
    pytest.param(CALL + b'{"n":-Infinity}}}', "bad_json", -32700, 77, id="infinity"),
    pytest.param(CALL + b'{"n":1e999}}}', "bad_json", -32700, 77, id="a number that overflows"),
    pytest.param(CALL + b'{"n":' + b"9" * 5_000 + b"}}}", "bad_json", -32700, 77,
                 id="a 5,000-digit integer"),
    pytest.param(CALL + b'{"n":9223372036854775808}}}', "bad_json", -32700, 77, id="2 to the 63"),
    pytest.param(CALL + b"[" * 10_000 + b"]" * 10_000 + b"}}", "too_deep", -32600, 77,
                 id="10,000 levels"),
    pytest.param(CALL + b'{"a":' + b"[" * 62 + b"]" * 62 + b"}}}", "too_deep", -32600, 77,
                 id="65 levels"),
    pytest.param(CALL + b'{"a":[' + b"0," * 100_000 + b"0]}}}", "too_deep", -32600, 77,
                 id="100,001 items"),
    pytest.param(CALL + b'{"a":1,"a":2}}}', "duplicate_key", -32600, 77, id="duplicate key"),
    pytest.param(b'{"jsonrpc":"2.0","id":77,"id":77,"method":"ping"}', "duplicate_key", -32600, 77,
                 id="duplicate id"),
    pytest.param(b'[{"jsonrpc":"2.0","id":77,"method":"ping"}]', "bad_request", -32600, None,
                 id="batch array"),
    pytest.param(b'"text"', "bad_request", -32600, None, id="not an object"),
    pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"ping"}', "bad_request", -32600, None,
                 id="null id"),
    pytest.param(b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', "bad_request", -32600, None,
                 id="float id"),
    pytest.param(b'{"jsonrpc":"2.0","id":true,"method":"ping"}', "bad_request", -32600, None,
                 id="boolean id"),
    pytest.param(b'{"jsonrpc":"2.0","id":77}', "bad_request", -32600, 77, id="no method"),
    pytest.param(b'{"jsonrpc":"2.0","id":77,"method":5}', "bad_request", -32600, 77,
                 id="method of a wrong type"),
    pytest.param(b'{"id":77,"method":"ping"}', "bad_request", -32600, 77, id="no jsonrpc"),
    pytest.param(b'{"jsonrpc":"2.0","id":77,"method":"ping","params":[1]}', "bad_request", -32600,
                 77, id="params of a wrong type"),
    pytest.param(b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{}}', "missing_argument",
                 -32602, 77, id="a call that names no tool"),
    pytest.param(CALL + b"[]}}", "bad_argument", -32602, 77, id="arguments of a wrong type"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "number", "request_id"), BAD_LINES)
async def test_a_bad_line_is_answered_and_the_next_call_works(
    line: bytes, code: str, number: int, request_id: int | None
) -> None:
    service = FakeService()
    async with initialized(service) as client:
        await client.send(line)
        reply = await client.reply()
        result = await client.call("osiris_observe", kind="action")

    assert set(reply) == {"jsonrpc", "id", "error"}
    assert (reply["id"], reply["error"]["code"]) == (request_id, number)
    assert re.fullmatch(rf"error {code}: .+ \| fix: .+", reply["error"]["message"])
    assert code in CODES
    assert result == {"content": [{"type": "text", "text": "ok observe"}], "isError": False}
    assert service.arguments == [{"kind": "action"}]


BAD_CALLS: list[Any] = [
    pytest.param("osiris_fly", {}, "unknown_tool", id="unknown tool"),
    pytest.param("plan", {}, "unknown_tool", id="bare name"),
    pytest.param("osiris_\x1b[2J" + "x" * 300, {}, "unknown_tool", id="a name that paints"),
    pytest.param("osiris_call", {}, "missing_argument", id="dispatch without op"),
    pytest.param("osiris_call", {"op": "fly"}, "unknown_tool", id="dispatch to an unknown op"),
    pytest.param("osiris_call", {"op": "call"}, "unknown_tool", id="dispatch to itself"),
    pytest.param("osiris_call", {"op": ["plan"]}, "bad_argument", id="op of a wrong type"),
    pytest.param("osiris_call", {"op": "plan", "args": []}, "bad_argument", id="args: a list"),
    pytest.param("osiris_call", {"op": "plan", "args": "{}"}, "bad_argument", id="args: a string"),
    pytest.param("osiris_call", {"op": "plan", "mode": "start"}, "unknown_argument",
                 id="dispatch with arguments outside args"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "code"), BAD_CALLS)
async def test_a_bad_call_is_a_tool_error_that_says_what_to_send(
    tool: str, arguments: dict[str, Any], code: str
) -> None:
    service = FakeService()
    async with initialized(service) as client:
        result = await client.call(tool, **arguments)

    text = result["content"][0]["text"]
    assert result["isError"] is True
    assert re.fullmatch(rf"error {code}: .+ \| fix: .+", text)
    assert len(text) < 300
    assert text.isprintable()
    assert service.calls == []


async def test_the_reply_to_an_unknown_tool_names_the_six() -> None:
    async with initialized(FakeService()) as client:
        result = await client.call("osiris_fly")

    assert result["content"][0]["text"] == (
        "error unknown_tool: no tool named 'osiris_fly' | fix: call one of osiris_plan, "
        "osiris_precheck, osiris_observe, osiris_recall, osiris_checkpoint, osiris_handoff"
    )


@pytest.mark.promise("redaction")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("hunter2", {}),
        ("x" * 60 + "hunter2", {}),
        ("osiris_call", {"op": "hunter2"}),
        ("osiris_call", {"hunter2": 1}),
    ],
)
async def test_the_name_of_nothing_is_repeated_without_the_secret_in_it(
    tool: str, arguments: dict[str, Any]
) -> None:
    async with initialized(FakeService()) as client:
        result = await client.call(tool, **arguments)

    text = result["content"][0]["text"]
    assert text.startswith(("error unknown_tool: ", "error unknown_argument: "))
    assert "[[se" in text
    assert "hunt" not in text


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("hunter2", {}),
        ("prompts/get", {"name": "hunter2"}),
        ("prompts/get", {"name": "osiris/task-resume", "arguments": "hunter2"}),
        ("resources/read", {"uri": ["hunter2"]}),
    ],
)
async def test_no_error_of_the_sdk_quotes_a_secret(method: str, params: object) -> None:
    request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    async with initialized(FakeService()) as client:
        await client.send(json.dumps(request).encode())
        reply = await client.reply()

    assert (reply["id"], "error" in reply) == (7, True)
    assert "hunter2" not in json.dumps(reply)


@pytest.mark.parametrize("size", [63 * 1024, 64 * 1024, 65 * 1024, 1024 * 1024, MAX_LINE_BYTES])
async def test_a_large_line_passes_up_to_8_mib(size: int) -> None:
    service = FakeService()
    frame = len(tool_call(5, text=""))
    async with initialized(service) as client:
        await client.send(tool_call(5, text="x" * (size - frame)))
        reply = await client.reply()

    assert reply["id"] == 5
    assert service.arguments == [{"text": "x" * (size - frame)}]


async def test_blank_lines_and_carriage_returns_are_passed_over() -> None:
    async with initialized(FakeService()) as client:
        await client.send_bytes(b"\n \r\n\r\n" + request(5, "ping") + b"\r\n")
        reply = await client.reply()

    assert reply == {"jsonrpc": "2.0", "id": 5, "result": {}}


async def test_a_response_nobody_waits_for_is_dropped_without_a_word() -> None:
    async with initialized(FakeService()) as client:
        await client.send(
            b'{"jsonrpc":"2.0","id":99,"result":{}}',
            b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
            b'{"jsonrpc":"2.0","result":5}',
            request(5, "ping"),
        )
        reply = await client.reply()

    assert reply["id"] == 5
