"""The owner of a home, from the lock to the lock.

Rule 1: the lock is taken before this module is imported, and released last (`osiris.claim`).
Rule 2: what keeps a process from owning is one line on stderr and status 1; a traceback is a bug.
Rule 3: settings that are wrong keep it too: an owner that guesses would serve everybody wrongly.
"""

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import cast

import trio

from osiris import __version__, config
from osiris.core.errors import Refusal
from osiris.groups import leaves
from osiris.home import Home, HomeError
from osiris.life import GRACE_S, Life, Terms
from osiris.lock import OwnerLock
from osiris_actors.redact_logs import CleanFormatter
from osiris_actors.store.contract import StoreDamaged, StoreTooNew, StoreUnavailable
from osiris_actors.store.failures import StoreMoved
from osiris_actors.writer import WriterStuck

LOG_BYTES = 4 * 1024 * 1024
LOG_FILES = 3

Failure = HomeError | StoreDamaged | StoreMoved | StoreTooNew | StoreUnavailable | WriterStuck

log = logging.getLogger(__name__)


def serve(
    home: Home, lock: OwnerLock, *, version: str = __version__, grace_s: float = GRACE_S
) -> int:
    """Own `home`, whose lock is held, until told to stop, idle, or left to a newer version.

    Return 0, or 1 after one line on stderr that says why it could not be.
    """
    loaded = config.load(home)
    terms = Terms(loaded.settings, version=version, grace_s=grace_s)
    why = live(home, lock, loaded, terms)
    if why is None:
        return 0
    sys.stderr.write(f"{why.text()}\n")
    return 1


def live(home: Home, lock: OwnerLock, loaded: config.Loaded, terms: Terms) -> Refusal | None:
    """Live one life; return why it could not begin or had to end, None when it ended in order."""
    for problem in loaded.problems:
        if problem.is_error:
            return Refusal(problem.code, problem.what, problem.fix)
    _log_to(Path(home.log_dir), loaded.settings.log_level)
    for problem in loaded.problems:
        log.warning(problem.text())
    why: Refusal | None = None
    try:
        trio.run(Life(home, lock, terms).run)
    except* (
        HomeError,
        StoreDamaged,
        StoreMoved,
        StoreTooNew,
        StoreUnavailable,
        WriterStuck,
    ) as group:
        why = _plain(cast("Failure", next(leaves(group))))
        log.critical("the owner ends: %s", why.text())
    return why


def _plain(failure: Failure) -> Refusal:
    if isinstance(failure, HomeError):
        return Refusal("no_owner", failure.what, failure.fix)
    if isinstance(failure, StoreMoved):
        return Refusal("storage_error", f"store_moved: {failure}", "call again")
    if isinstance(failure, WriterStuck):
        return Refusal("storage_error", f"the disk takes no writes: {failure}", "see to the disk")
    return Refusal(failure.code, str(failure), failure.fix)


def _log_to(folder: Path, level: str) -> None:
    handler = RotatingFileHandler(
        folder / "osiris.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8"
    )
    handler.setFormatter(CleanFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    # the SDK logs exceptions whose text may quote arguments
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
