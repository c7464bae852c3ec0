"""What the owner of a home binds and publishes. Standard library only.

Rule 1: nothing is bound, replaced or removed except by the process that holds the lock.
Rule 2: a Unix socket is 0600 in a 0700 folder from its first moment; loopback TCP asks for a
        token that is new with each owner.
Rule 3: clients read `run/owner.json`, which appears whole or not at all.
Rule 4: `withdraw` comes before the lock's release: the next owner finds nothing of the last.
"""
# ruff: noqa: PTH105, PTH108, PTH120, PTH123 (paths are text: see osiris.home)

import contextlib
import hmac
import os
import secrets
import socket
import stat
import struct
import sys
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Literal, Protocol

from osiris.home import Home, HomeError, OwnerRecord, private_dir
from osiris.lock import OwnerLock

if TYPE_CHECKING:
    from osiris.home import Kind

Transport = Literal["auto", "unix", "tcp"]

_BACKLOG = 128
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1  # <sys/un.h> of macOS and the BSDs


class Peer(Protocol):
    """The part of a socket that says who is at the other end."""

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


def peer_uid(sock: Peer) -> int | None:
    """Return the user at the other end of a Unix socket; None where nobody can say."""
    try:
        if sys.platform == "linux":
            raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            return int(struct.unpack("3i", raw)[1])
        if sys.platform != "win32":
            raw = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
            return int(struct.unpack_from("2I", raw)[1])
    except (OSError, struct.error):
        return None
    return None


def is_own_user(sock: Peer) -> bool:
    """Say whether the process at the other end of a Unix socket runs as this user."""
    return sys.platform != "win32" and peer_uid(sock) == os.getuid()


class Endpoints:
    """The listeners of one owner; where `is_tcp`, each client has to pass `accepts`."""

    def __init__(self, home: Home, lock: OwnerLock, transport: Transport = "auto") -> None:
        """Forget what a dead owner published. The lock must be held."""
        if not lock.held:
            raise RuntimeError("an owner takes the lock before it binds")
        self._home = home
        self._lock = lock
        self.is_tcp = transport == "tcp" or not hasattr(socket, "AF_UNIX")
        self._token = ""
        self._published: dict[str, str] = {}
        _remove(home.record_path)
        _remove(home.token_path)

    def listen(self, kind: "Kind") -> socket.socket:
        """Return a listening socket, or raise `HomeError`."""
        sock, endpoint = self._listen_tcp() if self.is_tcp else self._listen_unix(kind)
        self._published[kind] = endpoint
        return sock

    def add(self, name: str, endpoint: str) -> None:
        """Publish a listener that the caller binds, such as `http` at `tcp:127.0.0.1:8765`."""
        self._published[name] = endpoint

    def publish(self, version: str) -> OwnerRecord:
        """Write `run/owner.json`: from now on clients find the owner."""
        record = OwnerRecord(
            pid=os.getpid(),
            version=version,
            endpoints=dict(self._published),
            started_ms=time.time_ns() // 1_000_000,
            boot=_boot_id(),
            home=self._home.root,
        )
        _write(self._home.record_path, record.to_json())
        return record

    def withdraw(self) -> None:
        """Remove what was published, unless the home has meanwhile been given to another owner."""
        if not self._lock.is_intact():
            return
        _remove(self._home.record_path)
        _remove(self._home.token_path)
        for endpoint in self._published.values():
            scheme, _, where = endpoint.partition(":")
            if scheme == "unix":
                _remove(where)

    def accepts(self, token: str | None) -> bool:
        """Say whether a client that came over TCP knows the token."""
        return bool(self._token) and hmac.compare_digest(
            self._token.encode(), (token or "").encode()
        )

    def _listen_unix(self, kind: "Kind") -> tuple[socket.socket, str]:
        path = self._home.socket_path(kind)
        private_dir(os.path.dirname(path))
        _clear(path)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _umask(0o177):
                sock.bind(path)
            sock.listen(_BACKLOG)
        except OSError as error:
            sock.close()
            raise HomeError(
                f"{path}: {error.strerror}", "set OSIRIS_TRANSPORT=tcp or another OSIRIS_HOME"
            ) from error
        return sock, f"unix:{path}"

    def _listen_tcp(self) -> tuple[socket.socket, str]:
        if not self._token:
            self._token = secrets.token_hex(32)
            _write(self._home.token_path, self._token.encode())
        sock = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        host, port = sock.getsockname()
        return sock, f"tcp:{host}:{port}"


@contextlib.contextmanager
def _umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _clear(path: str) -> None:
    """Remove a dead owner's socket, and nothing else."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISSOCK(mode) or stat.S_ISLNK(mode)):
        raise HomeError(f"{path} is no socket", "move it away")
    os.unlink(path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _write(path: str, data: bytes) -> None:
    """Replace a private file in one step."""
    draft = f"{path}.{os.getpid()}"
    _remove(draft)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
    os.replace(draft, path)


def _boot_id() -> str:
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
