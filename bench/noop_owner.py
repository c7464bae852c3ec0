"""An owner that answers every tool call at once: the price of the transport and nothing else.

Lock, socket, connection and SDK are those of the real owner; behind them is no runtime.
"""

import sys
from contextlib import closing

import trio

from osiris import __version__, config
from osiris.endpoints import Endpoints
from osiris.home import Home, resolve
from osiris.lock import OwnerLock
from osiris.server.connection import Host, Peer
from osiris.server.listen import serve_mcp
from osiris.service import Answer, Ask, Caller, Turn

ANSWER = Answer("allow=yes verdict=none")
NONCE = "0" * 32


class NoopService:
    """Implements `osiris.service.Service` without doing anything."""

    async def call(self, caller: Caller, ask: Ask, turn: Turn) -> Answer:
        del caller, ask
        await turn.wait()
        turn.done()
        return ANSWER

    async def read_resource(self, caller: Caller, uri: str) -> Answer:
        del caller, uri
        await trio.lowlevel.checkpoint()
        return ANSWER

    def clean(self, text: str) -> str:
        return text

    def listed(self, caller: Caller, schemas: str, instructions: str) -> None:
        del caller, schemas, instructions


async def serve(home: Home, lock: OwnerLock) -> None:
    """Answer until the process is ended."""
    endpoints = Endpoints(home, lock)
    settings = config.load(home).settings
    host = Host(NoopService(), settings, lambda: NONCE, stopping=trio.Event())
    with closing(endpoints.listen("mcp")) as sock:
        endpoints.publish(__version__)
        await serve_mcp(sock, host, lambda _: Peer(principal="owner", is_own_user=True))


def main() -> int:
    home = resolve()
    home.make()
    lock = OwnerLock(home.lock_path)
    if not lock.acquire():
        return 1
    trio.run(serve, home, lock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
