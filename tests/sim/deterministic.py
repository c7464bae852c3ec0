"""Run a trio program so that one seed gives one schedule.

trio shuffles ready tasks with a private generator behind a private flag; both names are checked,
so that an upgrade of trio fails here loudly and not by drifting schedules.
"""

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
import trio
import trio.testing
from trio._core import _run

T = TypeVar("T")


def run(seed: int, program: Callable[[], Awaitable[T]]) -> T:
    """Run `program` under virtual time with the schedule of `seed`."""
    assert hasattr(_run, "_ALLOW_DETERMINISTIC_SCHEDULING"), "trio changed: find the new flag"
    assert isinstance(_run._r, random.Random), "trio changed: find the new generator"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)
        _run._r.seed(seed)
        return trio.run(program, clock=trio.testing.MockClock(autojump_threshold=0))
