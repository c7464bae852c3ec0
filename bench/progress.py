"""How far a bench is, on stderr: a bar for a person, a line now and then for a log."""

import sys

WIDTH = 24
LINES = 6  # of a run that nobody watches


class Progress:
    """Counts up to `total` of `what`."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = max(1, total)
        self._every = max(1, -(-self._total // LINES))
        self._is_watched = sys.stderr.isatty()

    def step(self, done: int, note: str = "") -> None:
        """Say that `done` are done."""
        if self._is_watched:
            full = WIDTH * done // self._total
            bar = "#" * full + "." * (WIDTH - full)
            print(f"\r[{bar}] {self._text(done, note):<44}", end="", file=sys.stderr, flush=True)
        elif done % self._every == 0:
            print(self._text(done, note), file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._is_watched:
            print(f"\r{'':{WIDTH + 48}}\r", end="", file=sys.stderr, flush=True)

    def _text(self, done: int, note: str) -> str:
        return f"{done}/{self._total} {self._what}" + (f", {note}" if note else "")
