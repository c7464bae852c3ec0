"""The SDK's own client as one of the strangers."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp_types import TextContent

from osiris.server.sdk_client import Era, ToolCaller, connected
from tests.e2e.real_home import RealHome
from tests.e2e.session_script import Reply, Stranger


class _Sdk:
    def __init__(self, caller: ToolCaller) -> None:
        self.version = caller.protocol_version
        self._caller = caller

    async def names(self) -> list[str]:
        schemas, _ = await self._caller.listing()
        return [tool["name"] for tool in json.loads(schemas)]

    async def call(self, name: str, arguments: dict[str, Any]) -> Reply:
        result = await self._caller.result(name, arguments)
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        shape: list[str] = [part.type for part in result.content]
        if result.structured_content is not None:
            shape.append("structured")
        return Reply(text, bool(result.is_error), tuple(shape))


@asynccontextmanager
async def sdk_client(home: RealHome, era: Era, project: Path) -> AsyncGenerator[Stranger]:
    """Yield the SDK's client, connected from a project in the era asked for."""
    async with connected(home.command(), {}, str(project), name="session", era=era) as caller:
        yield _Sdk(caller)
