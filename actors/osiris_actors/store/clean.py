"""A note that the last owner left in order, and what the data file looked like then.

With it the next start needs no probe (see `probing`): nobody but an owner writes the file.

Rule 1: the note is taken away before the store is opened for writing, so that it never outlives a
        crash; it is written when the store has been closed in order.
Rule 2: another inode, size or time of change than noted: the note says nothing.
Rule 3: a file that nobody changed and that is at an earlier transaction is damage: the engine has
        fallen back to its older meta page, and something acknowledged is gone. The note stays.
"""

from contextlib import suppress
from pathlib import Path

import msgspec

from osiris_actors.store import datafile
from osiris_actors.store.contract import StoreDamaged

NAME = "clean"
_MOST_BYTES = 4_096


class Note(msgspec.Struct, frozen=True):
    """The data file of a store that was closed in order."""

    inode: int
    size: int
    changed_ns: int
    transaction: int


def write(directory: Path) -> None:
    """Note the data file of a closed store; a note that cannot be written is none."""
    with suppress(OSError):
        note = directory / NAME
        note.write_bytes(msgspec.json.encode(_now(directory)))
        note.chmod(0o600)


def take(directory: Path) -> bool:
    """Take the note away and say whether it still holds. Raises StoreDamaged by rule 3."""
    path = directory / NAME
    try:
        noted = msgspec.json.decode(path.read_bytes()[:_MOST_BYTES], type=Note)
        now = _now(directory)
    except (OSError, msgspec.DecodeError):
        return False
    is_unchanged = now == msgspec.structs.replace(noted, transaction=now.transaction)
    if is_unchanged and now.transaction < noted.transaction:
        why = f"went back from transaction {noted.transaction} to {now.transaction}"
        raise StoreDamaged(datafile.DATA, why)
    path.unlink(missing_ok=True)
    return now == noted


def _now(directory: Path) -> Note:
    found = (directory / datafile.DATA).stat()
    return Note(
        inode=found.st_ino,
        size=found.st_size,
        changed_ns=found.st_mtime_ns,
        transaction=datafile.transaction(directory),
    )
