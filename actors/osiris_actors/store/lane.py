"""Where blocking work of the writer runs: one thread of its own, or right here.

The own thread is there because a write transaction must stay on one, and because a stuck one can
be left behind. It is also cheaper than `trio.to_thread` (measured: 37 us against 55 us a call).
"""

import queue
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar, TypeVarTuple

import outcome
import trio

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Lane(Protocol):
    """Runs one call at a time."""

    async def call(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """Run the call and return what it returned or raised.

        A cancelled wait leaves the call running and its outcome unread.
        """
        ...

    def close(self) -> None:
        """Let the thread end when its call has ended. There are no calls after it."""
        ...


class ThreadLane:
    """A thread that lives from the first call to `close`; it does not keep the process alive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        self._start()
        loop = trio.lowlevel.current_trio_token()
        task = trio.lowlevel.current_task()
        waits = True

        def report(result: outcome.Outcome[T]) -> None:
            if waits:
                trio.lowlevel.reschedule(task, outcome.Value(result))

        def job() -> None:
            loop.run_sync_soon(report, outcome.capture(function, *args))

        def give_up(_raise_cancel: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
            nonlocal waits
            waits = False
            return trio.lowlevel.Abort.SUCCEEDED

        self._jobs.put(job)
        result: outcome.Outcome[T] = await trio.lowlevel.wait_task_rescheduled(give_up)
        return result.unwrap()

    def close(self) -> None:
        self._jobs.put(None)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        for job in iter(self._jobs.get, None):
            try:
                job()
            except trio.RunFinishedError:  # nobody is left to tell
                return


class InlineLane:
    """Runs calls in the event loop: for simulation, where no thread may run."""

    async def call(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        await trio.lowlevel.checkpoint()
        return function(*args)

    def close(self) -> None:
        pass
