r"""Which file a path means under the roots of a connection; nothing here touches a disk.

Rule 1: no roots, no files. A root is an absolute path; a relative one is ignored.
Rule 2: paths are compared part by part, so `/allowed-evil` is not under `/allowed`.
Rule 3: `..` is taken back lexically and must never reach above the root.
Rule 4: a relative path is tried under each root in order.
Rule 5: Windows: `/` and `\` both separate and case is ignored. `C:x`, `\x`, `\\?\`, `\\.\`, device
        names, streams, and names with a trailing dot or blank are refused: there they mean another
        file than they say.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from osiris.core import plain
from osiris.core.errors import Refusal

MAX_PATH = 4_096
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{name}{number}" for name in ("com", "lpt") for number in "0123456789\u00b9\u00b2\u00b3"}
)
_SHOWN = 200


class Place(NamedTuple):
    """A root as it was given, and the parts of the path below it."""

    root: str
    parts: tuple[str, ...]


class _Path(NamedTuple):
    """`anchor` is "/" or "c:/" or "//server/share/", "" if relative; `parts` are as written."""

    anchor: str
    parts: tuple[str, ...]


def resolve(
    path: str, roots: Sequence[str], *, windows: bool = False
) -> tuple[Place, ...] | Refusal:
    """Return where `path` may be, most likely first, or why it may not be read."""
    known = [(root, parsed) for root in roots if (parsed := _root(root, windows=windows))]
    if not known:
        fix = "name a root in OSIRIS_ROOTS, or pipe the file in: osiris put < FILE"
        return Refusal("no_roots", "this connection may read no files", fix)
    if not path or len(path) > MAX_PATH or not _is_text(path):
        fix = "send a path without NUL and lone surrogates"
        return Refusal("bad_argument", f"path {_shown(path)}", fix)
    wanted = _parse(path, windows=windows)
    if wanted is None:
        return _outside(path)
    if wanted.anchor:
        places = (_below(wanted, root, base, windows=windows) for root, base in known)
    else:
        places = (_place(root, wanted.parts) for root, _ in known)
    found = tuple(place for place in places if place is not None)
    return tuple(sorted(found, key=lambda place: len(place.parts))) if found else _outside(path)


def _outside(path: str) -> Refusal:
    return Refusal(
        "outside_roots",
        f"{_shown(path)} is under no root",
        "send a path under one of OSIRIS_ROOTS",
    )


def _shown(path: str) -> str:
    return plain.quoted(path, _SHOWN)


def _is_text(path: str) -> bool:
    return "\x00" not in path and not any("\ud800" <= char <= "\udfff" for char in path)


def _root(root: str, *, windows: bool) -> _Path | None:
    parsed = _parse(root, windows=windows) if _is_text(root) else None
    if parsed is None or not parsed.anchor:
        return None
    parts = _collapsed(parsed.parts)
    return None if parts is None else _Path(parsed.anchor, parts)


def _below(wanted: _Path, root: str, base: _Path, *, windows: bool) -> Place | None:
    """Return the place of an absolute path under a root, if it is under it."""
    parts = _collapsed(wanted.parts)
    depth = len(base.parts)
    if parts is None or wanted.anchor != base.anchor:
        return None
    if _folded(parts[:depth], windows=windows) != _folded(base.parts, windows=windows):
        return None
    return Place(root, parts[depth:])


def _place(root: str, parts: tuple[str, ...]) -> Place | None:
    collapsed = _collapsed(parts)
    return None if collapsed is None else Place(root, collapsed)


def _collapsed(parts: Iterable[str]) -> tuple[str, ...] | None:
    """Return `parts` without `.` and `..`, or None if they lead above their beginning."""
    kept: list[str] = []
    for part in parts:
        if part == "..":
            if not kept:
                return None
            kept.pop()
        elif part not in {"", "."}:
            kept.append(part)
    return tuple(kept)


def _folded(parts: tuple[str, ...], *, windows: bool) -> tuple[str, ...]:
    return tuple(part.casefold() for part in parts) if windows else parts


def _parse(path: str, *, windows: bool) -> _Path | None:
    """Return the anchor and parts of a path, or None if it can be none of ours."""
    if not windows:
        return _Path("/" if path.startswith("/") else "", tuple(path.split("/")))
    path = path.replace("\\", "/")
    anchor, rest = _windows_anchor(path)
    if anchor is None:
        return None
    parts = tuple(rest.split("/"))
    return _Path(anchor, parts) if all(map(_is_windows_name, parts)) else None


def _windows_anchor(path: str) -> tuple[str | None, str]:
    """Return the anchor and the rest; None for a device or what hangs on a current folder."""
    if path.startswith(("//?/", "//./")):
        return None, ""
    if path.startswith("//"):
        server, _, rest = path[2:].partition("/")
        share, _, rest = rest.partition("/")
        return (f"//{server}/{share}/".casefold(), rest) if server and share else (None, "")
    if path[1:2] == ":":
        is_drive = path[0].isascii() and path[0].isalpha() and path[2:3] == "/"
        return (path[:3].casefold(), path[3:]) if is_drive else (None, "")
    return (None, "") if path.startswith("/") else ("", path)


def _is_windows_name(part: str) -> bool:
    """Say whether Windows takes a part as the name it looks like."""
    if part in {"", ".", ".."}:
        return True
    stem = part.partition(".")[0].rstrip(" ").casefold()
    odd = any(char in ':*?"<>|' or char < " " for char in part)
    return not (odd or part[-1] in ". " or stem in _DEVICES)
