"""Whether the owner of a home still answers. Standard library only.

Rule 1: a stopped process keeps its sockets: they take connections, and nothing comes back. Who
        waits asks over a connection of its own; an owner that says nothing for ANSWER_S is silent.
Rule 2: an owner that takes no connection is starting, leaving or gone, which shows by itself.
Rule 3: nobody asks before something has been due for PATIENCE_S without a word from the owner, and
        then again every AGAIN_S: long calls are no fault.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Generator

from osiris.home import Home, HomeError, resolve
from osiris.reach import NoOwnerError, dial

PATIENCE_S = 0.5
ANSWER_S = 2.0
AGAIN_S = 5.0

_ASK = b'{"op":"ping"}'
_PING = len(_ASK).to_bytes(4, "big") + _ASK  # a frame of doors.sock; any answer proves life


def silence(home: Home) -> NoOwnerError | None:
    """Return what to tell who waits for a silent owner; None if it answers or is not there."""
    try:
        sock = dial(home, "doors")
        if sock is None:
            return None
        with sock:
            sock.settimeout(ANSWER_S)
            sock.sendall(_PING)
            sock.recv(1)
    except (TimeoutError, BlockingIOError):  # the latter: its queue of connections is full
        return _silent(home)
    except (HomeError, OSError, ValueError):
        return None
    return None


def _silent(home: Home) -> NoOwnerError:
    record = home.record()
    pid = record.pid if record else "?"
    fix = (
        f"let process {pid} go on (kill -CONT {pid}) or end it (kill -KILL {pid}), then call again"
    )
    return NoOwnerError(f"owner pid {pid} does not answer", fix)


class Vigil:
    """Watches over what an owner owes. Any thread may say that something was asked or heard."""

    def __init__(self) -> None:
        self._is_asked = False
        self._since = 0.0
        self._wake = threading.Event()

    def asked(self) -> None:
        """Note that a request goes out."""
        if not self._is_asked:
            self._is_asked, self._since = True, time.monotonic()
        self._wake.set()

    def heard(self) -> None:
        """Note a sign of life."""
        self._is_asked, self._since = False, time.monotonic()

    def keep(self, is_owed: Callable[[], bool], tell: Callable[[NoOwnerError], None]) -> None:
        """Call `tell` whenever the owner is silent while `is_owed`. For a thread: it never ends."""
        while True:
            self._wake.wait()
            self._wake.clear()
            while is_owed():
                if (left_s := self._look_at() - time.monotonic()) > 0:
                    time.sleep(min(left_s, PATIENCE_S / 2))
                else:
                    self._look(tell)

    def _look(self, tell: Callable[[NoOwnerError], None]) -> None:
        found = silence(resolve())
        if found is None:
            self.heard()
        elif self._look_at() <= time.monotonic():  # nothing came meanwhile
            tell(found)
            self._is_asked, self._since = False, time.monotonic()

    def _look_at(self) -> float:
        return self._since + (PATIENCE_S if self._is_asked else AGAIN_S)


@contextlib.contextmanager
def watched(home: Home, sock: socket.socket) -> Generator[None]:
    """Ask while the body waits for `sock`; raise NoOwnerError in place of waiting for ever."""
    watch = _Watch(home, sock)
    threading.Thread(target=watch.run, daemon=True).start()
    try:
        yield
    except OSError:
        if watch.found is not None:
            raise watch.found from None
        raise
    finally:
        watch.is_over.set()


class _Watch:
    """A thread that hangs up on an owner that is silent."""

    def __init__(self, home: Home, sock: socket.socket) -> None:
        self.is_over = threading.Event()
        self.found: NoOwnerError | None = None
        self._home = home
        self._sock = sock

    def run(self) -> None:
        wait_s = PATIENCE_S
        while not self.is_over.wait(wait_s):
            found, wait_s = silence(self._home), AGAIN_S
            if found is not None and not self.is_over.is_set():
                self.found = found
                with contextlib.suppress(OSError):
                    self._sock.shutdown(socket.SHUT_RDWR)
                return
