"""What a request handler can know of its request, in either protocol era."""

from typing import Any

from mcp.server.context import ServerRequestContext

from osiris.server.session import Seat
from osiris.service import Caller

Context = ServerRequestContext[Any, Seat]


def seat_of(context: Context) -> Seat:
    """Return the seat the transport gave this request."""
    if context.request is None:
        raise RuntimeError("the transport gave this request no seat")
    return context.request


def caller_of(context: Context) -> Caller:
    """Return who calls: named once by initialize, or by each request of the stateless era."""
    params = context.session.client_params
    return seat_of(context).session.caller(params.client_info.name if params else "")


def request_key(context: Context) -> str:
    """Return the JSON-RPC id with its type: `i:7` is not `s:7`."""
    kind = "s" if isinstance(context.request_id, str) else "i"
    return f"{kind}:{context.request_id}"


def sendable(text: str) -> str:
    """Return `text` without lone surrogates, which no JSON line can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
