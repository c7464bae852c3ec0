"""What a task costs that nobody works on: `python -m bench.idle --tasks 10000 --json`.

One process makes the tasks: each is planned and given facts and an action with a result. Another
one, the owner's own parts over the store that it finds, activates them one by one and lets the
clock passivate them.

| figure                     | what                                                              |
| resident_bytes_per_task    | private memory of an active task: state, cell, mailbox, trio task |
| passive_bytes_per_task     | memory that did not come back when it was passivated              |
| passive_objects_per_task   | Python objects that did not go: what is not 0 here is a leak      |
| activation_p50_ms, _p99_ms | from asking a passive task to its state, read from the store      |
| disk_bytes_per_task        | the store's file                                                  |

Rule 1: memory is anonymous memory after a collection; pages of the store's map are the kernel's.
        It is counted in a process that has made no task: freed memory is not given back.
Rule 2: exit code 1 when a task did not activate, did not leave, or left an object behind.
"""

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import tempfile
from array import array
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any

import msgspec
import trio
import trio.testing

from bench import owners
from bench.progress import Progress
from osiris.config import Settings
from osiris.core.task_state import TaskState
from osiris.home import Home
from osiris.parts import Parts
from osiris.service import Ask, Caller
from osiris_actors.gateway import Gateway
from osiris_actors.supervisor import IDLE_S
from osiris_actors.system import System

CLIENTS = 100
FACTS = 3
RESULT = "x" * 400
LEAVE_LOOKS = 1_000


class NoTurn:
    """A call that stands alone in its connection."""

    async def wait(self) -> None: ...

    def done(self) -> None: ...


class Figures(msgspec.Struct, frozen=True):
    tasks: int
    resident: int
    left: int
    resident_bytes_per_task: int
    passive_bytes_per_task: int
    passive_objects_per_task: float
    activation_p50_ms: float
    activation_p99_ms: float
    disk_bytes_per_task: int


async def measure(home: Home, clock: trio.testing.MockClock) -> Figures:
    """Look at what the tasks of a home cost."""
    async with _system(home) as system:
        names = [name.removeprefix("task/") for name in await system.store.streams("task/")]
        tasks = len(names)
        await system.look(names[0])
        await _leave(system, clock)
        empty, objects = _anonymous_bytes(), sys.getallocatedblocks()
        took_ms = array("d")  # unlike a list it holds no objects
        for name in names:
            took_ms.append(await _activate(system, name))
        resident = len(system.tasks)
        full = _anonymous_bytes()
        await _leave(system, clock)
        left, after = len(system.tasks), _anonymous_bytes()
        objects = sys.getallocatedblocks() - objects
    cuts = quantiles(took_ms, n=100)
    return Figures(
        tasks=tasks,
        resident=resident,
        left=left,
        resident_bytes_per_task=(full - empty) // max(1, resident),
        passive_bytes_per_task=(after - empty) // tasks,
        passive_objects_per_task=round(objects / tasks, 1),
        activation_p50_ms=round(cuts[49], 3),
        activation_p99_ms=round(cuts[98], 3),
        disk_bytes_per_task=(Path(home.store_dir) / "data.mdb").stat().st_size // tasks,
    )


@asynccontextmanager
async def _system(home: Home) -> AsyncGenerator[System]:
    """Run the parts of an owner without its sockets; counts stay estimates."""
    home.make()
    async with Parts(home, Settings(home.root)).running(reports=None) as system:
        system.ingest.ready.set()
        yield system


async def make(home: Home, tasks: int) -> None:
    """Make `tasks` tasks, CLIENTS at a time."""
    progress, numbers = Progress("tasks", tasks), iter(range(tasks))

    async def client(gateway: Gateway) -> None:
        for number in numbers:
            await _make_one(gateway, number)
            progress.step(number + 1)

    async with _system(home) as system, trio.open_nursery() as nursery:
        for _ in range(CLIENTS):
            nursery.start_soon(client, Gateway(system))
    progress.end()


async def _make_one(gateway: Gateway, number: int) -> None:
    """Plan a task, note FACTS facts and an action with a result."""
    caller = Caller(f"{number:032x}", "bench", "owner", "")
    action = {
        "kind": "action",
        "tool": "bash",
        "args": {"n": number},
        "result": f"{number} {RESULT}",
    }
    calls: list[tuple[str, dict[str, Any]]] = [
        ("plan", {"mode": "start", "objective": f"task {number}", "steps": ["look", "change"]}),
        *(("observe", {"kind": "fact", "text": f"fact {n} of {number}"}) for n in range(FACTS)),
        ("observe", action | {"result": f"{number} {RESULT}"}),
    ]
    for place, (tool, arguments) in enumerate(calls):
        answer = await gateway.call(caller, Ask(tool, arguments, f"i:{place}"), NoTurn())
        if answer.is_error:
            raise RuntimeError(answer.text)


async def _activate(system: System, name: str) -> float:
    """Return the milliseconds that asking a passivated task for its state takes."""
    began = perf_counter()
    state = await system.look(name)
    if not isinstance(state, TaskState):
        raise TypeError(f"{name}: {state.text()}")
    return (perf_counter() - began) * 1000


async def _leave(system: System, clock: trio.testing.MockClock) -> None:
    """Let the time pass after which idle tasks leave, and return when they have."""
    await system.flush()
    clock.jump(IDLE_S + 1)
    for _ in range(LEAVE_LOOKS):
        await trio.testing.wait_all_tasks_blocked()
        if not len(system.tasks):
            return


def _anonymous_bytes() -> int:
    """Return this process's private memory after all that can be given back is given back."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description="what a task costs that nobody works on")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--make", metavar="HOME", help="make the tasks of a home and no more")
    parser.add_argument("--json", action="store_true", help="print JSON alone on stdout")
    args = parser.parse_args()
    if not Path("/proc/self/status").exists():
        print("this bench reads /proc, which is not there", file=sys.stderr)
        return 2
    if args.make:
        trio.run(make, Home(args.make), args.tasks)
        return 0
    clock = trio.testing.MockClock(rate=1.0)
    with tempfile.TemporaryDirectory(prefix="osiris-idle-", dir=owners.disk()) as folder:
        maker = (sys.executable, "-m", "bench.idle", "--tasks", str(args.tasks), "--make", folder)
        subprocess.run(maker, check=True)
        found = trio.run(measure, Home(folder), clock, clock=clock)
    said = msgspec.structs.asdict(found)
    print(json.dumps(said) if args.json else "\n".join(f"{k:<26}{v:>12,}" for k, v in said.items()))
    is_complete = (found.tasks, found.resident, found.left) == (args.tasks, args.tasks, 0)
    return 0 if is_complete and found.passive_objects_per_task < 1 else 1


if __name__ == "__main__":
    sys.exit(main())
