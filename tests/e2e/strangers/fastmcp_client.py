"""fastmcp's client on strings: one JSON question a line on stdin, one JSON answer a line on stdout.

It says first which protocol version it speaks, and leaves in order at the end of stdin.
"""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp_types import Implementation


async def main(settings: dict[str, Any]) -> None:
    command, *args = settings["command"]
    transport = StdioTransport(command, args, cwd=settings["cwd"], keep_alive=False)
    info = Implementation(name=settings["name"], version="1")
    async with Client(transport, client_info=info, mode=settings["era"]) as client:
        say({"version": client.protocol_version})
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            say(await result(client, asked) if "call" in asked else await names(client))


async def names(client: Client) -> dict[str, Any]:
    return {"names": [tool.name for tool in await client.list_tools()]}


async def result(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    found = await client.call_tool_mcp(asked["call"], asked["arguments"])
    shape: list[str] = [part.type for part in found.content]
    if found.structured_content is not None:
        shape.append("structured")
    text = "\n".join(part.text for part in found.content if part.type == "text")
    return {"text": text, "is_error": bool(found.is_error), "shape": shape}


def say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
