"""Where a home is and what lies in it. Standard library only.

Rule 1: nothing here is slow to import: every client pays for it before its first byte.
Rule 2: directories are 0700 and belong to this user, whatever the umask.
Rule 3: a home has one name, its real path: the socket's place is computed from it.
Rule 4: settings of one connection travel in its hello, never in a shared owner's environment.
"""
# ruff: noqa: PTH101, PTH103, PTH111, PTH112, PTH118, PTH123
# (pathlib would take 3 of the 30 ms that a client needs to start)

import json
import os
import stat
import sys
from collections.abc import Mapping

from osiris.lock import is_locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal["mcp", "doors"]

# what a client may decide for its own connection
CONNECTION_KEYS = (
    "OSIRIS_ROOTS",
    "OSIRIS_CACHE_TTL_S",
    "OSIRIS_PRUNE_THRESHOLD_TOKENS",
    "OSIRIS_DISPATCH_ONLY",
    "OSIRIS_TOOL_NAMES",
)
SOCKET_PATH_MAX = 107 if sys.platform == "linux" else 103  # sun_path without its final NUL

_SOCKETS = {"mcp": "osiris.sock", "doors": "doors.sock"}
_RECORD_MAX = 65_536


class HomeError(Exception):
    """The home cannot be used: `what` is wrong, `fix` mends it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what} | fix: {fix}")
        self.what = what
        self.fix = fix


class OwnerRecord:
    """What an owner says of itself; `endpoints` maps names to `unix:PATH` or `tcp:HOST:PORT`.

    `home` is the folder it holds, empty if it does not say: in a copy of that folder it holds none.
    """

    __slots__ = ("boot", "endpoints", "home", "pid", "started_ms", "version")

    def __init__(
        self,
        pid: int,
        version: str,
        endpoints: Mapping[str, str],
        started_ms: int,
        boot: str,
        home: str = "",
    ) -> None:
        self.pid = pid
        self.version = version
        self.endpoints = endpoints
        self.started_ms = started_ms
        self.boot = boot
        self.home = home

    def is_same(self, other: "OwnerRecord") -> bool:
        return (self.pid, self.started_ms) == (other.pid, other.started_ms)

    def to_json(self) -> bytes:
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()


def parse_record(raw: bytes) -> OwnerRecord | None:
    """Read an owner's record; None if it is not one."""
    try:
        said: dict[str, Any] = json.loads(raw)
        endpoints = {str(name): str(where) for name, where in said["endpoints"].items()}
        return OwnerRecord(
            pid=int(said["pid"]),
            version=str(said["version"]),
            endpoints=endpoints,
            started_ms=int(said["started_ms"]),
            boot=str(said["boot"]),
            home=str(said.get("home", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def private_dir(path: str) -> None:
    """Make `path` a folder that only this user may enter, or raise `HomeError`."""
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            raise HomeError(f"{path} is not a folder", "move it away")
        if sys.platform != "win32" and found.st_uid != os.getuid():
            raise HomeError(f"{path} belongs to another user", "set OSIRIS_HOME to your own folder")
        os.chmod(path, 0o700)
    except OSError as error:
        what = f"{error.filename or path}: {error.strerror}"
        raise HomeError(what, "set OSIRIS_HOME to a folder that can be written") from error


def is_own(path: str) -> bool:
    """Say whether `path` exists and belongs to this user."""
    try:
        return sys.platform == "win32" or os.lstat(path).st_uid == os.getuid()
    except OSError:
        return False


class Home:
    """The folder that one owner holds."""

    def __init__(self, root: str) -> None:
        """Take the folder `root`; `~` is expanded and symbolic links are followed."""
        expanded = os.path.expanduser(root)
        if expanded.startswith("~"):
            raise HomeError(f"{root} names no folder", "set OSIRIS_HOME to an absolute path")
        self.root = os.path.realpath(expanded)
        self.run_dir = os.path.join(self.root, "run")
        self.log_dir = os.path.join(self.root, "log")
        self.store_dir = os.path.join(self.root, "store")
        self.reports_dir = os.path.join(self.root, "reports")
        self.config_path = os.path.join(self.root, "config.toml")
        self.lock_path = os.path.join(self.run_dir, "owner.lock")
        self.record_path = os.path.join(self.run_dir, "owner.json")
        self.token_path = os.path.join(self.run_dir, "token")
        self.heir_path = os.path.join(self.run_dir, "heir")
        self.log_path = os.path.join(self.log_dir, "owner.log")

    def make(self) -> None:
        """Create what is missing, or raise `HomeError`. An existing root keeps its mode."""
        if not os.path.isdir(self.root):
            private_dir(self.root)
        for path in (self.run_dir, self.log_dir, self.store_dir, self.reports_dir):
            private_dir(path)

    def socket_path(self, kind: "Kind") -> str:
        """Return the Unix socket's place: `run/`, or a hashed folder if that is too long."""
        path = os.path.join(self.run_dir, _SOCKETS[kind])
        return path if _fits(path) else os.path.join(_runtime_dir(self.root), _SOCKETS[kind])

    def record(self) -> OwnerRecord | None:
        """Return what the last owner published; it may be dead. That of another home is none."""
        raw = _read(self.record_path)
        record = None if raw is None else parse_record(raw)
        return record if record and record.home in ("", self.root) else None

    def token(self) -> str | None:
        """Return what a client says first over TCP."""
        raw = _read(self.token_path)
        return None if raw is None else raw.decode("ascii", "replace").strip()

    def is_owned(self) -> bool:
        """Say whether a living process holds this home."""
        return is_locked(self.lock_path)


def resolve(environ: Mapping[str, str] = os.environ) -> Home:
    """Return the home that the environment names, `~/.osiris` by default."""
    return Home(environ.get("OSIRIS_HOME") or "~/.osiris")


def connection_settings(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the settings a client sends in its hello, as they were given."""
    return {key: environ[key] for key in CONNECTION_KEYS if key in environ}


def working_folder() -> str:
    """Return the folder this process was started in; empty if it is gone."""
    try:
        return os.getcwd()  # noqa: PTH109  see above
    except OSError:
        return ""


def owner_environ(home: Home, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment for an owner that a client starts (rule 4)."""
    kept = {key: value for key, value in environ.items() if key not in CONNECTION_KEYS}
    return kept | {"OSIRIS_HOME": home.root}


def _fits(path: str) -> bool:
    return len(os.fsencode(path)) <= SOCKET_PATH_MAX


def _runtime_dir(root: str) -> str:
    import hashlib  # noqa: PLC0415  4 ms, and few paths are that long
    import tempfile  # noqa: PLC0415  same

    name = f"osiris-{hashlib.sha256(os.fsencode(root)).hexdigest()[:24]}"
    bases = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir())
    places = [os.path.join(base, name) for base in bases if os.path.isdir(base)]
    fitting = [place for place in places if _fits(os.path.join(place, "osiris.sock"))]
    if not fitting:
        raise HomeError("no folder is short enough for a socket", "set OSIRIS_TRANSPORT=tcp")
    return fitting[0]


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(_RECORD_MAX)
    except OSError:
        return None
