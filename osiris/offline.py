"""What may be done with a home that has no owner: ask about it, put a backup in its place.

Rule: the home is held meanwhile. Only on a disk that cannot be written, where nobody can own it, it
      is read without.
"""

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import trio

from osiris import config
from osiris.core import audit
from osiris.doors.frames import refusal
from osiris.groups import leaves
from osiris.home import Home, HomeError
from osiris.lock import OwnerLock
from osiris.parts import Parts
from osiris_actors import bundle_audit
from osiris_actors.gateway import Gateway
from osiris_actors.store import restoring
from osiris_actors.store.contract import StoreDamaged, StoreTooNew, StoreUnavailable
from osiris_actors.store.datafile import has_data

LEAVE_S = 20.0

Answer = tuple[dict[str, Any], bytes]
Failure = StoreDamaged | StoreTooNew | StoreUnavailable


def ask(home: Home, op: str, args: Mapping[str, Any]) -> Answer:
    """Answer a question about a home that has no owner; the home is held meanwhile."""
    lock, unwritable = OwnerLock(home.lock_path), ""
    try:
        home.make()
        if not lock.acquire():
            return refusal("busy", "an owner has just started", "ask again"), b""
    except (HomeError, OSError) as error:
        if not has_data(Path(home.store_dir)):
            raise
        unwritable = str(error)
    failed: Failure
    try:
        return trio.run(_ask_once, home, op, args, unwritable)
    except* (StoreDamaged, StoreTooNew, StoreUnavailable) as group:
        failed = cast("Failure", next(leaves(group)))
    finally:
        lock.release()
    return refusal(failed.code, str(failed), failed.fix), b""


def audit_bundle(path: Path) -> Answer:
    """Audit a bundle, with no home at all."""
    try:
        return audit.as_json(bundle_audit.audit_bundle(path)), b""
    except OSError as error:
        return refusal("bad_argument", f"{path}: {error.strerror}", "name an exported file"), b""


def restore(home: Home, source: Path, *, force: bool) -> Answer:
    """Replace the store by the copy in `source`; with `force` also under a living owner."""
    home.make()
    store, lock = Path(home.store_dir), OwnerLock(home.lock_path)
    try:
        with restoring.draft_of(store, source) as draft:
            if not _take(home, lock, force=force):
                owner = home.record()
                what = f"process {owner.pid if owner else '?'} owns this home"
                return refusal("busy", what, "end it, or add --force"), b""
            aside = restoring.swap(store, draft, force=force)
    except restoring.RestoreRefused as refused:
        return refusal(refused.code, refused.what, refused.fix), b""
    except StoreUnavailable as failed:
        return refusal(failed.code, str(failed), failed.fix), b""
    finally:
        lock.release()
    found = draft.found
    return {
        "store_id": draft.store_id,
        "streams": found.streams,
        "events": found.events,
        "blobs": found.blobs,
        "kept_aside": "" if aside is None else str(aside),
    }, b""


def _take(home: Home, lock: OwnerLock, *, force: bool) -> bool:
    """Take the home's lock; with `force` let its owner leave first."""
    if lock.acquire():
        return True
    owner = home.record()
    if not force or owner is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(owner.pid, signal.SIGTERM)
    deadline = time.monotonic() + LEAVE_S
    while time.monotonic() < deadline:  # sooner than a client that starts another owner
        if lock.acquire():
            return True
    return False


async def _ask_once(home: Home, op: str, args: Mapping[str, Any], unwritable: str) -> Answer:
    """Answer from the store alone; what a killed owner left owing is booked first.

    Nothing else is stored, so nothing else is loaded to count or redact.
    """
    parts = Parts(home, config.load(home).settings, unwritable)
    async with parts.running(reports=None) as system:
        await parts.count_owed(system)
        return await parts.desk(Gateway(system)).ask(op, args, b"")
