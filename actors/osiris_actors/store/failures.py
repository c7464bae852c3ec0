"""How a store fails those who keep it: no room, held, moved; and why nothing is written."""

import msgspec

from osiris_actors.store.contract import StoreUnavailable


class StoreFull(StoreUnavailable):
    """The disk has no room for what was asked."""

    code = "storage_full"
    fix = "free space, then call again"


class StoreHeld(StoreUnavailable):
    """Nothing may be read: `trouble` says why."""

    def __init__(self, trouble: "Trouble") -> None:
        super().__init__(trouble.why)
        self.code = trouble.code
        self.fix = trouble.fix


class StoreMoved(Exception):  # noqa: N818 - named by what happened to the caller
    """The store's files are no longer those that were opened: this owner's time is over.

    `has_committed` says whether the units at hand may have been stored, where nobody finds them.
    """

    def __init__(self, why: str, *, has_committed: bool) -> None:
        super().__init__(why)
        self.has_committed = has_committed


class Trouble(msgspec.Struct, frozen=True):
    """Why the store takes no writes now, under a code of `core.errors`, and the way out."""

    code: str
    why: str
    fix: str
