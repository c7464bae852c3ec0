"""Where a store lies: how one that was copied is told from one that was moved.

A copy keeps its store's id: task ids, refs and redaction sentinels are made with it. So both homes
answer for the same tasks, and neither learns what happens in the other. That has to be said.

| folder | inode   | what it is                                                       |
| same   | same    | nothing happened                                                 |
| other  | same    | the folder was moved                                             |
| same   | another | the file was put back by other means, such as a restored backup  |
| other  | another | a copy; moved across disks, if the first one is not there any more |
"""

from contextlib import suppress
from pathlib import Path

import msgspec

from osiris_actors.store import datafile

NAME = "place"
_MOST_BYTES = 16_384


class Place(msgspec.Struct, frozen=True):
    """Where a store was seen last; `copied_from` is the folder it was copied from, if it was."""

    folder: str
    inode: int
    copied_from: str = ""


def settle(directory: Path) -> str:
    """Note where an open store lies; return the folder it is a copy of, empty for none."""
    known = _known(directory)
    inode = (directory / datafile.DATA).stat().st_ino
    now = Place(str(directory.resolve()), inode)
    if known is not None:
        now = msgspec.structs.replace(now, copied_from=_copied_from(known, now))
    if now != known:
        with suppress(OSError):  # a note that cannot be written is written next time
            draft = directory / f"{NAME}.new"
            draft.write_bytes(msgspec.json.encode(now))
            draft.chmod(0o600)
            draft.replace(directory / NAME)
    return now.copied_from


def _copied_from(known: Place, now: Place) -> str:
    if known.inode == now.inode or known.folder == now.folder:
        return known.copied_from
    return known.folder if (Path(known.folder) / datafile.DATA).exists() else ""


def _known(directory: Path) -> Place | None:
    try:
        raw = (directory / NAME).read_bytes()[:_MOST_BYTES]
        return msgspec.json.decode(raw, type=Place)
    except (OSError, msgspec.DecodeError):
        return None
