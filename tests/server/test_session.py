import json
import socket
from typing import Any

import pytest
import trio
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent
from trio.testing import MockClock, memory_stream_pair

from osiris import config
from osiris.server.connection import Connection, Peer
from osiris.server.listen import serve_mcp
from osiris.server.session import client_name
from osiris.server.tools import instructions, schemas_json
from osiris.service import Answer, Ask, Caller
from tests.server.fake_service import FakeService
from tests.server.raw_client import (
    ENVELOPE,
    NONCE,
    OWN,
    RawClient,
    connected,
    initialized,
    new_host,
    request,
    tool_call,
)
from tests.server.sdk_client import sdk_client

ERAS = ["legacy", "2026-07-28"]
HELLO: dict[str, Any] = {"version": "0.1.0", "nonce": "cd" * 16, "pid": 4711}


def hello_line(**more: Any) -> bytes:
    return json.dumps({"osiris": 1, "hello": {**HELLO, **more}}).encode()


def knows_token(token: str | None) -> bool:
    return token == "right"


def everyone(_stream: trio.SocketStream) -> Peer | None:
    return OWN


def nobody(_stream: trio.SocketStream) -> Peer | None:
    return None


@pytest.mark.parametrize("era", ERAS)
async def test_the_sdk_client_lists_calls_reads_and_resumes_in_both_eras(era: str) -> None:
    service = FakeService()
    async with sdk_client(new_host(service), era) as client:
        tools = await client.list_tools()
        result = await client.call_tool("osiris_plan", {"mode": "start", "objective": "x"})
        templates = await client.list_resource_templates()
        document = await client.read_resource("osiris://task/7c3f/manifest")
        prompts = await client.list_prompts()
        prompt = await client.get_prompt("osiris/task-resume", {"task": "7c3f"})

    assert [tool.name for tool in tools.tools][:2] == ["osiris_plan", "osiris_precheck"]
    assert [tool.title for tool in tools.tools][:2] == ["osiris.plan", "osiris.precheck"]
    assert result.content == [TextContent(type="text", text="ok plan")]
    assert result.structured_content is None
    assert [template.uri_template for template in templates.resource_templates] == [
        "osiris://task/{id}/manifest",
        "osiris://task/{id}/status",
        "osiris://ref/{ref}",
    ]
    assert document.contents[0].text == "content of osiris://task/7c3f/manifest for mcp"  # type: ignore[union-attr]  # text was asked for
    assert [prompt.name for prompt in prompts.prompts] == ["osiris/task-resume"]
    assert isinstance(prompt.messages[0].content, TextContent)
    assert prompt.messages[0].content.text.endswith("\n\nok checkpoint")
    assert [(ask.tool, dict(ask.arguments)) for _, ask in service.calls] == [
        ("plan", {"mode": "start", "objective": "x"}),
        ("checkpoint", {"mode": "resume", "task": "7c3f"}),
    ]
    assert service.calls[0][0] == Caller(NONCE, "mcp", "uid:1000", "", ())


@pytest.mark.parametrize(("era", "number"), [("legacy", -32002), ("2026-07-28", -32602)])
async def test_a_document_that_cannot_be_had_says_why(era: str, number: int) -> None:
    async with sdk_client(new_host(FakeService()), era) as client:
        with pytest.raises(MCPError) as resource:
            await client.read_resource("osiris://ref/unknown")
        with pytest.raises(MCPError) as prompt:
            await client.get_prompt("osiris/other")

    assert resource.value.error.code == number
    assert resource.value.error.message.startswith("error unknown_ref: ")
    assert prompt.value.error.message.startswith("error not_found: no prompt named 'osiris/other'")


async def test_both_eras_say_who_serves_and_what_the_model_should_know() -> None:
    async with connected(new_host(FakeService())) as client:
        handshake = (await client.initialize())["result"]
    async with connected(new_host(FakeService())) as client:
        discovery = (await client.ask("server/discover", {"_meta": ENVELOPE}))["result"]

    assert handshake["serverInfo"]["name"] == "osiris"
    assert handshake["serverInfo"]["version"]
    assert handshake["instructions"] == discovery["instructions"] == instructions("portable")
    assert discovery["supportedVersions"] == ["2026-07-28"]
    assert (discovery["cacheScope"], discovery["ttlMs"]) == ("private", 3_600_000)
    assert discovery["capabilities"]["tools"] == {"listChanged": False}


async def test_a_call_without_handshake_names_its_client_itself() -> None:
    service = FakeService()
    async with connected(new_host(service)) as client:
        params = {"name": "osiris_plan", "arguments": {}, "_meta": ENVELOPE}
        result = (await client.ask("tools/call", params))["result"]

    assert result["content"] == [{"type": "text", "text": "ok plan"}]
    assert result["resultType"] == "complete"
    assert service.calls[0][0].client == "modern-client"
    assert service.calls[0][0].agent == "modern-client-abab"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("claude-code", "claude-code"),
        ("Claude Code (beta)", "Claude-Code-beta"),
        ("a" * 40, "a" * 32),
        ('x"} evil\n\x1b[2J', "x-evil-2J"),
        ("\u202eabc", "abc"),
        ("", ""),
    ],
)
def test_a_client_name_becomes_a_short_label(given: str, name: str) -> None:
    assert client_name(given) == name


async def test_listing_tools_is_charged_once_a_connection() -> None:
    service = FakeService()
    async with initialized(service) as client:
        await client.ask("tools/list")
        await client.ask("tools/list")
    async with initialized(service):
        pass

    caller = Caller(NONCE, "raw-client", "uid:1000", "")
    assert service.listings == [(caller, schemas_json("portable"), instructions("portable"))]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"OSIRIS_TOOL_NAMES": "dotted"}, ["osiris.plan", "osiris.precheck", "osiris.observe"]),
        ({"OSIRIS_DISPATCH_ONLY": "1"}, ["osiris_call"]),
        ({}, ["osiris_plan", "osiris_precheck", "osiris_observe"]),
    ],
)
async def test_a_hello_decides_what_its_connection_lists(
    settings: dict[str, str], names: list[str]
) -> None:
    service = FakeService()
    async with connected(new_host(service)) as client:
        await client.send(hello_line(settings=settings))
        await client.initialize()
        listed = (await client.ask("tools/list"))["result"]["tools"]
        await client.call("osiris.plan", mode="status")
        await client.call("osiris_call", op="osiris.recall", args={"op": "grep"})

    assert [tool["name"] for tool in listed][:3] == names
    assert [(ask.tool, dict(ask.arguments)) for _, ask in service.calls] == [
        ("plan", {"mode": "status"}),
        ("recall", {"op": "grep"}),
    ]
    assert service.calls[0][0].nonce == "cd" * 16


async def test_the_cache_and_prune_settings_of_a_hello_come_with_each_of_its_calls() -> None:
    service = FakeService()
    settings = {"OSIRIS_CACHE_TTL_S": "3600", "OSIRIS_PRUNE_THRESHOLD_TOKENS": "9000"}
    async with connected(new_host(service)) as client:
        await client.send(hello_line(settings=settings))
        await client.initialize()
        await client.call("osiris_plan", mode="status")

    [(caller, _)] = service.calls
    assert (caller.cache_ttl_s, caller.prune_threshold_tokens) == (3_600, 9_000)


@pytest.mark.parametrize("op", ["observe", "osiris_observe", "osiris.observe"])
async def test_the_dispatch_tool_understands_every_spelling(op: str) -> None:
    service = FakeService()
    async with initialized(service) as client:
        await client.call("osiris_call", op=op)

    assert [(ask.tool, dict(ask.arguments)) for _, ask in service.calls] == [("observe", {})]


async def test_a_stranger_s_hello_changes_no_setting() -> None:
    service = FakeService()
    stranger = Peer("uid:1001", is_own_user=False)
    async with connected(new_host(service), stranger) as client:
        await client.send(
            hello_line(settings={"OSIRIS_DISPATCH_ONLY": "1", "OSIRIS_ROOTS": "/etc"})
        )
        await client.initialize()
        listed = (await client.ask("tools/list"))["result"]["tools"]
        await client.call("osiris_plan")

    assert len(listed) == 6
    assert service.calls[0][0].roots == ()
    assert service.calls[0][0].principal == "uid:1001"


async def test_a_hello_given_by_the_process_itself_is_not_read_from_the_stream() -> None:
    service = FakeService()
    hello = config.Hello(**HELLO, settings={"OSIRIS_DISPATCH_ONLY": "1"})
    async with connected(new_host(service), OWN, hello) as client:
        await client.initialize()
        listed = (await client.ask("tools/list"))["result"]["tools"]

    assert [tool["name"] for tool in listed] == ["osiris_call"]


@pytest.mark.parametrize(
    "first_line",
    [
        hello_line(nonce="short"),
        hello_line(settings=["OSIRIS_ROOTS"]),
        json.dumps({"osiris": 2, "hello": HELLO}).encode(),
        b'{"osiris":1}',
    ],
)
async def test_a_broken_hello_is_answered_and_the_connection_closed(first_line: bytes) -> None:
    async with connected(new_host(FakeService())) as client:
        await client.send(first_line)
        reply = await client.reply()
        with pytest.raises(EOFError):
            await client.reply()

    assert reply["error"]["code"] == -32600
    assert reply["error"]["message"].startswith("error bad_hello: ")


@pytest.mark.parametrize(
    ("first_line", "request_id"),
    [
        (hello_line(), None),
        (hello_line(token="wrong"), None),
        (request(3, "server/discover", {"_meta": ENVELOPE}), 3),
    ],
)
async def test_without_the_token_nothing_is_served(first_line: bytes, request_id: int) -> None:
    service = FakeService()
    async with connected(new_host(service, accepts=knows_token)) as client:
        await client.send(first_line, tool_call(4))
        reply = await client.reply()
        with pytest.raises(EOFError):
            await client.reply()

    assert reply["id"] == request_id
    assert reply["error"]["message"].startswith("error bad_hello: the first line carries no valid")
    assert service.calls == []


async def test_with_the_token_the_connection_is_served() -> None:
    async with connected(new_host(FakeService(), accepts=knows_token)) as client:
        await client.send(hello_line(token="right"))

        assert (await client.initialize())["result"]["serverInfo"]["name"] == "osiris"


async def test_a_client_that_proves_nothing_is_sent_away(autojump_clock: MockClock) -> None:
    async with connected(new_host(FakeService(), accepts=bool)) as client:
        reply = await client.reply(within_s=11)

    assert reply["error"]["message"].startswith("error bad_hello: no hello came within 10 s | fix:")
    assert autojump_clock.autojump_threshold == 0


async def test_a_crash_of_one_connection_touches_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(*_arguments: object) -> bytes:
        await trio.lowlevel.checkpoint()
        raise OSError(5, "planted-secret")

    broken, _ = memory_stream_pair()
    broken.receive_some = fail  # type: ignore[method-assign, assignment]  # a stream that fails in its own way
    service = FakeService()
    async with initialized(service) as client:
        await Connection(broken, new_host(service), OWN).run()
        result = await client.call("osiris_plan")

    assert result["isError"] is False
    assert "a connection failed: OSError at " in caplog.text
    assert "planted-secret" not in caplog.text


def listening() -> tuple[socket.socket, tuple[str, int]]:
    sock = socket.create_server(("127.0.0.1", 0))
    return sock, sock.getsockname()


async def client_of(address: tuple[str, int]) -> RawClient:
    return RawClient(await trio.open_tcp_stream(*address))


async def test_a_stopping_owner_lets_calls_finish_and_accepts_no_more() -> None:
    under_way, finish = trio.Event(), trio.Event()

    async def reply(_ask: Ask) -> Answer:
        under_way.set()
        await finish.wait()
        return Answer("finished")

    sock, address = listening()
    host = new_host(FakeService(reply))
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            await nursery.start(serve_mcp, sock, host, everyone)
            client, idle = await client_of(address), await client_of(address)
            await client.initialize()
            await idle.initialize()
            await client.send(tool_call(10))
            await under_way.wait()
            host.stopping.set()
            with pytest.raises(EOFError):
                await idle.reply()
            with pytest.raises(OSError, match="connect"):
                await client_of(address)
            finish.set()
            reply_line = await client.reply()
            with pytest.raises(EOFError):
                await client.reply()
        await client.leave()
        await idle.leave()

    assert reply_line["result"]["content"][0]["text"] == "finished"


async def test_a_peer_that_may_not_come_in_is_closed_unread() -> None:
    sock, address = listening()
    host = new_host(FakeService())
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            await nursery.start(serve_mcp, sock, host, nobody)
            client = await client_of(address)
            with pytest.raises(EOFError):
                await client.reply()
            await client.leave()
            host.stopping.set()
