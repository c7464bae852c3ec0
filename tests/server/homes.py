"""What tests of homes share: an owner in this process, a holder of the lock in another."""

import os
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from osiris.endpoints import Endpoints
from osiris.home import Home
from osiris.lock import OwnerLock

DEADLINE_S = 20.0
AS_ROOT = sys.platform != "win32" and os.getuid() == 0

HOLD = """
import sys
from osiris.lock import OwnerLock
lock = OwnerLock(sys.argv[1])
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(path: str) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def owning(home: Home, transport: Literal["auto", "tcp"] = "auto") -> Generator[Endpoints]:
    """Own a home in this process."""
    lock = OwnerLock(home.lock_path)
    assert lock.acquire()
    try:
        yield Endpoints(home, lock, transport)
    finally:
        lock.release()


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: str | Path) -> int:
    """Return the permission bits of what stands at `path`."""
    return stat.S_IMODE(Path(path).lstat().st_mode)


def made(folder: Path) -> Home:
    home = Home(str(folder / "home"))
    home.make()
    return home
