"""How long a client waits for its first reply."""

import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import msgspec

from bench import owners
from bench.client import BridgeClient

STARTS = 15
COLD_STARTS = 3
BARE = (sys.executable, "-c", "print('ready')")


class Starts(msgspec.Struct, frozen=True):
    """Medians, milliseconds from the spawn of a process to its first line.

    `owner_up`: a bridge, the reply to initialize, an owner is there. `cold`: the same in an empty
    home, so the bridge starts the owner. `bare_python`: an interpreter that prints a line.
    """

    owner_up_ms: float
    cold_ms: float
    bare_python_ms: float


def measure_starts(parent: Path) -> Starts:
    """Start each kind several times in homes under `parent`, in turn."""
    up: list[float] = []
    bare: list[float] = []
    with owners.home_folder(parent) as home:
        _first_reply_ms(home)
        for _ in range(STARTS):
            bare.append(_bare_ms())
            up.append(_first_reply_ms(home))
    cold: list[float] = []
    for _ in range(COLD_STARTS):
        with owners.home_folder(parent) as home:
            cold.append(_first_reply_ms(home))
    return Starts(*(statistics.median(times) for times in (up, cold, bare)))


def _first_reply_ms(home: Path) -> float:
    began = perf_counter()
    client = BridgeClient(home, home)
    client.must_begin()
    took = perf_counter() - began
    client.close()
    return took * 1e3


def _bare_ms() -> float:
    began = perf_counter()
    with subprocess.Popen(BARE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return (perf_counter() - began) * 1e3
