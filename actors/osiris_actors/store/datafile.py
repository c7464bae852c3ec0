"""What can be known about the data file before the engine maps it.

Rule 1: a `marker` file beside the data says that a store must exist. With it, a data file that is
        absent, or empty in bytes or in tables, is damage, never a fresh store.
Rule 2: a data file that is shorter than its newest meta page says may have been cut, and reading
        it through the map may kill the process. It may be sound too: pages that were taken and
        given back at its end were never written. Only a walk of all pages can tell.
Rule 3: the marker is written once the store it speaks of is durable, and names it.
"""

import os
import struct
from pathlib import Path

from osiris_actors.store.contract import StoreDamaged

DATA = "data.mdb"
LOCK = "lock.mdb"
MARKER = "marker"

# LMDB 0.9, 64 bit: page header 16, magic, version, address, map size, then two tree records of
# 48 bytes, the first of which begins with the page size; last page and transaction follow
_META = struct.Struct("=16xII8x8xI44x48xQQ")
_MAGIC = 0xBEEFC0DE


def is_short(directory: Path) -> bool:
    """Say whether the data file needs the walk of rule 2. Raises StoreDamaged by rule 1."""
    data = directory / DATA
    size = data.stat().st_size if data.exists() else 0
    if size == 0 and is_marked(directory):
        raise StoreDamaged(DATA, "is empty or gone, and the marker says there was a store")
    return size > 0 and size < _needed_bytes(data)


def has_data(directory: Path) -> bool:
    """Say whether there are any bytes to look at."""
    data = directory / DATA
    return data.exists() and data.stat().st_size > 0


def marked_id(directory: Path) -> str:
    """Return the id of the store that must be here; empty when nothing says one."""
    try:
        return (directory / MARKER).read_text("ascii", "replace").strip()
    except FileNotFoundError:
        return ""


def is_marked(directory: Path) -> bool:
    """Say whether a store must be here."""
    return (directory / MARKER).exists()


def transaction(directory: Path) -> int:
    """Return the number of the last transaction on the disk, 0 when no meta page can be read."""
    newest = _newest(directory / DATA)
    return 0 if newest is None else newest[2]


def _needed_bytes(data: Path) -> int:
    """Return the size that the newest meta page claims, 0 when no meta page can be read."""
    newest = _newest(data)
    return 0 if newest is None else (newest[1] + 1) * newest[0]


def _newest(data: Path) -> tuple[int, int, int] | None:
    """Return what the newest of the two meta pages says, None when the first cannot be read."""
    with data.open("rb") as file:
        first = _meta(file.read(_META.size))
        if first is None:
            return None
        file.seek(first[0])
        second = _meta(file.read(_META.size))
    return max(filter(None, (first, second)), key=lambda meta: meta[2])


def _meta(raw: bytes) -> tuple[int, int, int] | None:
    """Return page size, last page and transaction, None when the bytes are no meta page."""
    if len(raw) < _META.size:
        return None
    magic, _, page_bytes, last_page, transaction = _META.unpack(raw)
    return (page_bytes, last_page, transaction) if magic == _MAGIC else None


def confirm(directory: Path, store_id: str, *, write: bool) -> None:
    """Compare the marker with the store's id; write it where there is none.

    Raises StoreDamaged when it names another store.
    """
    if not is_marked(directory):
        if write:
            _mark(directory, store_id)
        return
    marked = marked_id(directory)
    if marked != store_id:
        raise StoreDamaged("meta store_id", f"is {store_id}, the marker says {marked}")


def seal(directory: Path, store_id: str) -> None:
    """Make a copy that has just been written durable, private and marked."""
    data = directory / DATA
    data.chmod(0o600)
    sync(data)
    _mark(directory, store_id)


def _mark(directory: Path, store_id: str) -> None:
    draft = directory / f"{MARKER}.new"
    draft.write_text(f"{store_id}\n", "ascii")
    draft.chmod(0o600)
    sync(draft)
    draft.replace(directory / MARKER)
    sync(directory)
    sync(directory.parent)


def sync(path: Path) -> None:
    """Make a file's bytes, or a directory's names, durable. Raises OSError."""
    if os.name == "nt" and path.is_dir():  # directories cannot be opened there
        return
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
