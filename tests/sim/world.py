"""One machine: a store that survives, owners that do not, and faults armed by a seed.

| point           | faults                                                        |
| commit.before   | crash, the store full, failed, unknown and not stored         |
| commit.after    | crash, unknown and stored, a stranger's append (conflict)     |
| owner           | takeover: the owner leaves in order and another one starts    |
| read            | a read fails and whoever reads crashes (bug, EIO)             |
| sick            | every read of one task fails for an owner's life              |

A dead owner reads and writes nothing more, and what it still answers reaches nobody.
"""

import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple

import outcome
import trio

from osiris.core import events as ev
from osiris.core import index, tokens
from osiris_actors.charges import Charges
from osiris_actors.gateway import Gateway
from osiris_actors.ingest import Ingest
from osiris_actors.store.contract import (
    Append,
    Committed,
    Failed,
    Full,
    Head,
    Put,
    Read,
    StoreUnavailable,
    Unit,
    Unknown,
)
from osiris_actors.store.lane import InlineLane
from osiris_actors.store.memory import Answer, Fault, MemoryBackend
from osiris_actors.store.settle import Records
from osiris_actors.stream import Tools
from osiris_actors.system import Options, System, running
from osiris_actors.writer import Writer
from tests.sim.crashes import Crashes, watched

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
DAY_TOKENS = 2_000
LEASE_S = 3
SLOWEST_S = 0.2
SICK = 0.1  # of owners
AT_ONCE = (0, 0, 0.8)  # of commits that nobody else waits for, by owner


class Crash(BaseException):
    """kill -9 of the owner."""


class DefectError(Exception):
    """A defect inside an actor."""


class SimEnv:
    """Time from the virtual clock, ids from the seed, no threads."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def now_ms(self) -> int:
        return 1_800_000_000_000 + round(trio.current_time() * 1000)

    def monotonic(self) -> float:
        return trio.current_time()

    def token(self) -> str:
        return f"{self._rng.getrandbits(128):032x}"

    async def run_sync(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        await trio.lowlevel.checkpoint()
        return function(*args)


class NoSecrets:
    """A redactor for texts that hold none."""

    def redact(self, text: str) -> tuple[str, int]:
        return text, 0

    def redact_tree(self, value: Any) -> tuple[Any, int]:
        return value, 0


class NoFiles:
    """No connection of the simulation may read files."""

    async def read(self, path: str, roots: tuple[str, ...]) -> Any:
        raise AssertionError(f"nobody reads {path} under {roots}")


def no_fault(_: str) -> None:
    pass


class Disk(MemoryBackend):
    """A store that remembers in which order events came to be, across streams."""

    def __init__(self, store_id: str, *, fault: Fault) -> None:
        super().__init__(store_id, fault=fault)
        self.order: list[tuple[str, int]] = []
        self.sick = ""

    def head(self, stream: str) -> Head:
        self._read_of(stream)
        return super().head(stream)

    def read(self, stream: str, after: int = 0) -> Read:
        self._read_of(stream)
        return super().read(stream, after)

    def _read_of(self, stream: str) -> None:
        if stream == self.sick:
            raise DefectError(stream)

    def _write(self, changes: Records) -> None:
        for table, key in changes:
            if table == "events":
                self.order.append(_event(key))
        super()._write(changes)

    def reopen(self, *, fault: Fault = no_fault) -> "Disk":
        successor = super().reopen(fault=fault)
        assert isinstance(successor, Disk)
        successor.order = self.order
        return successor


def _event(key: bytes) -> tuple[str, int]:
    return key[:-9].decode(), int.from_bytes(key[-8:], "big")


class SlowLane(InlineLane):
    """A disk that takes its time, virtual and up to SLOWEST_S a commit, or none at all."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._at_once = rng.choice(AT_ONCE)

    def at_once(self, job: Callable[[], T], size_bytes: int) -> outcome.Outcome[T] | None:
        del size_bytes
        return outcome.capture(job) if self._rng.random() < self._at_once else None

    async def _run(self, job: Callable[[], T], then: Callable[[outcome.Outcome[T]], None]) -> None:
        await trio.sleep(self._rng.choice((0, 0, self._rng.random() * SLOWEST_S)))
        await super()._run(job, then)


class World:
    """The disk, the dice, and the owner of the moment."""

    def __init__(self, seed: int, *, writer: type[Writer] = Writer, faults: bool = True) -> None:
        self.rng = random.Random(seed)
        self.faults = faults
        self.crashes = 0
        self.counts: dict[str, int] = {}
        self.backend = Disk("5" * 32, fault=self._fault)
        self.gateway: Gateway | None = None
        self.up = trio.Event()
        self._writer = writer
        self._dead = False
        self._leaving = False
        self._strangers = 0
        self._steps = 0
        self._stopping = trio.Event()

    @property
    def is_up(self) -> bool:
        """Say whether an answer of the owner of the moment would still arrive."""
        return self.up.is_set() and not self._dead and not self._leaving

    @contextmanager
    def connected(self) -> Generator[None]:
        """Hide from a client how its owner died: for it the line goes dead."""
        try:
            yield
        except (Crash, StoreUnavailable):
            if not self._dead:
                raise

    def step(self) -> int:
        """Return the next moment in the order in which things are seen to happen."""
        self._steps += 1
        return self._steps

    def stop(self) -> None:
        """Let the last owner leave in order, without further faults."""
        self.faults = False
        self._stopping.set()

    async def owners(self) -> None:
        """Run one owner after the other until stopped; after a crash always one more.

        A last one lives without a fault: what it cannot put right was lost.
        """
        while not self._stopping.is_set() or self._dead:
            self._dead = self._leaving = False
            try:
                await self._owner()
            except* Crash:
                self.crashes += 1
            self._succeed()
        await self._owner()
        self._succeed()

    def _succeed(self) -> None:
        self.up = trio.Event()
        self.gateway = None
        self.backend = self.backend.reopen(fault=self._fault)

    async def _owner(self) -> None:
        env = SimEnv(self.rng)
        store = self._writer(self.backend, env, lane=SlowLane(self.rng))
        tools = Tools(store, env, Charges(), tokens.estimate)
        ingest = Ingest(env, NoSecrets(), NoFiles(), tokens.estimate)
        ingest.ready.set()
        options = Options(ceilings={"day/tokens": DAY_TOKENS}, lease_s=LEASE_S)
        self._sicken()
        with watched() as crashes:
            async with running(store, ingest, tools, options) as system:
                self.gateway = Gateway(system)
                self.up.set()
                with trio.move_on_after(self.rng.expovariate(1 / 5)):
                    await self._stopping.wait()
                self._leaving = True
                self._tally("takeover")
                self._check_quarantine(system, crashes)
                self.backend.sick = ""

    def _sicken(self) -> None:
        """Let the reads of some task fail, now and then, while this owner lives."""
        if not self.faults or self.rng.random() >= SICK:
            return
        self.faults = False
        streams = self.backend.streams("task/")
        self.backend.sick = self.rng.choice(streams) if streams else ""
        self.faults = True

    def _check_quarantine(self, system: System, crashes: Crashes) -> None:
        """Three crashes in a minute hold that task; nothing else ever does."""
        held = system.tasks.quarantined().keys()
        expected = {name for name in crashes.held() if name.startswith("task/")}
        assert held == expected, (held, expected)
        self._tally("quarantined", len(held))

    def _fault(self, point: str) -> None:
        if self._dead:
            raise Crash
        if not self.faults:
            return
        dice = self.rng.random()
        if point == "read":
            if dice < 0.001:
                self._tally("bug")
                raise DefectError
            return
        if dice < 0.02:
            self._dead = True
            self._tally(f"crash {point}")
            raise Crash
        if point == "commit.before":
            self._refuse(dice)
        elif dice < 0.04:
            self._tally("unknown, stored")
            raise Answer(Unknown("armed: stored"))
        elif dice < 0.08:
            self._stranger()

    def _refuse(self, dice: float) -> None:
        if dice < 0.04:
            self._tally("full")
            raise Answer(Full("armed: no space"))
        if dice < 0.05:
            self._tally("failed")
            raise Answer(Failed("armed"))
        if dice < 0.07:
            self._tally("unknown, not stored")
            raise Answer(Unknown("armed: not stored"))

    def _stranger(self) -> None:
        """Append to a live stream behind its actor's back, as another process might."""
        self.faults = False
        streams = self.backend.streams("task/")
        if streams:
            stream = self.rng.choice(streams)
            self._strangers += 1
            event = ev.Stamped(0, "stranger", ev.Noted("note", f"x{self._strangers}", "hello"))
            version = self.backend.head(stream).version
            puts = index.puts(stream, version + 1, event, None)
            append = Append(stream, version, (ev.encode(event),))
            unit = Unit(appends=(append,), puts=tuple(Put(key, value) for key, value in puts))
            assert isinstance(self.backend.commit_batch((unit,))[0], Committed)
            self._tally("stranger")
        self.faults = True

    def _tally(self, what: str, count: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + count
