"""Cells: one supervised actor each, activated on first use, passivated when idle.

Rule 1: a crash is answered as an error, the actor reloads, the next message is handled. So is a
        store that cannot be read, which is no crash.
Rule 2: three crashes in 60 s quarantine that cell alone; the reason is kept for `osiris health`.
Rule 3: a cell leaves the directory only with an empty mailbox, so no message meets a closed one.
Rule 4: above RESIDENT cells the one longest unused is asked to leave first.
Rule 5: where nobody waits and nothing runs, the asker handles its message itself, in its own task,
        shielded and with its deadline: nobody is woken to take it and to bring the answer back
        (60 us of a precheck). Whoever comes meanwhile waits in the mailbox. What may be cut short
        needs no shield: it has changed nothing, or the one commit it asked for goes on. Nor does
        it need the deadline (15 us): the writer has its own, and a thread cannot be left anyway.
"""

import logging
import math
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

import trio

from osiris.core.errors import Refusal
from osiris_actors import answers
from osiris_actors.mailbox import ASK_S, DIED, LATE, Envelope, Mailbox
from osiris_actors.store.contract import StoreDamaged, StoreUnavailable

M = TypeVar("M")
R = TypeVar("R")
M_contra = TypeVar("M_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

IDLE_S = 120.0
RESIDENT = 10_000
CRASHES = 3
CRASH_WINDOW_S = 60.0
AGAIN_S = 1.0

log = logging.getLogger(__name__)


class Actor(Protocol[M_contra, R_co]):
    """What runs in a cell: loaded once, then one message at a time."""

    async def load(self) -> None: ...

    async def handle(self, message: M_contra) -> R_co: ...

    async def passivate(self) -> None: ...


class Cell(Generic[M, R]):
    """One actor, its mailbox and its record of crashes."""

    def __init__(self, name: str, make: Callable[[], Actor[M, R]]) -> None:
        self.name = name
        self.mailbox = Mailbox[M, R]()
        self.crashes: deque[float] = deque(maxlen=CRASHES)
        self.quarantined = ""
        self._retiring = False
        self._waiting = trio.CancelScope()
        self._is_parked = False
        self._is_visited = False
        self._left: trio.Event | None = None
        self._used_at = trio.current_time()
        self._make = make
        self._actor: Actor[M, R] | None = None

    def retire(self) -> None:
        """Leave as soon as the mailbox is empty."""
        self._retiring = True
        self._waiting.cancel()

    async def ask(self, message: M, *, within_s: float, is_brief: bool) -> R | Refusal:
        """Return the answer to `message`, or why there is none; `is_brief`: it may be cut short.

        What is sent without waiting first is handled in the order of sending.
        """
        if not self._is_parked or self._is_visited:
            self._is_parked = False
            return await self.mailbox.ask(message, within_s=within_s)
        if is_brief:
            return await self._visit(message)
        with trio.CancelScope(shield=True, deadline=trio.current_time() + within_s):
            return await self._visit(message)
        return LATE

    async def _visit(self, message: M) -> R | Refusal:
        self._is_visited = True
        try:
            return await self.answer(message)
        finally:
            self._end_visit()

    async def next(self, idle_s: float) -> Envelope[M, R] | None:
        """Return the next envelope, or None when nobody has been here for `idle_s`."""
        envelope = None
        if not self._retiring or self.mailbox.depth or self.quarantined:
            until = math.inf if self.quarantined else self._used_at + idle_s
            self._is_parked = not self.mailbox.depth
            with trio.move_on_at(until) as self._waiting:
                envelope = await self.mailbox.receive()
            self._is_parked = False
        if self._is_visited:
            self._left = trio.Event()
            await self._left.wait()
        return envelope

    def is_leaving(self, idle_s: float) -> bool:
        """Say whether the cell has nothing to do here any more."""
        is_unused = trio.current_time() >= self._used_at + idle_s
        return not self.quarantined and (self._retiring or is_unused)

    async def answer_one(self, envelope: Envelope[M, R]) -> None:
        """Answer one envelope, whatever happens."""
        try:
            envelope.answer(await self.answer(envelope.message))
        finally:
            envelope.answer(DIED)

    async def answer(self, message: M) -> R | Refusal:
        """Handle one message; a crash is recorded and drops the actor's state."""
        try:
            if self.quarantined:
                return self._held()
            return await (await self._loaded()).handle(message)
        except StoreUnavailable as error:
            self._actor = None
            return answers.broken(error)
        except StoreDamaged as error:
            self._crashed(error)
            return self._held() if self.quarantined else answers.broken(error)
        except Exception as error:  # noqa: BLE001  a mailbox survives any actor
            self._crashed(error)
            return self._held() if self.quarantined else DIED
        except trio.Cancelled:
            self._actor = None
            raise
        finally:
            self._used_at = trio.current_time()

    async def passivate(self) -> None:
        if self._actor is not None:
            await self._actor.passivate()

    def _held(self) -> Refusal:
        """Return why this cell takes nothing."""
        fix = "see `osiris health`; other tasks go on"
        return Refusal("quarantined", f"{self.name} is held: {self.quarantined}", fix)

    def _end_visit(self) -> None:
        self._is_visited = False
        if self._left is not None:
            self._left.set()
            self._left = None

    async def _loaded(self) -> Actor[M, R]:
        if self._actor is None:
            actor = self._make()
            await actor.load()
            self._actor = actor
        return self._actor

    def _crashed(self, error: Exception) -> None:
        now = trio.current_time()
        log.error("%s crashed", self.name, exc_info=error)
        self._actor = None
        self.crashes.append(now)
        if len(self.crashes) == CRASHES and now - self.crashes[0] <= CRASH_WINDOW_S:
            self.quarantined = f"{type(error).__name__} three times in a minute"


class Directory(Generic[M, R]):
    """Cells by name; the only way to reach an actor of its kind."""

    def __init__(
        self,
        nursery: trio.Nursery,
        make: Callable[[str], Actor[M, R]],
        *,
        idle_s: float = IDLE_S,
        resident: int = RESIDENT,
    ) -> None:
        self._nursery = nursery
        self._make = make
        self._cells: OrderedDict[str, Cell[M, R]] = OrderedDict()
        self._idle_s = idle_s
        self._resident = resident

    async def ask(
        self, name: str, message: M, *, within_s: float = ASK_S, is_brief: bool = False
    ) -> R | Refusal:
        """Return the answer of `name`, which is activated if needed; see `Cell.ask`."""
        return await self._cell(name).ask(message, within_s=within_s, is_brief=is_brief)

    def quarantined(self) -> dict[str, str]:
        return {name: c.quarantined for name, c in self._cells.items() if c.quarantined}

    def __len__(self) -> int:
        return len(self._cells)

    def _cell(self, name: str) -> Cell[M, R]:
        cell = self._cells.get(name)
        if cell is None:
            cell = Cell[M, R](name, lambda: self._make(name))
            self._cells[name] = cell
            self._nursery.start_soon(self._run, cell, name=name)
            self._make_room()
        self._cells.move_to_end(name)
        return cell

    def _make_room(self) -> None:
        if len(self._cells) > self._resident:
            next(iter(self._cells.values())).retire()

    async def _run(self, cell: Cell[M, R]) -> None:
        try:
            while not await self._is_idle(cell):
                pass
        finally:
            self._cells.pop(cell.name, None)
            cell.mailbox.close()

    async def _is_idle(self, cell: Cell[M, R]) -> bool:
        """Handle one message; say whether the cell has left instead."""
        envelope = await cell.next(self._idle_s)
        if envelope is not None:
            await cell.answer_one(envelope)
            return False
        if not cell.is_leaving(self._idle_s):
            return False
        await cell.passivate()
        return cell.mailbox.depth == 0


async def kept_running(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Run `run` again whenever it crashes, after AGAIN_S."""
    while True:
        try:
            await run()
        except Exception:
            log.exception("%s crashed", name)
        await trio.sleep(AGAIN_S)


async def one_for_one(
    name: str, mailbox: Mailbox[M, R], handle: Callable[[M], Awaitable[R]]
) -> None:
    """Answer envelopes one at a time for ever; a crash is logged, answered and survived."""
    try:
        while True:
            envelope = await mailbox.receive()
            try:
                envelope.answer(await handle(envelope.message))
            except (StoreDamaged, StoreUnavailable) as error:
                envelope.answer(answers.broken(error))
            except Exception:
                log.exception("%s crashed", name)
            finally:
                envelope.answer(DIED)
    finally:
        mailbox.close()
