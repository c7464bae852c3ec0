"""What the faults of owners and clients stand on: an owner, a client of it, a disk of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench import owners
from bench.client import PROTOCOL, BridgeClient
from bench.faults_tally import CannotMakeError, Tally
from osiris.home import Home, OwnerRecord

SERVE = (sys.executable, "-P", "-m", "osiris", "serve")
UP_S = 30.0
CALL_S = 30.0
_PIECE = 65_536
_PAGE = 2_000


class Worker:
    """A client that says facts and remembers which of them were acknowledged."""

    def __init__(self, client: BridgeClient) -> None:
        self.client = client
        self.acked: list[str] = []
        client.must_begin()
        self.task = client.must("plan", {"mode": "start", "objective": "survive"}).pairs["task"]

    def say(self, text: str, size: int = 0) -> str:
        """Observe a fact, or an output of `size`; return the code of an error, empty for none."""
        fact = {"kind": "fact", "text": text, "task": self.task}
        output = {"kind": "action", "tool": "bash", "result": f"{text} " + "x" * size}
        reply = self.client.call("observe", output | {"task": self.task} if size else fact)
        if not reply.is_error and not size:
            self.acked.append(text)
        return reply.code if reply.is_error else ""

    def judge(self, home: Path, tally: Tally) -> None:
        """Count what was acknowledged and is not in the task's stream, exactly once."""
        said = [row.get("text") for row in events(home, self.task)]
        tally.acked_lost += sum(said.count(text) != 1 for text in self.acked)


@contextmanager
def worker(home: Path, work: Path) -> Generator[Worker]:
    """Give a worker of `home`; the owner that it started is ended after it."""
    work.mkdir(exist_ok=True)
    try:
        with closing(BridgeClient(home, work)) as client:
            yield Worker(client)
    finally:
        owners.stop(home)


def osiris(home: Path, *argv: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of `osiris` on a home."""
    return subprocess.run(
        (sys.executable, "-P", "-m", "osiris", *argv),
        env=owners.environ_for(home),
        cwd=next(place for place in home.parents if place.is_dir()),
        input=b"",
        capture_output=True,
        timeout=60,
        check=False,
    )


def events(home: Path, task: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a task, page by page."""
    after = 0
    while True:
        found = osiris(home, "events", task, "--after", str(after), "--limit", str(_PAGE), "--json")
        page: list[dict[str, Any]] = msgspec.json.decode(found.stdout)["events"]
        if not page:
            return
        yield from page
        after = page[-1]["version"]


def must_live(home: Path) -> OwnerRecord:
    """Return who owns the home. Raises LateError when nobody does."""
    return owners.until(lambda: owners.living(home), UP_S, "no owner came")


@contextmanager
def mounted(folder: Path, *options: str) -> Generator[None]:
    """Mount on `folder` for the length of the body."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise CannotMakeError("only root on Linux may mount")
    done = subprocess.run(("mount", *options, str(folder)), capture_output=True, check=False)
    if done.returncode:
        raise CannotMakeError(f"mount: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(("umount", "-l", str(folder)), check=True)


class Line:
    """A client on the owner's own socket that writes whatever it likes."""

    def __init__(self, home: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(CALL_S)
        self.socket.connect(Home(str(home)).socket_path("mcp"))
        self._held = b""
        self._last = 0

    def begin(self) -> None:
        info = {"name": "line", "version": "1"}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": info}
        self.ask("initialize", params)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def encoded(self, method: str, params: dict[str, Any]) -> bytes:
        """Return a request under a new id as its line."""
        self._last += 1
        said = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        return msgspec.json.encode(said) + b"\n"

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request, whatever else comes before it."""
        self.send(self.encoded(method, params))
        wanted = self._last
        return next(message for message in self.messages() if message.get("id") == wanted)

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield messages as they come, until the owner hangs up."""
        while line := self._line():
            yield msgspec.json.decode(line, type=dict[str, Any])

    def _line(self) -> bytes:
        while b"\n" not in self._held:
            piece = self.socket.recv(_PIECE)
            if not piece:
                return b""
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        return line

    def close(self) -> None:
        self.socket.close()


def timed_ask(line: Line, text: str) -> float:
    """Return the seconds that a fact takes to be acknowledged."""
    began = time.monotonic()
    arguments = {"kind": "fact", "text": text}
    line.ask("tools/call", {"name": "osiris_observe", "arguments": arguments})
    return time.monotonic() - began
