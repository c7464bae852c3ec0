"""How a client reaches the owner of a home, starting one if there is none. Standard library only.

Rule 1: `run/owner.json` says where the owner listens; without it the Unix socket has its place.
Rule 2: a loopback port is believed only while a process holds the lock: a dead owner's port may
        belong to anyone.
Rule 3: any number of processes may start an owner at once. The lock lets one through, the others
        exit 0, and all starters connect to the winner.
Rule 4: a dying owner's socket still takes connections for a moment. Who has just lost one to it
        waits for the next owner's record before it believes another.
Rule 5: an owner that fails says why in `log/owner.log`; its last line becomes the error.
Rule 6: where a newer version is to own the home next, it is left to that one for a moment.
"""
# ruff: noqa: PTH120, PTH123, PTH202, PTH105 (pathlib: see osiris.home)

import os
import re
import socket
import sys
import threading
import time
from collections.abc import Sequence

from osiris import __version__
from osiris.home import Home, HomeError, OwnerRecord, is_own, owner_environ
from osiris.succession import HEIR_S, heir, is_newer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

    from osiris.home import Kind

SERVE = (sys.executable, "-P", "-m", "osiris", "serve")

_DIAL_S = 2.0
_DYING_S = 0.5
_PAUSE_S, _PAUSE_MAX_S = 0.005, 0.1
_STARTS = 3
_LOG_MAX = 1 << 20
_SAY_MAX = 300
_FIX = "run `osiris serve` to see why (also in log/owner.log), then call again"
_ERROR_LINE = re.compile(r"error (\w+: .*) \| fix: (.*)")


class NoOwnerError(HomeError):
    """No owner answered and none could be started."""


def connect(home: Home, kind: "Kind") -> socket.socket | None:
    """Return a blocking socket to the living owner, or None."""
    try:
        return dial(home, kind)
    except (HomeError, OSError, ValueError):
        return None


def dial(home: Home, kind: "Kind") -> socket.socket | None:
    """Return a blocking socket to where the owner listens, or None where nobody may be believed.

    Raises OSError when nobody takes the connection, HomeError and ValueError when there is no such
    place.
    """
    scheme, _, where = _endpoint(home, kind).partition(":")
    if scheme == "unix" and hasattr(socket, "AF_UNIX"):
        return _dial_unix(where)
    if scheme == "tcp" and home.is_owned():
        return _dial_tcp(where)
    return None


def _endpoint(home: Home, kind: "Kind") -> str:
    record = home.record()
    if record and kind in record.endpoints:
        return record.endpoints[kind]
    return f"unix:{home.socket_path(kind)}"


def _dial_unix(path: str) -> socket.socket | None:
    if not is_own(os.path.dirname(path)):
        return None
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(_DIAL_S)
        sock.connect(path)
        sock.settimeout(None)
    except OSError:
        sock.close()
        raise
    return sock


def _dial_tcp(where: str) -> socket.socket | None:
    host, _, port = where.rpartition(":")
    sock = socket.create_connection((host, int(port)), _DIAL_S)
    if sock.getsockname() == sock.getpeername():  # a port nobody listens on can answer itself
        sock.close()
        return None
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def connect_or_start(
    home: Home,
    kind: "Kind",
    deadline_s: float = 10.0,
    serve: Sequence[str] = SERVE,
    *,
    lost: OwnerRecord | None = None,
    version: str = __version__,
) -> socket.socket:
    """Return a blocking socket to the owner, or raise `NoOwnerError` that says why.

    `lost` is the owner whose connection has just ended (rule 4), `version` that of the one that
    would be started (rule 6).
    """
    if lost is None and (sock := connect(home, kind)) is not None:
        return sock
    home.make()
    starter = _Starter(home, serve, version)
    began, pause = time.monotonic(), _PAUSE_S
    while True:
        waited_s = time.monotonic() - began
        if lost is None or waited_s > _DYING_S or _has_successor(home, lost):
            sock = connect(home, kind)
            if sock is not None:
                return sock
        starter.look()
        if waited_s > deadline_s:
            raise starter.late()
        time.sleep(pause * (0.5 + os.urandom(1)[0] / 255))
        pause = min(pause * 1.5, _PAUSE_MAX_S)


def _has_successor(home: Home, lost: OwnerRecord) -> bool:
    record = home.record()
    return record is not None and not record.is_same(lost)


class _Starter:
    """Starts an owner while nobody holds the home, a few times at most."""

    def __init__(self, home: Home, serve: Sequence[str], version: str) -> None:
        self._home = home
        self._serve = serve
        self._version = version
        self._heir_until = time.monotonic() + HEIR_S
        self._left = _STARTS
        self._child: subprocess.Popen[bytes] | None = None
        self._logged = _size(home.log_path)

    def look(self) -> None:
        """Start an owner if one is needed; raise `NoOwnerError` if the last one failed.

        One that was killed from outside (a negative status) says nothing about the next.
        """
        if self._child is not None:
            status = self._child.poll()
            if status is None:
                return
            self._child = None
            if status > 0 or (status < 0 and not self._left):
                raise _failed(f"the owner ended with status {status}", self._said())
        if not self._home.is_owned() and self._left and not self._is_left_to_heir():
            self._left -= 1
            self._child = _start(self._home, self._serve)

    def _is_left_to_heir(self) -> bool:
        return time.monotonic() < self._heir_until and is_newer(heir(self._home), self._version)

    def late(self) -> NoOwnerError:
        record = self._home.record()
        if self._home.is_owned() and record:
            what = f"process {record.pid} holds the home and does not answer"
            return NoOwnerError(what, f"end process {record.pid}, then call again")
        return NoOwnerError(f"the owner did not answer in time: {self._said()}", _FIX)

    def _said(self) -> str:
        try:
            with open(self._home.log_path, "rb") as log:
                log.seek(max(self._logged, _size(self._home.log_path) - 4096))
                lines = log.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return "no log"
        said = [text for line in lines if (text := line.strip())]
        return "".join(c for c in said[-1] if c.isprintable())[:_SAY_MAX] if said else "no word"


def _failed(what: str, said: str) -> NoOwnerError:
    """Return the error for an owner that failed, with the fix of its last line if that has one."""
    line = _ERROR_LINE.fullmatch(said)
    return (
        NoOwnerError(f"{what}: {line[1]}", line[2])
        if line
        else NoOwnerError(f"{what}: {said}", _FIX)
    )


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _start(home: Home, serve: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start an owner that outlives this process."""
    import subprocess  # noqa: PLC0415  3 ms that only the starter of an owner pays

    if _size(home.log_path) > _LOG_MAX:
        os.replace(home.log_path, f"{home.log_path}.1")
    detached: int = 0
    if sys.platform == "win32":
        detached = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    log = os.open(home.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = subprocess.Popen(  # noqa: S603  our own interpreter
            serve,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home.root,
            env=owner_environ(home),
            start_new_session=True,
            creationflags=detached,
        )
    except OSError as error:
        raise NoOwnerError(f"cannot run {serve[0]}: {error.strerror}", _FIX) from error
    finally:
        os.close(log)
    threading.Thread(target=child.wait, daemon=True).start()  # no zombie is left
    return child
