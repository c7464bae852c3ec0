"""Quarantine as a rule of its own, from what supervisors say of crashes in one owner's life."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

import trio

HELD_AFTER = 3
WINDOW_S = 60.0


class Crashes(logging.Handler):
    """When each actor crashed, in virtual seconds, by its name."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._at: dict[str, list[float]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg == "%s crashed" and isinstance(record.args, tuple):
            self._at.setdefault(str(record.args[0]), []).append(trio.current_time())

    def held(self) -> set[str]:
        """Return who crashed HELD_AFTER times within WINDOW_S."""
        return {
            name
            for name, times in self._at.items()
            if any(
                last - first <= WINDOW_S
                for first, last in zip(times, times[HELD_AFTER - 1 :], strict=False)
            )
        }


@contextmanager
def watched() -> Generator[Crashes]:
    """Yield what is heard of crashes until the context ends."""
    log, crashes = logging.getLogger("osiris_actors.supervisor"), Crashes()
    level, log.propagate = log.level, False
    log.addHandler(crashes)
    log.setLevel(logging.ERROR)
    try:
        yield crashes
    finally:
        log.removeHandler(crashes)
        log.setLevel(level)
        log.propagate = True
