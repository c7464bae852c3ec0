"""What a fault did: how often it was tried, and what was lost, wrong or dead afterwards."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec


class CannotMakeError(Exception):
    """The fault cannot be made on this machine; the text says what is missing."""


class Tally:
    """One row's result, filled in while its faults are made.

    `acked_lost` counts acknowledged things that are not there, `silent_wrong` values that are not
    what was written and came without an error, `crashed` processes that ended and were not ended.
    """

    def __init__(self, budget_s: float) -> None:
        self.tries = 0
        self.acked_lost = 0
        self.silent_wrong = 0
        self.crashed = 0
        self.problems: list[str] = []
        self.figures: dict[str, float] = {}
        self._ends = time.monotonic() + budget_s

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self._ends

    def expect(self, what: str, *, holds: bool) -> None:
        """Note what did not hold."""
        if not holds:
            self.problems.append(what)

    def worst(self, name: str, value: float) -> None:
        """Keep the highest value of a figure."""
        self.figures[name] = round(max(value, self.figures.get(name, 0)), 3)


class Row(msgspec.Struct, frozen=True):
    """One row of the table of faults: `make` makes them in a folder of its own."""

    number: int
    what: str
    how: str
    budget_s: float
    make: Callable[[Path, Tally], None]

    def run(self, folder: Path) -> dict[str, Any]:
        """Make the faults and return what came of them."""
        tally, began = Tally(self.budget_s), time.monotonic()
        skipped = ""
        try:
            self.make(folder, tally)
        except CannotMakeError as error:
            skipped = str(error)
        except Exception as error:  # noqa: BLE001  a bench's top: one row must not hide the others
            tally.problems.append(f"{type(error).__name__}: {error}"[:300])
        said: dict[str, Any] = {
            "row": self.number,
            "what": self.what,
            "tries": tally.tries,
            "acked_lost": tally.acked_lost,
            "silent_wrong": tally.silent_wrong,
            "crashed": tally.crashed,
            "how": self.how,
            "seconds": round(time.monotonic() - began, 1),
        }
        extra = {"skipped": skipped, "figures": tally.figures, "problems": tally.problems[:5]}
        return said | {name: value for name, value in extra.items() if value}


def rss_mib(pid: int) -> float:
    """Return a process's resident memory; 0 when nobody says."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
    return 0.0
