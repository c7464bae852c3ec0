"""A client of the bridge, and the owners that its tests start and kill."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from osiris.home import Home
from osiris.lock import OwnerLock

FAKE_OWNER = Path(__file__).with_name("fake_owner.py")
RUN = "import sys; from osiris.bridge import main; sys.exit(main(sys.argv[1:]))"
DEADLINE_S = 20.0
MIB = 1 << 20


class Client:
    """A client of one bridge process."""

    def __init__(self, home: Path, *serve: str, **environ: str) -> None:
        kept = {key: text for key, text in os.environ.items() if not key.startswith("OSIRIS_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, *(serve or (sys.executable, str(FAKE_OWNER)))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=kept | {"OSIRIS_HOME": str(home)} | environ,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, ident: object = None, **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if ident is not None:
            message["id"] = ident
        self.send_raw(json.dumps(message).encode() + b"\n")

    def next_line(self) -> bytes:
        return self._lines.get(timeout=DEADLINE_S)

    def next(self) -> Any:
        return json.loads(self.next_line())

    def ask(self, method: str, ident: object, **params: Any) -> Any:
        """Send a request and return the next line's result or error."""
        self.send(method, ident, **params)
        reply = self.next()
        assert reply["id"] == ident
        return reply.get("result", reply.get("error"))

    def heard(self) -> list[Any]:
        """Return (pid, message) of all lines that the owners of this home have read."""
        found = self.ask("heard", "heard")
        return [(item["pid"], json.loads(item["line"])) for item in found]

    def end(self) -> int:
        """Close the input, and return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE_S)

    def stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def close(self) -> None:
        self.process.kill()
        self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue


Start = Callable[..., Client]


@contextmanager
def starting(home: Path) -> Generator[Start]:
    """Yield what starts a client of a home; clients and their owners end with the test."""
    clients: list[Client] = []
    pipes: list[int] = []

    def begin(*serve: str, at: Path = home, **environ: str) -> Client:
        if not at.exists():
            at.mkdir()
            os.mkfifo(at / "alive")
            pipes.append(os.open(at / "alive", os.O_RDWR))
        clients.append(Client(at, *serve, **environ))
        return clients[-1]

    try:
        yield begin
    finally:
        for client in clients:
            client.close()
        for pipe in pipes:
            os.close(pipe)


def kill_owner(home: Path, pid: int) -> None:
    """Kill an owner and wait until the kernel has taken its lock away."""
    os.kill(pid, signal.SIGKILL)
    lock = OwnerLock(Home(str(home)).lock_path)
    deadline = time.monotonic() + DEADLINE_S
    while not lock.acquire():
        assert time.monotonic() < deadline
    lock.release()


def hellos(heard: list[Any]) -> list[Any]:
    return [message["hello"] for _, message in heard if "osiris" in message]


def methods(heard: list[Any], pid: int) -> list[str]:
    return [message["method"] for by, message in heard if by == pid and "method" in message]
