"""Lines in through one bridge, all that comes out kept: replies by id, and what went to stderr.

Rule 1: at most WINDOW requests are outstanding, which fits both pipes.
Rule 2: an id is the client's own word and comes back by the protocol; it is taken out of a reply
        before the reply is searched.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.owners import environ_for

BRIDGE = (sys.executable, "-P", "-m", "osiris")
WINDOW = 12
PROTOCOL = "2025-06-18"
_WITHIN_S = 60.0


class SilentError(Exception):
    """No reply came within a minute."""


class Reply:
    """What was answered to the line of number `id`; None where the id could not be read."""

    def __init__(self, line: bytes) -> None:
        said: dict[str, Any] = json.loads(line)
        ident = said.pop("id", None)
        self.id = int(str(ident).split(" ", 1)[0]) if ident is not None else None
        self.text = json.dumps(said)


class Wire:
    """One bridge for a home, in the working folder `cwd`."""

    def __init__(self, home: Path, cwd: Path, stderr: Path, roots: str) -> None:
        self.replies: list[Reply] = []
        self._room = threading.Semaphore(WINDOW)
        self._stderr = stderr.open("wb")
        self._process = subprocess.Popen(
            BRIDGE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=cwd,
            env=environ_for(home) | {"OSIRIS_ROOTS": roots},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def begin(self) -> None:
        """Run the handshake."""
        info = {"name": "bench", "version": "1"}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": info}
        self.send([_line({"id": 0, "method": "initialize", "params": params})])
        self._write(_line({"method": "notifications/initialized"}))

    def send(self, lines: Iterable[bytes]) -> None:
        """Send lines and wait for an answer to each. Raises SilentError."""
        for line in lines:
            self._take(1)
            self._write(line)
        self._take(WINDOW)
        for _ in range(WINDOW):
            self._room.release()

    def close(self) -> None:
        """Hang up and wait for the bridge."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(_WITHIN_S)
        self._reader.join(_WITHIN_S)
        self._process.stdout.close()
        self._stderr.close()

    def _take(self, count: int) -> None:
        for _ in range(count):
            if not self._room.acquire(timeout=_WITHIN_S):
                raise SilentError(f"{len(self.replies)} replies came, then none")

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.replies.append(Reply(line))
            self._room.release()


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
