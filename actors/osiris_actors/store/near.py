"""The lane of an owner: a short commit that nobody else waits for runs where it is asked for.

To a thread and back takes 180 us on two idle cores, as long as the work of a small commit itself.

Rule 1: a job runs in the event loop only if its call is the only one under way, it writes at most
        NEAR_BYTES, and the last QUICK_JOBS jobs took at most QUICK_S each: about as long as any
        call holds the loop. One that takes longer sends those after it to the thread.
Rule 2: a disk that stalls can so hold up the loop once, and then not until it is quick again.
Rule 3: a job that does not come back is found by `Watch`, as the writer finds one in the thread.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import outcome

from osiris_actors.store.lane import STUCK_AFTER_S, Lane

T = TypeVar("T")

QUICK_S = 0.001
QUICK_JOBS = 32
NEAR_BYTES = 16 * 1024


class NearLane:
    """Runs jobs here while rule 1 holds, else in `far`.

    `is_alone` says whether only the call that commits is under way; `late` is told of a job here
    that does not come back, from another thread.
    """

    def __init__(
        self,
        far: Lane,
        is_alone: Callable[[], bool],
        late: Callable[[], None],
        *,
        clock: Callable[[], float] = time.perf_counter,
        stuck_after_s: float = STUCK_AFTER_S,
    ) -> None:
        self._far = far
        self._is_alone = is_alone
        self._clock = clock
        self._watch = Watch(late, stuck_after_s)
        self._quick = 0

    def at_once(self, job: Callable[[], T], size_bytes: int) -> outcome.Outcome[T] | None:
        if self._quick < QUICK_JOBS or size_bytes > NEAR_BYTES or not self._is_alone():
            return None
        self._watch.begin()
        try:
            return outcome.capture(self._timed, job)
        finally:
            self._watch.end()

    def start(self, job: Callable[[], T], then: Callable[[outcome.Outcome[T]], None]) -> None:
        self._far.start(partial(self._timed, job), then)

    def close(self) -> None:
        self._watch.close()
        self._far.close()

    def _timed(self, job: Callable[[], T]) -> T:
        """Return what `job` returns; count it among the quick ones if it is one."""
        began = self._clock()
        try:
            return job()
        finally:
            is_quick = self._clock() - began <= QUICK_S
            self._quick = self._quick + 1 if is_quick else 0


class Watch:
    """Calls `late` when what began has not ended after `limit_s`, or half as long again.

    Its thread looks twice in `limit_s` while things begin, and sleeps when nothing does.
    """

    def __init__(self, late: Callable[[], None], limit_s: float) -> None:
        self._late = late
        self._limit_s = limit_s
        self._began = 0.0
        self._count = 0
        self._is_asleep = False
        self._is_closed = False
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        self._began = time.monotonic()
        self._count += 1
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="osiris-watch", daemon=True)
            self._thread.start()
        if self._is_asleep:
            self._bell.set()

    def end(self) -> None:
        self._began = 0.0

    def close(self) -> None:
        """Let the thread end."""
        self._is_closed = True
        self._bell.set()

    def _run(self) -> None:
        seen = 0
        while not self._is_closed:
            if self._count == seen and not self._began:
                self._sleep(seen)
            seen = self._count
            if self._bell.wait(self._limit_s / 2):
                self._bell.clear()
            elif self._is_late(self._began):
                self._late()
                return

    def _is_late(self, began: float) -> bool:
        return began > 0 and time.monotonic() - began > self._limit_s

    def _sleep(self, seen: int) -> None:
        """Wait until something begins; who begins it rings only for a sleeper."""
        self._is_asleep = True
        if self._count == seen:
            self._bell.wait()
        self._is_asleep = False
