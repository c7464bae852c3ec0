"""Asks a child process about a store: a quick look before opening it, or a whole verification.

Rule 1: only the child maps the file. What would end this process (SIGBUS on a cut file, SIGABRT on
        a page the engine cannot follow) ends the child, and that is the answer.
Rule 2: a child that cannot be started or does not end says nothing about the data.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import msgspec

from osiris_actors.store import datafile, identity, records
from osiris_actors.store.checksum import Table
from osiris_actors.store.contract import Damage, StoreUnavailable, Verified

PROBE = "osiris_actors.store.probe"
EXAMINE = "osiris_actors.store.examine"
PROBE_S = 20.0  # the child ends its own work after 2 s; a busy machine starts it late
_LONGEST = 300
_HIGHEST_STATUS = 255  # above it: 0xC0000005 and its kind, how Windows says SIGSEGV


def damage(directory: Path) -> tuple[Damage, ...]:
    """Return what a quick look finds wrong. Raises StoreUnavailable.

    Measured on two busy cores: 33 ms for a new store, 47 ms for one of 17,000 records, 0.12 to
    0.19 s for one of 340,000 (59 MiB).
    """
    if not datafile.has_data(directory):
        return ()
    found = _ask(PROBE, PROBE_S, str(directory), records.encode(identity.FORMAT).hex())
    if isinstance(found, Damage):
        return (found,)
    rows: list[tuple[str, str, str]] = found["damage"]
    return tuple(_named(table, key, why) for table, key, why in rows)


def verified(directory: Path, *, deep: bool) -> Verified:
    """Return what looking at every record finds, however long that takes.

    Raises StoreUnavailable.
    """
    found = _ask(EXAMINE, None, str(directory), *(("--deep",) if deep else ()))
    if isinstance(found, Damage):
        return Verified(0, 0, 0, 0, (found,))
    return msgspec.convert(found, Verified)


def _named(table: str, key: str, why: str) -> Damage:
    if not table:
        return Damage(datafile.DATA, why)
    return Damage(records.record_name(cast("Table", table), bytes.fromhex(key)), why)


def _ask(module: str, within_s: float | None, *arguments: str) -> dict[str, Any] | Damage:
    """Return what the child says, or what its end says. Raises StoreUnavailable."""
    command = (sys.executable, "-P", "-m", module, *arguments)
    try:
        child = subprocess.run(  # noqa: S603  our own interpreter
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=within_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise StoreUnavailable(f"looking at the store took over {within_s:.0f} s") from None
    except OSError as error:
        raise StoreUnavailable(f"cannot start the probe: {error.strerror}") from error
    if not 0 <= child.returncode <= _HIGHEST_STATUS:
        return Damage(datafile.DATA, f"reading it ends the process with {_end(child.returncode)}")
    try:
        said: dict[str, Any] = json.loads(child.stdout)
    except ValueError:
        raise StoreUnavailable(f"the probe failed: {_last_line(child.stderr)}") from None
    if "unavailable" in said:
        raise StoreUnavailable(str(said["unavailable"]))
    return said


def _end(returncode: int) -> str:
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"status {returncode}"


def _last_line(raw: bytes) -> str:
    lines = raw.decode("utf-8", "replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "no word")[:_LONGEST]
