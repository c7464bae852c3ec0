"""Homes whose owners live and die in a test, and the processes that talk to them."""

import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from osiris import offline
from osiris.home import OwnerRecord
from osiris_actors import auditing
from osiris_actors.redactor import Redactor
from osiris_actors.store.lmdb import LmdbBackend
from tests.e2e.real_home import RealHome
from tests.server.raw_client import INITIALIZE

DEADLINE_S = 60.0
OSIRIS = (sys.executable, "-P", "-m", "osiris")
IN_PROCESS = (*OSIRIS, "--in-process")
SERVE = (*OSIRIS, "serve")


class Talk:
    """The client's side of one MCP connection, over two pipes or a socket."""

    def __init__(self, to: IO[bytes], back: IO[bytes]) -> None:
        self._to = to
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._ids = 0
        threading.Thread(target=self._read, args=(back,), daemon=True).start()

    def _read(self, back: IO[bytes]) -> None:
        for line in back:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, method: str, *, note: bool = False, **params: Any) -> int:
        """Send a request, or a note; return the request's id."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not note:
            self._ids += 1
            message["id"] = self._ids
        self.send_raw(message)
        return self._ids

    def send_raw(self, message: dict[str, Any]) -> None:
        self._to.write(json.dumps(message).encode() + b"\n")
        self._to.flush()

    def next(self) -> dict[str, Any]:
        """Return the next message. Raises EOFError when no more will come."""
        line = self._lines.get(timeout=DEADLINE_S)
        if not line:
            raise EOFError
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer to a request, which must be the next message."""
        ident = self.send(method, **params)
        answer = self.next()
        assert answer["id"] == ident
        return answer

    def begin(self) -> "Talk":
        answer = self.ask("initialize", **INITIALIZE)
        assert "result" in answer, answer
        self.send("notifications/initialized", note=True)
        return self

    def sent_call(self, tool: str, /, **arguments: Any) -> int:
        return self.send("tools/call", name=f"osiris_{tool}", arguments=arguments)

    def call(self, tool: str, /, **arguments: Any) -> str:
        """Return the text of a tool's answer, which must be no error."""
        ident = self.sent_call(tool, **arguments)
        answer = self.next()
        assert answer["id"] == ident
        return text(answer)

    def plan(self, objective: str) -> str:
        """Start a task and return its id."""
        return word(self.call("plan", mode="start", objective=objective), "task")

    def end(self) -> None:
        """Say no more."""
        self._to.close()

    def rest(self) -> list[dict[str, Any]]:
        """Return what comes until the end."""
        messages: list[dict[str, Any]] = []
        while True:
            try:
                messages.append(self.next())
            except EOFError:
                return messages


class Living:
    """One home in which processes come and go; all of them end with the test.

    They start in `folder`.
    """

    def __init__(self, folder: Path, rules: Path, transport: str, cleanup: ExitStack) -> None:
        self.real = RealHome(folder, transport)
        self.home = self.real.home
        self.folder = Path(self.home.root)
        self._cleanup = cleanup
        self.home.make()
        shutil.copytree(rules, Path(self.home.root) / "rules")

    def write_settings(self, toml: str) -> None:
        Path(self.home.config_path).write_text(toml)

    def start(
        self,
        argv: Sequence[str],
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        **environ: str,
    ) -> subprocess.Popen[bytes]:
        """Start a process that knows this home and `environ`, and no other setting."""
        process = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=self.real.environ("") | environ,
            cwd=self.folder,
        )
        self._cleanup.callback(_end, process)
        return process

    def talk(
        self, argv: Sequence[str] = OSIRIS, **environ: str
    ) -> tuple[Talk, subprocess.Popen[bytes]]:
        """Start a server on pipes, and return a client of it that has not said anything."""
        process = self.start(argv, subprocess.PIPE, subprocess.PIPE, **environ)
        assert process.stdin is not None
        assert process.stdout is not None
        return Talk(process.stdin, process.stdout), process

    def client(self, argv: Sequence[str] = OSIRIS) -> Talk:
        return self.talk(argv)[0].begin()

    def serve(self, argv: Sequence[str] = SERVE) -> subprocess.Popen[bytes]:
        """Start an owner, and return when it may be found."""
        process = self.start(argv, stdin=subprocess.DEVNULL)
        self.record(pid=process.pid)
        return process

    def dial(self) -> Talk:
        """Return a client that speaks to the owner's socket itself."""
        sock = socket.socket(socket.AF_UNIX)
        self._cleanup.callback(sock.close)
        sock.settimeout(DEADLINE_S)
        sock.connect(self.home.socket_path("mcp"))
        return Talk(sock.makefile("wb"), sock.makefile("rb"))

    def record(self, pid: int | None = None) -> OwnerRecord:
        """Return what the owner says of itself, once it is the one with this pid."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            record = self.home.record()
            if record is not None and pid in (None, record.pid):
                return record
            assert time.monotonic() < deadline, f"owner {pid} does not come"

    def wait_unowned(self, within_s: float = DEADLINE_S) -> None:
        """Return when the owner has left."""
        deadline = time.monotonic() + within_s
        while self.home.is_owned():
            assert time.monotonic() < deadline, f"the owner goes on: {self.home.record()}"

    def run(self, *argv: str) -> subprocess.CompletedProcess[bytes]:
        """Run the command line."""
        return subprocess.run(
            [*OSIRIS, *argv],
            env=self.real.environ(""),
            cwd=self.folder,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )

    def lives(self) -> tuple[int, int]:
        """Return how many owners began here and how many of them left in order."""
        store = LmdbBackend(Path(self.home.store_dir), read_only=True)
        try:
            counters = store.counters("owner/")
        finally:
            store.close()
        return counters[auditing.STARTS], counters.get(auditing.STOPS, 0)

    def offline(self, op: str) -> dict[str, Any]:
        """Ask the store, whose owner has left; an audit must find nothing wrong."""
        found, _ = offline.ask(self.home, op, {})
        assert "error" not in found, found
        assert found.get("ok", True), found
        return found


@contextmanager
def living(folder: Path, rules: Path, transport: str = "auto") -> Generator[Living]:
    """Yield a home; the processes that were started in it are ended, then its owner.

    `rules` is what `compiled_rules` made: a home of its own would take 3.4 s of processor time.
    """
    folder.mkdir(exist_ok=True)
    with ExitStack() as cleanup:
        home = Living(folder, rules, transport, cleanup)
        cleanup.callback(home.real.stop)
        yield home


def compiled_rules(folder: Path) -> Path:
    """Compile the redaction rules into `folder`, and return it."""
    Redactor(b"k" * 32).load(folder)
    return folder


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process; one that was stopped, too."""
    process.kill()
    process.wait(DEADLINE_S)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                continue


def text(answer: dict[str, Any]) -> str:
    """Return the text of an answer that is no error."""
    assert "result" in answer, answer
    said: str = answer["result"]["content"][0]["text"]
    assert not answer["result"]["isError"], said
    return said


def word(said: str, key: str) -> str:
    """Return the value of `key=` in an answer."""
    return said.partition(f"{key}=")[2].split()[0]


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def go_on(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)
