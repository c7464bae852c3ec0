"""Which store this is and who can read it: two records in the table `meta`.

Rule: the format is looked at before anything else, and a newer one is left alone.
"""

from osiris_actors.store import records
from osiris_actors.store.contract import StoreDamaged, StoreTooNew
from osiris_actors.store.reads import Lookup
from osiris_actors.store.settle import Records

FORMAT = 1
_FORMAT_KEY = b"format"
_ID_KEY = b"store_id"


def new(store_id: str) -> Records:
    """Return what a new store is born with."""
    return {("meta", _FORMAT_KEY): records.encode(FORMAT), ("meta", _ID_KEY): store_id.encode()}


def known(lookup: Lookup) -> str:
    """Return the store's id. Raises StoreTooNew and StoreDamaged."""
    found = records.decoded(
        records.number_decoder, "meta", _FORMAT_KEY, _required(lookup, _FORMAT_KEY)
    )
    if found > FORMAT:
        raise StoreTooNew(found, FORMAT)
    return _required(lookup, _ID_KEY).decode()


def _required(lookup: Lookup, key: bytes) -> bytes:
    body = lookup("meta", key)
    if body is None:
        raise StoreDamaged(records.record_name("meta", key), "missing")
    return body
