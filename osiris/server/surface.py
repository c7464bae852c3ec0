"""What an owner needs of the MCP surface, in one import."""

from osiris.server.connection import Connection, Host, Peer
from osiris.server.listen import serve_socket

__all__ = ["Connection", "Host", "Peer", "serve_socket"]
