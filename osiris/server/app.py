"""The MCP server object: which handler answers what."""

from functools import cache

import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server

from osiris import __version__
from osiris.server import documents
from osiris.server.calls import Tools
from osiris.server.tools import Flavour, instructions

LIST_TTL_MS = 3_600_000  # lists never change while an owner of this version runs

_LISTS: tuple[CacheableMethod, ...] = (
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
)


@cache
def build_server(flavour: Flavour) -> Server[dict[str, object]]:
    """Return the server that every connection of this flavour shares."""
    tools = Tools(flavour)
    server: Server[dict[str, object]] = Server(
        "osiris",
        version=__version__,
        title="OSIRIS",
        instructions=instructions(flavour),
        cache_hints={method: CacheHint(LIST_TTL_MS, "private") for method in _LISTS},
        on_list_tools=tools.list,
        on_list_resources=documents.list_resources,
        on_list_resource_templates=documents.list_templates,
        on_read_resource=documents.read_resource,
        on_list_prompts=documents.list_prompts,
        on_get_prompt=documents.get_prompt,
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, tools.call)
    server.middleware.clear()  # its one entry opens a tracing span a message, for nobody
    return server
