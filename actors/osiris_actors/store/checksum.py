"""The tables of a store and the checksum that stands before every value in them.

Rule 1: the checksum is blake2b over table, key and body, so a record that changed, or that stands
        in another's place, does not match.
Rule 2: standard library only: the probe child starts with this and the engine alone.
"""

from hashlib import blake2b
from typing import Final, Literal, get_args

Table = Literal[
    "meta",
    "events",
    "heads",
    "snaps",
    "keys",
    "counters",
    "fences",
    "index",
    "blobs",
    "chunks",
]
TABLES: Final[tuple[Table, ...]] = get_args(Table)

CHECKSUM_BYTES = 16

_TAGS: dict[Table, bytes] = {table: table.encode() + b"\0" for table in TABLES}


def checksum(table: Table, key: bytes, body: bytes) -> bytes:
    """Return the CHECKSUM_BYTES that stand before `body`."""
    whole = b"".join((_TAGS[table], len(key).to_bytes(2, "big"), key, body))
    return blake2b(whole, digest_size=CHECKSUM_BYTES).digest()


def matches(table: Table, key: bytes, stored: bytes) -> bool:
    """Say whether a stored value is what was written under `key`."""
    return checksum(table, key, stored[CHECKSUM_BYTES:]) == stored[:CHECKSUM_BYTES]
