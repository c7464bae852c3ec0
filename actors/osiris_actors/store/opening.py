"""How an owner opens its store: looked at first, by a child, unless the last owner left in order.

| found                                     | then                                             |
| a newer format                            | StoreTooNew: nothing is touched                  |
| a network file system, not forced         | held: read, not written                          |
| damage                                    | held: read if that is safe, not written          |
| no room, no right, no such folder         | StoreUnavailable                                 |
| nothing wrong                             | open                                             |
"""

import logging
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from osiris_actors.store import clean, datafile, network, probing, whereabouts
from osiris_actors.store.contract import RESTORE, Damage, StoreDamaged, StoreUnavailable
from osiris_actors.store.failures import StoreFull, Trouble
from osiris_actors.store.kept import KeptBackend
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.store.room import Ballast

FORCE = "OSIRIS_FORCE_NETWORK_FS=1"
_NO_ID = "0" * 32
_NAMED = 3

log = logging.getLogger(__name__)


class Place(Struct, frozen=True):
    """The folder of a store, and the file that keeps room for it on the same disk."""

    store: Path
    ballast: Path
    force_network: bool = False


def open_store(place: Place) -> KeptBackend:
    """Open the store for its owner, who holds the home's lock.

    Raises StoreTooNew and StoreUnavailable.
    """
    try:
        if not clean.take(place.store) and (found := _looked_at(place.store)):
            return _damaged(place, found)
        if not place.force_network and (name := network.network_name(place.store)):
            return _on_network(place, name)
        return _opened(place)
    except StoreDamaged as damage:
        return _damaged(place, (Damage(damage.record, damage.why),))


def open_to_read(place: Place, why: str) -> KeptBackend:
    """Open a store that cannot be written. Raises StoreDamaged, StoreTooNew, StoreUnavailable."""
    fix = "make the folder writable, or copy it to where it is"
    engine = LmdbBackend(place.store, read_only=True)
    return _held(place, engine, Trouble("storage_error", why, fix))


def _looked_at(store: Path) -> tuple[Damage, ...]:
    try:
        return probing.damage(store)
    except StoreUnavailable as error:
        log.warning("the store was not looked at first: %s", error)
        return ()


def _opened(place: Place) -> KeptBackend:
    ballast = Ballast(place.ballast)
    try:
        engine = LmdbBackend(place.store)
    except StoreFull:
        ballast.give_up()
        engine = LmdbBackend(place.store)
    ballast.make()
    kept = KeptBackend(place.store, engine, ballast, store_id=engine.store_id)
    kept.copied_from = whereabouts.settle(place.store)
    if kept.copied_from:
        log.warning(
            "this store is a copy of the one in %s and keeps its id: both answer for the same"
            " tasks, and neither learns what happens in the other",
            kept.copied_from,
        )
    return kept


def _damaged(place: Place, found: tuple[Damage, ...]) -> KeptBackend:
    """Hold the store; read it where no page of it can end this process."""
    named = "; ".join(f"{damage.record} {damage.why}" for damage in found[:_NAMED])
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    why = f"the store is damaged: {named}{more}"
    log.critical("%s | fix: %s", why, RESTORE)
    engine: LmdbBackend | None = None
    if all(damage.record != datafile.DATA for damage in found):
        with suppress(StoreDamaged, StoreUnavailable):
            engine = LmdbBackend(place.store, read_only=True)
    return _held(place, engine, Trouble("store_damaged", why, RESTORE))


def _on_network(place: Place, name: str) -> KeptBackend:
    why = f"{place.store} is on a network file system ({name}), whose locks and maps lose data"
    fix = f"set OSIRIS_HOME to a folder on a local disk, or {FORCE} if you know better"
    if not datafile.has_data(place.store):
        raise StoreUnavailable(f"{why} | fix: {fix}")
    log.critical("%s | fix: %s", why, fix)
    engine = LmdbBackend(place.store, read_only=True)
    return _held(place, engine, Trouble("storage_error", why, fix))


def _held(place: Place, engine: LmdbBackend | None, held: Trouble) -> KeptBackend:
    store_id = datafile.marked_id(place.store) or _NO_ID if engine is None else engine.store_id
    ballast = Ballast(place.ballast)
    return KeptBackend(place.store, engine, ballast, store_id=store_id, held=held)
