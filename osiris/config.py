"""Settings and where each came from: defaults < config.toml < environment < a connection's hello.

Rule 1: every value passes the one parser of its key, wherever it comes from. What a parser
        refuses is reported, and the value below it stands.
Rule 2: no roots means no files. `@project` and relative roots are never the home folder or
        anything above it: clients start servers in `/`, and dotfiles make a home a repository.
Rule 3: a hello decides for its own connection alone, and only if the owner's user sent it.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from osiris.core import canon
from osiris.home import CONNECTION_KEYS, Home
from osiris.values import MAY_BE_EMPTY, PARSERS

PROJECT = "@project"
CONFIG_MAX = 1 << 20

ToolNames = Literal["portable", "dotted"]
Transport = Literal["auto", "unix", "tcp"]
LogLevel = Literal["debug", "info", "warning", "error"]


class Problem(msgspec.Struct, frozen=True):
    """What is wrong with one setting; a warning unless `is_error`."""

    code: Literal["bad_config", "bad_setting", "bad_hello", "unknown_setting"]
    key: str
    what: str
    fix: str
    is_error: bool = True

    def text(self) -> str:
        return (
            f"{'error' if self.is_error else 'warning'} {self.code}: {self.what} | fix: {self.fix}"
        )


class Settings(msgspec.Struct, frozen=True):
    """What holds for the owner, and for a connection whose hello says nothing else.

    `roots` stand as they were given. Budgets are amounts such as `tokens=1000000 usd=20`,
    empty = no ceiling. `http`, `tcp` and `metrics` are HOST:PORT, empty = off;
    `idle_exit_s` 0 = never.
    """

    home: str
    roots: tuple[str, ...] = ()
    cache_ttl_s: int = 300
    prune_threshold_tokens: int = 40_000
    dispatch_only: bool = False
    tool_names: ToolNames = "portable"
    transport: Transport = "auto"
    idle_exit_s: int = 900
    budget_day: str = ""
    budget_project: str = ""
    budget_agent: str = ""
    force_network_fs: bool = False
    http: str = ""
    tcp: str = ""
    metrics: str = ""
    log_level: LogLevel = "info"


class Loaded(msgspec.Struct, frozen=True):
    """Settings, the origin of each ("default", "config.toml", "OSIRIS_..."), and what was wrong."""

    settings: Settings
    origins: Mapping[str, str]
    problems: tuple[Problem, ...] = ()


class Hello(msgspec.Struct, frozen=True):
    """The first line of a bridge. `settings` are as the client's environment had them."""

    version: str
    nonce: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    pid: int = 0
    cwd: str = ""
    settings: dict[str, str] = {}
    token: str | None = None


class Connection(msgspec.Struct, frozen=True):
    """What holds for one connection.

    `roots` are real paths, empty = no files. `project_id` is 16 hex digits; it, `project_root` and
    `cwd` are empty for a client without a trusted hello, `nonce` for one without any.
    """

    nonce: str
    version: str
    pid: int
    cwd: str
    project_root: str
    project_id: str
    roots: tuple[str, ...]
    cache_ttl_s: int
    prune_threshold_tokens: int
    dispatch_only: bool
    tool_names: ToolNames
    problems: tuple[Problem, ...] = ()


def load(home: Home, environ: Mapping[str, str] = os.environ) -> Loaded:
    """Return the owner's settings. Never raises: see `problems`."""
    written, problems = _read_toml(Path(home.config_path))
    named = {
        _key(name): value
        for name, value in environ.items()
        if name.startswith("OSIRIS_") and name not in _NOT_SETTINGS
    }
    origins = dict.fromkeys(Settings.__struct_fields__, "default")
    origins["home"] = "OSIRIS_HOME" if environ.get("OSIRIS_HOME") else "default"
    values: dict[str, Any] = {"home": home.root}
    for layer, origin in ((written, "config.toml"), (named, "")):
        taken, wrong = _parse(layer, origin)
        values |= taken
        origins |= {key: origin or _env_name(key) for key in taken}
        problems += wrong
    return Loaded(Settings(**values), origins, tuple(problems))


def parse_hello(line: bytes) -> Hello | Problem | None:
    """Read a connection's first line; None if it is no hello, so the client speaks MCP itself."""
    try:
        first = msgspec.json.decode(line, type=_FirstLine)
    except (msgspec.DecodeError, RecursionError):
        return None
    if first.osiris is None:
        return None
    try:
        if first.osiris != 1:
            return _bad_hello(f"hello version {first.osiris}")
        return msgspec.json.decode(first.hello, type=Hello)
    except msgspec.DecodeError as error:
        return _bad_hello(str(error))


def connection(settings: Settings, hello: Hello | None, *, is_trusted: bool) -> Connection:
    """Return what holds for a connection; a hello that is not trusted gives its nonce alone."""
    said = hello if hello is not None and is_trusted else None
    given = {} if said is None else {k: v for k, v in said.settings.items() if k in CONNECTION_KEYS}
    taken, problems = _parse({_key(name): text for name, text in given.items()}, "")
    merged = msgspec.structs.replace(settings, **taken)
    cwd = said.cwd if said else ""
    project = project_root(cwd)
    roots, wrong = resolve_roots(merged.roots, project, cwd)
    return Connection(
        nonce=hello.nonce if hello else "",
        version=hello.version if hello else "",
        pid=hello.pid if hello else 0,
        cwd=cwd,
        project_root=project,
        project_id=project_id(project),
        roots=roots,
        cache_ttl_s=merged.cache_ttl_s,
        prune_threshold_tokens=merged.prune_threshold_tokens,
        dispatch_only=merged.dispatch_only,
        tool_names=merged.tool_names,
        problems=(*problems, *wrong),
    )


def project_root(cwd: str) -> str:
    """Return the real path of the git top above `cwd`, else of `cwd`; empty for none."""
    try:
        folder = Path(cwd).resolve() if Path(cwd).is_absolute() else None
    except (OSError, RuntimeError, ValueError):
        return ""
    if folder is None:
        return ""
    tops = (up for up in (folder, *folder.parents) if os.path.lexists(up / ".git"))
    return str(next(tops, folder))


def project_id(root: str) -> str:
    """Return the 16 hex digits that name a project; empty for none."""
    return canon.hexdigest("project", [root])[:16] if root else ""


def resolve_roots(
    given: tuple[str, ...], project: str, cwd: str
) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """Return the real paths of `given`, and what was wrong with the others."""
    roots: dict[str, None] = {}
    problems: list[Problem] = []
    for root in given:
        try:
            roots[_resolve_root(root, project, cwd)] = None
        except (ValueError, RuntimeError, OSError) as error:
            problems.append(_bad("roots", f"root {root!r}: {error}", _ROOTS_FIX))
    return tuple(roots), tuple(problems)


def _resolve_root(root: str, project: str, cwd: str) -> str:
    if root == PROJECT:
        return _narrow(project, "this connection has no project")
    path = Path(root).expanduser()
    if path.is_absolute():
        return str(path.resolve())
    there = str((Path(cwd) / path).resolve()) if Path(cwd).is_absolute() else ""
    return _narrow(there, "it is relative, and this connection has no folder")


def _narrow(path: str, otherwise: str) -> str:
    """Return `path` unless it is empty, or the home folder or above it."""
    if not path:
        raise ValueError(otherwise)
    if Path(path) in _too_wide():
        raise ValueError("it would be the home folder or above")
    return path


def _too_wide() -> set[Path]:
    try:
        home = Path.home().resolve()
    except RuntimeError:
        home = Path(os.sep)
    return {home, *home.parents, Path(home.anchor)}


class _FirstLine(msgspec.Struct):
    osiris: int | None = None
    hello: msgspec.Raw = msgspec.Raw(b"null")


def _bad(key: str, what: str, fix: str) -> Problem:
    return Problem("bad_setting", key, what, fix)


def _bad_hello(what: str) -> Problem:
    return Problem("bad_hello", "", what, "start the client again with the same OSIRIS version")


def _key(env_name: str) -> str:
    return env_name.removeprefix("OSIRIS_").lower()


def _env_name(key: str) -> str:
    return f"OSIRIS_{key.upper()}"


def _read_toml(path: Path) -> tuple[dict[str, Any], list[Problem]]:
    try:
        with path.open("rb") as file:
            return tomllib.loads(file.read(CONFIG_MAX).decode()), []
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError) as error:
        return {}, [Problem("bad_config", "", f"config.toml: {error}", "mend the file")]


def _parse(layer: Mapping[str, Any], origin: str) -> tuple[dict[str, Any], list[Problem]]:
    taken: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in layer.items():
        name = f"{key} in {origin}" if origin else _env_name(key)
        if key not in PARSERS:
            problems.append(_unknown(key, name))
        elif value != "" or key in MAY_BE_EMPTY:
            try:
                taken[key] = PARSERS[key](value)
            except ValueError as error:
                problems.append(_bad(key, f"{name} is {value!r}", str(error)))
    return taken, problems


def _unknown(key: str, name: str) -> Problem:
    fix = "set OSIRIS_HOME" if key == "home" else f"known are {', '.join(PARSERS)}"
    return Problem("unknown_setting", key, f"{name} is no setting", fix, is_error=False)


_ROOTS_FIX = "absolute folders, ~ or @project, separated by ;"
_NOT_SETTINGS = {"OSIRIS_HOME", "OSIRIS_PYTHON"}
