"""Where the files of a state lie: which folders have to be walked for its globs.

Rule 1: a glob without wildcards before its first folder with one says where to begin; so a glob
        that names a folder costs nothing but that folder.
Rule 2: parts are compared without regard to case, as globs are.
"""

from typing import Final

from osiris.core.invariant_globs import Globs

_WILD: Final = frozenset("*?[{")


def starts_of(globs: Globs) -> tuple[str, ...]:
    """Return the folders and files that hold all that can match, "" for the whole root."""
    found = sorted({_start(glob) for glob in globs.texts})
    kept: list[str] = []
    for start in found:
        if not any(is_below(start, above) for above in kept):
            kept.append(start)
    return tuple(kept)


def leads_to(folder: str, starts: tuple[str, ...]) -> bool:
    """Say whether `folder`, from the root, is one of `starts`, below one, or on the way to one."""
    name = folder.lower()
    return any(is_below(name, start) or is_below(start, name) for start in starts)


def is_below(path: str, folder: str) -> bool:
    """Say whether `path` is `folder` or lies below it; both in lower case."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def _start(glob: str) -> str:
    parts: list[str] = []
    for part in glob.lower().removeprefix("./").split("/"):
        if not _WILD.isdisjoint(part):
            break
        parts.append(part)
    return "/".join(part for part in parts if part)
