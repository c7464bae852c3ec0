"""Verifies a store in a process of its own: see `probing`.

`python -P -m osiris_actors.store.examine DIRECTORY [--deep]` prints a Verified as one line of
JSON. The store may be in use: what is looked at is one moment of it.
"""

import sys
from pathlib import Path

import msgspec

from osiris_actors.store.contract import (
    Damage,
    StoreDamaged,
    StoreTooNew,
    StoreUnavailable,
    Verified,
)
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.store.probe import leave_no_core

MOST_DAMAGE = 1_000


def examine(directory: Path, *, deep: bool) -> dict[str, object]:
    """Return a Verified, or {"unavailable"}, as plain values."""
    try:
        backend = LmdbBackend(directory, read_only=True, walks=False)
    except StoreDamaged as damage:
        return _said(Verified(0, 0, 0, 0, (Damage(damage.record, damage.why),)))
    except (StoreUnavailable, StoreTooNew) as error:
        return {"unavailable": str(error)}
    try:
        return _said(backend.verify(deep=deep))
    finally:
        backend.close()


def _said(found: Verified) -> dict[str, object]:
    first = msgspec.structs.replace(found, damage=found.damage[:MOST_DAMAGE])
    said: dict[str, object] = msgspec.to_builtins(first)
    return said


def main() -> int:
    leave_no_core()
    said = examine(Path(sys.argv[1]), deep="--deep" in sys.argv[2:])
    sys.stdout.buffer.write(msgspec.json.encode(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
