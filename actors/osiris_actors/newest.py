"""The newest file of each of some states, found by stat alone, within limits.

Rule 1: states whose files lie in the same folders share a walk; folders of SKIPPED and links to
        folders are not entered; no file is opened.
Rule 2: more than MAX_ENTRIES entries, or more than WALK_S: it says so or says nothing, and the
        state counts as stale.
"""

import os
import time
from collections.abc import Iterator
from typing import Final

from osiris.core.invariant_places import is_below, leads_to, starts_of
from osiris.core.invariant_states import MAX_ENTRIES, SKIPPED, Newest, State, newest

WALK_S: Final = 1.0

Entry = tuple[str, int]


def newest_of(root: str, states: tuple[State, ...]) -> dict[str, Newest]:
    """Return the newest file of each state; without those for which the time was too short."""
    end = time.monotonic() + WALK_S
    found: dict[str, Newest] = {}
    for places, group in _grouped(states).items():
        entries: list[Entry] = []
        for entry in _entries(root, places):
            entries.append(entry)
            if len(entries) > MAX_ENTRIES:
                break
            if time.monotonic() > end:
                return found
        found |= {state.name: newest(state, entries) for state in group}
    return found


def _grouped(states: tuple[State, ...]) -> dict[tuple[str, ...], list[State]]:
    """Return the states by where their files lie."""
    groups: dict[tuple[str, ...], list[State]] = {}
    for state in states:
        groups.setdefault(starts_of(state.files), []).append(state)
    return groups


def _entries(root: str, starts: tuple[str, ...]) -> Iterator[Entry]:
    """Yield (path from the root, mtime in ms) of what lies under `starts`; a folder's is 0."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in _listed(f"{root}/{folder}"):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not leads_to(path, starts):
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and entry.name.lower() not in SKIPPED:
                waiting.append(path)
            if any(is_below(path.lower(), start) for start in starts):
                yield path, 0 if is_folder else _mtime_ms(entry)


def _listed(folder: str) -> "Iterator[os.DirEntry[str]]":
    """Yield what is in a folder; nothing if it is gone or not ours to look at."""
    try:
        with os.scandir(folder) as found:
            yield from found
    except OSError:
        return


def _mtime_ms(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0  # gone meanwhile, or a link to nothing
