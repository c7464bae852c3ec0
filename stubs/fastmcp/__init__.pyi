from collections.abc import Mapping
from typing import Any, Self

from mcp_types import CallToolResult, Implementation, Tool

from fastmcp.client.transports import StdioTransport

class Client:
    protocol_version: str | None

    def __init__(
        self, transport: StdioTransport, *, client_info: Implementation, mode: str
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exc: object) -> None: ...
    async def list_tools(self) -> list[Tool]: ...
    async def call_tool_mcp(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult: ...
