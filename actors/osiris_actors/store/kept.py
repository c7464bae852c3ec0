"""A store as its owner holds it: watched, with room kept back, opened again after a panic.

Rule 1: before and after each batch the files must be the ones that were opened; else the batch is
        not acknowledged, nothing is read any more, and StoreMoved ends the owner.
Rule 2: no room: what `room` says.
Rule 3: after a commit that the engine failed it is asked whether it panicked. Then it is closed and
        opened again, once nobody reads, and must hold what was acknowledged last; else the store
        is damaged, and nothing is written or read.
Rule 4: after FAILURES failed batches in a row the store rests: it is read, and for REST_S all
        units are refused; then the next one is tried.
Rule 5: a forked child of the process that opened it neither reads nor writes: the engine would
        let it, on the parent's locks.
Rule 6: a store that is held (damaged, or on a network file system) is read if it can be, and
        written by nobody.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from osiris_actors.store import clean, room
from osiris_actors.store.backend import RecordBackend
from osiris_actors.store.checksum import Table
from osiris_actors.store.contract import (
    RESTORE,
    Committed,
    Failed,
    Full,
    Outcome,
    StoreDamaged,
    StoreUnavailable,
    Unit,
    Unknown,
)
from osiris_actors.store.failures import StoreHeld, StoreMoved, Trouble
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.store.opened import OpenedFiles
from osiris_actors.store.reads import View
from osiris_actors.store.room import Ballast

FAILURES = 3
REST_S = 5.0
READERS_LEAVE_S = 2.0
_FORKED = "the store was opened by another process"
_NOT_SURE = (Failed, Full, Unknown)  # after these the engine may have panicked

log = logging.getLogger(__name__)


class KeptBackend(RecordBackend):
    """The store in `directory`, read and written through `engine`.

    `held` says why nothing may be written at all. Without an engine nothing can be read either.
    """

    def __init__(
        self,
        directory: Path,
        engine: LmdbBackend | None,
        ballast: Ballast,
        *,
        store_id: str,
        held: Trouble | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store_id = store_id
        self.copied_from = ""
        self._directory = directory
        self._engine = engine
        self._ballast = ballast
        self._held = held
        self._clock = clock
        self._files = OpenedFiles(directory)
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._empty = threading.Condition(self._lock)
        self._readers = 0
        self._failures = 0
        self._failed: Trouble | None = None
        self._rests_until = 0.0
        self._acknowledged = 0 if engine is None else engine.transaction()
        self._heads: dict[str, int] = {}

    def view(self) -> "_Visit":
        return _Visit(self)

    def point(self, table: Table, key: bytes) -> bytes | None:
        engine = self.enter()
        try:
            return engine.point(table, key)
        finally:
            self.leave()

    def enter(self) -> LmdbBackend:
        """Return the engine, which stays open until `leave`. Raises StoreUnavailable."""
        if os.getpid() != self._pid:
            raise StoreUnavailable(_FORKED)
        with self._lock:
            if self._engine is None:
                raise self._unreadable()
            self._readers += 1
            return self._engine

    def leave(self) -> None:
        with self._lock:
            self._readers -= 1
            if not self._readers and self._engine is None:
                self._empty.notify_all()

    def _unreadable(self) -> StoreUnavailable:
        why = self._held or self._failed
        return StoreHeld(why) if why else StoreUnavailable("the store is being opened again")

    def trouble(self) -> Trouble | None:
        if self._held or self._failed:
            return self._held or self._failed
        if self._ballast.is_there or self._engine is None:
            return None
        fix = "free space; work goes on by itself; checkpoints and closing still work"
        return Trouble("storage_full", "the disk is full", fix)

    def commit_batch(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        """As the contract has it; raises StoreMoved by rule 1."""
        if refusal := self._refusal():
            return (refusal,) * len(units)
        self._must_be_the_same(has_committed=False)
        outcomes = room.commit(units, self._ballast, self._commit)
        self._must_be_the_same(has_committed=True)
        return outcomes

    def _refusal(self) -> Failed | None:
        if os.getpid() != self._pid:
            return Failed(_FORKED)
        if self._held is not None:
            return _failed(self._held)
        if self._failed is not None and self._clock() < self._rests_until:
            return _failed(self._failed)
        return None

    def _must_be_the_same(self, *, has_committed: bool) -> None:
        if moved := self._files.moved():
            self._hold(Trouble("storage_error", f"store_moved: {moved}", "call again"))
            self._drop()
            raise StoreMoved(moved, has_committed=has_committed)

    def _commit(self, units: tuple[Unit, ...]) -> tuple[Outcome, ...]:
        """Commit through an engine that works; count what it fails."""
        if self._engine is None and not self._open_again():
            return (self._refusal() or Failed("the store is not open"),) * len(units)
        engine = self._engine
        assert engine is not None
        before = engine.failures
        outcomes = engine.commit_batch(units)
        if engine.failures == before:
            self._succeeded(engine, outcomes)
        else:
            self._failed_with(outcomes)
        if any(isinstance(outcome, _NOT_SURE) for outcome in outcomes) and engine.is_panicked():
            self._drop()
            self._open_again()
        return outcomes

    def _succeeded(self, engine: LmdbBackend, outcomes: tuple[Outcome, ...]) -> None:
        committed = [outcome for outcome in outcomes if isinstance(outcome, Committed)]
        if committed:
            self._failures, self._failed = 0, None
            self._acknowledged = engine.committed
            self._heads = dict(committed[-1].versions)

    def _failed_with(self, outcomes: tuple[Outcome, ...]) -> None:
        bad = [outcome for outcome in outcomes if isinstance(outcome, Failed | Unknown)]
        why = bad[-1].why if bad else ""
        self._failures += 1
        log.error("a commit failed (%d in a row): %s", self._failures, why)
        for outcome in bad:
            if isinstance(outcome, Failed) and outcome.code == "store_damaged":
                self._hold(Trouble(outcome.code, outcome.why, outcome.fix))
                return
        if self._failures >= FAILURES:
            self._rest(f"{self._failures} commits failed in a row: {why}")

    def _rest(self, why: str) -> None:
        self._rests_until = self._clock() + REST_S
        fix = f"see to the disk; writing is tried again every {REST_S:.0f} s, reading goes on"
        self._failed = Trouble("storage_error", why, fix)

    def _open_again(self) -> bool:
        """Open the engine and compare it with what was acknowledged; say whether it may be used."""
        try:
            engine = LmdbBackend(self._directory)
        except StoreDamaged as damage:
            self._hold(Trouble("store_damaged", str(damage), RESTORE))
            return False
        except StoreUnavailable as error:
            self._rest(f"the store cannot be opened again: {error}")
            return False
        if why := self._forgotten(engine):
            engine.close()
            self._hold(Trouble("store_damaged", why, RESTORE))
            return False
        log.warning("the store was opened again")
        self._files = OpenedFiles(self._directory)
        with self._lock:
            self._engine = engine
        return True

    def _forgotten(self, engine: LmdbBackend) -> str:
        """Return what of the acknowledged is not there; empty when all is."""
        if engine.store_id != self.store_id:
            return f"the store is another one now: {engine.store_id}"
        if engine.transaction() < self._acknowledged:
            return f"transaction {self._acknowledged} was acknowledged and is gone"
        for stream, version in self._heads.items():
            if engine.head(stream).version < version:
                return f"{stream} was at {version} and is not any more"
        return ""

    def _drop(self) -> None:
        """Close the engine as soon as nobody reads; from now on nobody begins to."""
        with self._lock:
            engine, self._engine = self._engine, None
            is_free = self._empty.wait_for(lambda: not self._readers, READERS_LEAVE_S)
        if engine is not None and is_free:
            engine.close()

    def _hold(self, trouble: Trouble) -> None:
        self._held = trouble
        log.critical("nothing is written any more: %s", trouble.why)

    def backup(self, directory: Path) -> None:
        engine = self.enter()
        try:
            engine.backup(directory)
        finally:
            self.leave()

    def close(self) -> None:
        if os.getpid() != self._pid:
            return
        was_sound = self.trouble() is None
        self._drop()
        if was_sound:
            clean.write(self._directory)


class _Visit:
    """A view of the engine as a block, during which it is not closed: 1 us more than the view."""

    __slots__ = ("_kept", "_view")

    def __init__(self, kept: KeptBackend) -> None:
        self._kept = kept

    def __enter__(self) -> View:
        self._view = self._kept.enter().view()
        try:
            return self._view.__enter__()
        except BaseException:
            self._kept.leave()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._view.__exit__(kind, error, trace)
        finally:
            self._kept.leave()


def _failed(trouble: Trouble) -> Failed:
    return Failed(trouble.why, trouble.code, trouble.fix)
