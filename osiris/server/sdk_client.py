"""The SDK's own client over stdio, for the demo and for tests of ourselves."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Implementation, TextContent

Era = Literal["legacy", "2026-07-28", "auto"]


class ToolCaller:
    """An agent's side of one connection."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def protocol_version(self) -> str:
        """The version that both sides speak."""
        return self._client.protocol_version

    async def result(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Return all of one tool call's result."""
        result = await self._client.call_tool(tool, dict(arguments))
        assert isinstance(result, CallToolResult)
        return result

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """Return (text, is_error) of one tool call."""
        result = await self.result(tool, arguments)
        texts = [part.text for part in result.content if isinstance(part, TextContent)]
        return "\n".join(texts), bool(result.is_error)

    async def listing(self) -> tuple[str, str]:
        """Return what a model reads at the start: the schemas as JSON, and the instructions."""
        found = await self._client.list_tools()
        shown = [
            {"name": t.name, "description": t.description, "inputSchema": t.input_schema}
            for t in found.tools
        ]
        return msgspec.json.encode(shown).decode(), self._client.instructions or ""


@asynccontextmanager
async def connected(
    command: tuple[str, ...], env: Mapping[str, str], cwd: str, *, name: str, era: Era = "auto"
) -> AsyncGenerator[ToolCaller]:
    """Start `command`, connect in the given protocol era as client `name`, leave in order."""
    server = StdioServerParameters(
        command=command[0], args=list(command[1:]), env=dict(env), cwd=cwd
    )
    info = Implementation(name=name, version="1")
    async with Client(server, client_info=info, mode=era) as client:
        yield ToolCaller(client)
