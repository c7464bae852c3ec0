"""What one connection is to the surface: who calls, what was listed, which call this is."""

import re

import msgspec

from osiris.config import Connection
from osiris.server.turnstile import Ticket
from osiris.service import Caller, Service

CLIENT_CHARS = 32

_FOREIGN = re.compile(r"[^A-Za-z0-9._-]+")


class Session:
    """One connection. `principal` is who the operating system says is at the other end."""

    def __init__(self, service: Service, terms: Connection, principal: str) -> None:
        self.service = service
        self._caller = Caller(
            terms.nonce,
            "",
            principal,
            terms.project_id,
            terms.roots,
            root=terms.project_root,
            cwd=terms.cwd,
            cache_ttl_s=terms.cache_ttl_s,
            prune_threshold_tokens=terms.prune_threshold_tokens,
        )
        self._is_listed = False

    def caller(self, client: str) -> Caller:
        """Return who calls; `client` is the name the client gives itself, in this request's era."""
        name = client_name(client)
        if name != self._caller.client:
            self._caller = msgspec.structs.replace(self._caller, client=name)
        return self._caller

    def listed(self, caller: Caller, schemas: str, instructions: str) -> None:
        """Charge the listing, the first time."""
        if not self._is_listed:
            self._is_listed = True
            self.service.listed(caller, schemas, instructions)


class Seat(msgspec.Struct, frozen=True):
    """What a handler finds in `ctx.request`: its connection and, for a tool call, its place."""

    session: Session
    ticket: Ticket | None


def client_name(given: str) -> str:
    """Return a client's name as a label: its letters, digits, dots and dashes, 32 at most."""
    return _FOREIGN.sub("-", given[:256]).strip("-")[:CLIENT_CHARS]
