"""All that a home holds, in every form that a secret could be read back from it."""

import sys
from collections.abc import Iterator
from pathlib import Path

from osiris.home import Home
from osiris_actors.store.checksum import CHECKSUM_BYTES, TABLES
from osiris_actors.store.lmdb import LmdbBackend

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_ZSTD = b"\x28\xb5\x2f\xfd"


def contents(home: Home) -> Iterator[tuple[str, bytes]]:
    """Yield (where, bytes): each file as it is, and each record of the store, unpacked.

    Nobody may hold the home meanwhile.
    """
    root = Path(home.root)
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        yield str(path.relative_to(root)), path.read_bytes()
        yield "a file's name", str(path.relative_to(root)).encode()
    backend = LmdbBackend(Path(home.store_dir), read_only=True)
    try:
        with backend.view() as view:
            for table in TABLES:
                for key, value in view.scan(table):
                    yield f"store {table} key", key
                    yield f"store {table}", _plain(value[CHECKSUM_BYTES:])
    finally:
        backend.close()


def _plain(body: bytes) -> bytes:
    return zstd.decompress(body) if body.startswith(_ZSTD) else body
