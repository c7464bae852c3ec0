"""One connection of a bridge to an owner. Standard library only.

Rule 1: what opens the connection goes out before anything else.
Rule 2: `receive` alone notices a death; `send` may be called from any thread and never fails.
Rule 3: what opens it is sent by a thread of its own: an owner that nobody reads from stops reading,
        and the thread that reads would wait for itself.
"""

import select
import socket
import threading

from osiris.replay import Replay

_CHUNK = 65_536


class Link:
    """A socket to an owner, for one session of the client."""

    def __init__(self, sock: socket.socket, replay: Replay, opening: bytes) -> None:
        self.replay = replay
        self._sock = sock
        self._turn = threading.Lock()
        self._turn.acquire()
        threading.Thread(target=self._open, args=(opening,), daemon=True).start()

    def _open(self, opening: bytes) -> None:
        try:
            self._sock.sendall(opening)
        except OSError:
            return
        finally:
            self._turn.release()

    def send(self, line: bytes) -> None:
        with self._turn:
            try:
                self._sock.sendall(line)
            except OSError:
                return

    def send_now(self, line: bytes) -> bool:
        """Send a short line if that needs no waiting; say whether it went."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if not select.select([], [self._sock], [], 0)[1]:
                return False
            self._sock.sendall(line)
        except (OSError, ValueError):  # the latter: it was closed meanwhile
            return False
        finally:
            self._turn.release()
        return True

    def receive(self) -> bytes:
        """Return what the owner sent; empty when it is gone."""
        try:
            return self._sock.recv(_CHUNK)
        except OSError:
            return b""

    def hang_up(self) -> None:
        """End the connection; a thread in `send` or `receive` returns."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        """Give the socket back. For the thread that receives."""
        self.hang_up()
        self._sock.close()
