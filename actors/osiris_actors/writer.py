"""The one writer: gathers the units that wait, commits them together, answers each.

Rule 1: nobody is answered before the commit that holds their unit has returned.
Rule 2: a batch is what waits when the last one ended, up to BATCH_UNITS and BATCH_BYTES: group
        commit without a timer.
Rule 3: a unit whose commit has begun is answered, whatever is cancelled; one that only waits is
        taken back when its waiter is cancelled, and was never stored.
Rule 4: a full queue answers Busy at once; a stopped writer answers Failed.
Rule 5: a commit that takes longer than STUCK_AFTER_S ends the service: WriterStuck comes out of
        `run`, and those who wait for it are told Unknown.
Rule 6: so does a store whose files were taken away: StoreMoved comes out, no unit is taken after
        it, and who opens the home next finds what is there now.
Rule 7: before rules 5 and 6 answer anybody, `ends` is told why. An owner's ends its process there:
        nobody is answered, and clients ask the next owner.
"""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial

import msgspec
import outcome
import trio

from osiris_actors.env import Env
from osiris_actors.reading import Reading
from osiris_actors.store.backend import Backend
from osiris_actors.store.contract import (
    Blob,
    Busy,
    Committed,
    Failed,
    Listener,
    Outcome,
    Unit,
    Unknown,
)
from osiris_actors.store.failures import StoreMoved
from osiris_actors.store.lane import STUCK_AFTER_S, Lane, ThreadLane
from osiris_actors.store.room import size_bytes

QUEUE_UNITS = 1024
BATCH_UNITS = 1000
BATCH_BYTES = 8 * 1024 * 1024
_RETRY_MS = 50
_STOPPING = Failed("stopping")
STUCK = f"no outcome after {STUCK_AFTER_S:.0f} s"

log = logging.getLogger(__name__)


class WriterStuck(Exception):  # noqa: N818 - named by what happened to the caller
    """A commit did not come back."""


class Statistics(msgspec.Struct):
    """What the writer did since it began; `waiting` units are queued now."""

    batches: int = 0
    units: int = 0
    busy: int = 0
    unknown: int = 0
    largest_batch: int = 0
    commit_seconds: float = 0.0
    longest_commit_seconds: float = 0.0
    waiting: int = 0


class _Entry:
    """A unit in the queue and the task that waits for its outcome."""

    __slots__ = ("begun", "size_bytes", "task", "unit")

    def __init__(self, unit: Unit, size_bytes: int) -> None:
        self.unit = unit
        self.size_bytes = size_bytes
        self.task = trio.lowlevel.current_task()
        self.begun = False

    def answer(self, result: Outcome) -> None:
        trio.lowlevel.reschedule(self.task, outcome.Value(result))


class _Batch:
    """What is committed together, and since when."""

    __slots__ = ("began", "entries", "units")

    def __init__(self, entries: list[_Entry]) -> None:
        self.entries = entries
        self.units = tuple(entry.unit for entry in entries)
        self.began = trio.current_time()
        for entry in entries:
            entry.begun = True


class Writer(Reading):
    """The store the actors see. It commits only while `run` runs; reads need no `run`."""

    def __init__(
        self,
        backend: Backend,
        env: Env,
        *,
        lane: Lane | None = None,
        ends: Callable[[str], None] = log.critical,
    ) -> None:
        super().__init__(backend, env)
        self._lane: Lane = ThreadLane("osiris-writer") if lane is None else lane
        self._queue: deque[_Entry] = deque()
        self._batch: _Batch | None = None
        self._ends = ends
        self._changed = trio.Event()
        self._is_running = False
        self._stopped = False
        self._failure: BaseException | None = None
        self._refusal = _STOPPING
        self._listeners: list[Listener] = []
        self._statistics = Statistics()
        self._busy = 0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Commit until `stop` has been called and the queue is empty, or until cancelled.

        A batch that has begun is finished first. Raises WriterStuck and StoreMoved.
        """
        self._is_running = True
        task_status.started()
        self._begin()
        try:
            await self._until(lambda: self._stopped and not self._queue and not self._batch)
        finally:
            self._stopped, self._is_running = True, False
            with trio.CancelScope(shield=True):
                await self._until(lambda: not self._batch)
            self._lane.close()
            while self._queue:
                self._queue.popleft().answer(self._refusal)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Take no more units; `run` ends when those that wait are committed."""
        self._stopped = True
        self._changed.set()

    def statistics(self) -> Statistics:
        return msgspec.structs.replace(self._statistics, busy=self._busy, waiting=len(self._queue))

    def watch(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def commit(self, unit: Unit) -> Outcome:
        if self._stopped:
            return self._refusal
        if len(self._queue) >= QUEUE_UNITS:
            self._busy += 1
            return Busy(_RETRY_MS)
        size = size_bytes(unit)
        if (result := self._at_once(unit, size)) is not None:
            return result
        entry = _Entry(unit, size)
        self._queue.append(entry)
        self._begin()

        def take_back(_raise_cancel: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            if entry.begun:
                return trio.lowlevel.Abort.FAILED
            self._queue.remove(entry)
            return trio.lowlevel.Abort.SUCCEEDED

        found: Outcome = await trio.lowlevel.wait_task_rescheduled(take_back)
        return found

    async def put_blob(self, blob: Blob) -> Outcome:
        return await self.commit(Unit(blobs=(blob,)))

    async def _until(self, is_over: Callable[[], bool]) -> None:
        """Return when `is_over`, or when there is a failure."""
        while self._failure is None and not is_over():
            began = trio.current_time() if self._batch is None else self._batch.began
            with trio.move_on_at(began + STUCK_AFTER_S):
                await self._changed.wait()
            self._changed = trio.Event()
            if self._batch and trio.current_time() >= self._batch.began + STUCK_AFTER_S:
                self._give_up(self._batch)

    def _give_up(self, batch: _Batch) -> None:
        self._ends(STUCK)
        self._failure = WriterStuck(STUCK)
        self._answer(batch, (Unknown("the commit did not report"),) * len(batch.units))

    def _at_once(self, unit: Unit, size: int) -> Outcome | None:
        """Commit a unit right here, if nobody else waits and the lane takes it so; else None."""
        if not self._is_running or self._queue or self._batch:
            return None
        units, began = (unit,), trio.current_time()
        result = self._lane.at_once(partial(self._backend.commit_batch, units), size)
        if result is None:
            return None
        outcomes = self._outcomes(units, result)
        self._told(units, outcomes, trio.current_time() - began)
        return outcomes[0]

    def _begin(self) -> None:
        """Commit what waits, unless a commit is under way."""
        if self._is_running and self._queue and not self._batch:
            self._batch = batch = _Batch(self._drain())
            commit = partial(self._backend.commit_batch, batch.units)
            self._lane.start(commit, partial(self._report, batch))

    def _drain(self) -> list[_Entry]:
        """Take what the next commit holds: the first unit always, then while there is room."""
        batch: list[_Entry] = []
        room = BATCH_BYTES
        while self._queue and len(batch) < BATCH_UNITS:
            room -= self._queue[0].size_bytes
            if batch and room < 0:
                break
            batch.append(self._queue.popleft())
        return batch

    def _report(self, batch: _Batch, result: outcome.Outcome[tuple[Outcome, ...]]) -> None:
        """Answer a batch whose commit has returned or raised, and begin the next one."""
        if batch is not self._batch:
            return  # it was given up
        self._answer(batch, self._outcomes(batch.units, result))
        if self._failure is None:
            self._begin()

    def _answer(self, batch: _Batch, outcomes: tuple[Outcome, ...]) -> None:
        self._batch = None
        for entry, result in zip(batch.entries, outcomes, strict=True):
            entry.answer(result)
        self._told(batch.units, outcomes, trio.current_time() - batch.began)

    def _outcomes(
        self, units: tuple[Unit, ...], result: outcome.Outcome[tuple[Outcome, ...]]
    ) -> tuple[Outcome, ...]:
        try:
            return result.unwrap()
        except BaseException as error:  # noqa: BLE001  what is no Exception comes out of `run`
            return (self._failed(units, error),) * len(units)

    def _told(self, units: tuple[Unit, ...], outcomes: tuple[Outcome, ...], seconds: float) -> None:
        """Do what follows the answer to a batch."""
        self._count_batch(outcomes, seconds)
        self._notify(units, outcomes)
        if self._stopped or self._failure is not None:
            self._changed.set()

    def _failed(self, units: tuple[Unit, ...], error: BaseException) -> Failed | Unknown:
        """Return what the units of a commit that raised are told."""
        if isinstance(error, StoreMoved):
            self._ends(f"store_moved: {error}")
            self._failure = error
            return self._moved(error)
        if isinstance(error, Exception):
            log.error("a commit of %d units failed", len(units), exc_info=error)
        else:
            self._failure = error
        return Unknown("the commit did not report")

    def _moved(self, moved: StoreMoved) -> Failed | Unknown:
        """Take no more units; return what those of the batch at hand are told."""
        self._stopped = True
        self._refusal = Failed(f"store_moved: {moved}", fix="call again: another owner takes over")
        return Unknown(f"store_moved: {moved}") if moved.has_committed else self._refusal

    def _count_batch(self, outcomes: tuple[Outcome, ...], seconds: float) -> None:
        now = self._statistics
        now.batches += 1
        now.units += len(outcomes)
        now.unknown += sum([isinstance(o, Unknown) for o in outcomes])
        now.largest_batch = max(now.largest_batch, len(outcomes))
        now.commit_seconds += seconds
        now.longest_commit_seconds = max(now.longest_commit_seconds, seconds)

    def _notify(self, units: tuple[Unit, ...], outcomes: tuple[Outcome, ...]) -> None:
        for unit, result in zip(units, outcomes, strict=True):
            for listener in tuple(self._listeners) if isinstance(result, Committed) else ():
                try:
                    listener(unit)
                except Exception:  # a listener is not part of the commit
                    names = ", ".join([append.stream for append in unit.appends])
                    log.exception("a listener failed on a commit of %s", names)
