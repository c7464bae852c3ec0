"""An owner that breaks the one promise: it answers from memory and writes later.

It differs from the real one in its store alone, and shows no fault until it is killed.
"""

import sys
import threading
import time

from osiris import claim, owner, parts
from osiris.home import resolve
from osiris_actors.store.checksum import TABLES
from osiris_actors.store.contract import Outcome, Unit
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.store.memory import MemoryBackend
from osiris_actors.store.opening import Place

BEHIND_S = 0.25


class WriteBehind(MemoryBackend):
    """Holds everything in memory; a thread brings it to the disk every BEHIND_S."""

    copied_from = ""

    def __init__(self, place: Place) -> None:
        self._disk = LmdbBackend(place.store)
        super().__init__(self._disk.store_id)
        with self._disk.view() as view:
            for table in TABLES:
                for key, value in view.scan(table):
                    self.overwrite(table, key, value)
        self._late: list[Unit] = []
        self._turn = threading.Lock()
        threading.Thread(target=self._write_for_ever, daemon=True).start()

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        with self._turn:
            self._late += units
            return super().commit_batch(units)

    def close(self) -> None:
        self._write_late()
        super().close()

    def _write_for_ever(self) -> None:
        while True:
            time.sleep(BEHIND_S)
            self._write_late()

    def _write_late(self) -> None:
        with self._turn:
            late, self._late = self._late, []
            self._disk.commit_batch(tuple(late))


if __name__ == "__main__":
    setattr(parts, "open_store", WriteBehind)  # noqa: B010  the defect; the types forbid it
    HOME = resolve()
    sys.exit(claim.own(HOME, lambda lock: owner.serve(HOME, lock)))
