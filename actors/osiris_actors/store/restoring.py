"""Puts a copy in a store's place, with nothing lost on the way.

Rule 1: the copy is brought beside the store and verified there, payloads included, before anything
        is touched; what was verified is what is put in place.
Rule 2: the data file is replaced in one step: whoever opens the store finds the old or the new one.
Rule 3: what was there is kept aside, in a folder of its own.
Rule 4: a sound store gives way by force alone, and so does one to a copy of another store.
"""

import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from osiris_actors.store import clean, datafile, lmdb_env, probing, whereabouts
from osiris_actors.store.contract import StoreDamaged, StoreUnavailable, Verified

_FIX_COPY = "name a folder that `osiris backup` made"


class RestoreRefused(Exception):  # noqa: N818 - named by what happened to the caller
    """The store stays as it is: `code` of core.errors, `what` is wrong, `fix` mends it."""

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(f"{what} | fix: {fix}")
        self.code = code
        self.what = what
        self.fix = fix


class Draft(Struct, frozen=True):
    """A verified copy that lies beside the store."""

    folder: Path
    store_id: str
    found: Verified


@contextmanager
def draft_of(store: Path, source: Path) -> Generator[Draft]:
    """Copy `source` beside the store and verify it; what is left of it is removed in the end.

    Raises RestoreRefused and StoreUnavailable.
    """
    origin = _origin(source)
    folder = store.with_name(f"{store.name}.new-{os.urandom(4).hex()}")
    try:
        folder.mkdir(mode=0o700, parents=True)
        for name in (datafile.DATA, datafile.MARKER):
            if (origin / name).exists():
                shutil.copyfile(origin / name, folder / name)
        yield _verified(folder, source)
    except OSError as error:
        what = f"{error.filename or source}: {error.strerror}"
        raise RestoreRefused("storage_error", what, "make room, or see to the folder") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)


def _origin(source: Path) -> Path:
    """Return the folder with the data: `source` itself, or the store in a copied home."""
    for folder in (source, source / "store"):
        if datafile.has_data(folder):
            return folder
    raise RestoreRefused("bad_argument", f"{source} holds no store", _FIX_COPY)


def _verified(folder: Path, source: Path) -> Draft:
    found = probing.verified(folder, deep=True)
    store_id = datafile.marked_id(folder)
    if found.damage or not store_id:
        first = found.damage[0] if found.damage else None
        why = f"{first.record} {first.why}" if first else "it has no marker"
        raise RestoreRefused("store_damaged", f"{source} is damaged: {why}", _FIX_COPY)
    return Draft(folder, store_id, found)


def swap(store: Path, draft: Draft, *, force: bool) -> Path | None:
    """Put a verified copy in the store's place; return where the old one is now.

    The home's lock is held. Raises RestoreRefused and OSError.
    """
    if not force:
        _must_give_way(store, draft.store_id)
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = _put_aside(store)
    for name in (clean.NAME, whereabouts.NAME):
        (store / name).unlink(missing_ok=True)
    for name in (datafile.DATA, datafile.MARKER):
        datafile.sync(draft.folder / name)
        (draft.folder / name).chmod(0o600)
        (draft.folder / name).replace(store / name)
    datafile.sync(store)
    return aside


def _must_give_way(store: Path, store_id: str) -> None:
    """Raise RestoreRefused by rule 4."""
    if not datafile.is_marked(store) and not datafile.has_data(store):
        return
    marked = datafile.marked_id(store)
    if marked and marked != store_id:
        what = f"the copy is of store {store_id[:8]}, this is {marked[:8]}"
        raise RestoreRefused("bad_argument", what, "add --force; the present store is kept aside")
    if is_sound(store):
        what = "the present store is sound, and newer work in it would be set aside"
        raise RestoreRefused("bad_argument", what, "add --force; the present store is kept aside")


def is_sound(store: Path) -> bool:
    """Say whether a store that nobody has open passes a quick look."""
    if not datafile.has_data(store):
        return False
    try:
        clean.take(store)
        if datafile.is_short(store):
            lmdb_env.walk(store)
        return not probing.damage(store)
    except (StoreDamaged, StoreUnavailable):
        return False


def _put_aside(store: Path) -> Path | None:
    there = [name for name in (datafile.DATA, datafile.MARKER) if (store / name).exists()]
    if not there:
        return None
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    aside = store.with_name(f"{store.name}.before-{stamp}-{os.urandom(2).hex()}")
    aside.mkdir(mode=0o700)
    for name in there:
        _keep(store / name, aside / name)
    datafile.sync(aside)
    return aside


def _keep(file: Path, kept: Path) -> None:
    """Give a file a second name; where that cannot be, a copy."""
    try:
        kept.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, kept)
        datafile.sync(kept)
