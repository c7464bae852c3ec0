"""What is timed on one kind of disk, each probe one call and the seconds it took.

| probe    | what it is                                                                    |
| noop     | a tool that does nothing, behind bridge, socket, SDK and connection of its own |
| commit   | the records of an observe, made durable by bare LMDB                          |
| precheck | may this go ahead: a read, so that every index is asked; writes nothing        |
| observe  | an action with a result of 300 characters, durable before the answer          |
| grep     | osiris_recall op=grep on a ref of 20,000 tokens                               |
| put      | a text of 20,000 tokens through doors.sock, as `osiris put` sends it          |
"""

import inspect
import subprocess
import sys
import typing
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from socket import socket
from time import perf_counter
from typing import Any

from bench import owners
from bench.client import BridgeClient
from bench.raw_commit import RawStore, Stored
from osiris import reach
from osiris.doors import frames
from osiris.home import Home
from osiris_actors.tokenizer import Tokenizer

NOOP_OWNER = (sys.executable, "-P", str(Path(__file__).with_name("noop_owner.py")))
UP_S = 30.0
RESULT_CHARS = 300
LARGE_TOKENS = 20_000

Probe = Callable[[], float]


@contextmanager
def stand(parent: Path, commits: tuple[Stored, ...]) -> Generator[dict[str, Probe]]:
    """Give the probes of a new home under `parent`; end and remove everything after."""
    with ExitStack() as stack:
        home = stack.enter_context(owners.home_folder(parent))
        noop_home = stack.enter_context(owners.home_folder(parent))
        stack.enter_context(_noop_owner(noop_home))
        noop = stack.enter_context(closing(BridgeClient(noop_home, home)))
        real = stack.enter_context(closing(BridgeClient(home, home)))
        raw = stack.enter_context(closing(RawStore(home / "raw", commits)))
        noop.must_begin()
        real.must_begin()
        real.must("plan", {"mode": "start", "objective": "measure"})
        doors = stack.enter_context(reach.connect_or_start(Home(str(home)), "doors"))
        text = large_text()
        calls, pieces = map(action, count(1)), (f"{n}\n{text}".encode() for n in count())
        reads, noops = map(read, count()), map(read, count())
        kept = real.must("observe", {**action(0), "result": text})
        search = {"op": "grep", "ref": kept.pairs["ref"], "q": "def __init__"}
        yield {
            "noop": lambda: noop.timed("precheck", next(noops)),
            "commit": raw.commit,
            "precheck": lambda: real.timed("precheck", next(reads)),
            "observe": lambda: real.timed("observe", next(calls)),
            "grep": lambda: real.timed("recall", search),
            "put": lambda: _put(doors, next(pieces)),
        }


def read(number: int) -> dict[str, Any]:
    """Return the arguments of a precheck."""
    return {"tool": "grep", "args": {"pattern": f"def connect_{number}", "path": "osiris"}}


def action(number: int) -> dict[str, Any]:
    """Return the arguments of an observe whose result has RESULT_CHARS characters."""
    command = f"python -m pytest tests/core/test_{number}.py"
    result = f"{command}\n" + f"test_case_{number} passed in 0.02 s\n" * 12
    return {
        "kind": "action",
        "tool": "bash",
        "args": {"command": command},
        "ok": True,
        "result": result[:RESULT_CHARS],
    }


def large_text() -> str:
    """Return about LARGE_TOKENS tokens of Python's own sources."""
    tokenizer = Tokenizer()
    tokenizer.load()
    source = inspect.getsource(typing)
    return source[: len(source) * LARGE_TOKENS // tokenizer.count(source).n]


@contextmanager
def _noop_owner(home: Path) -> Generator[None]:
    with subprocess.Popen(NOOP_OWNER, env=owners.environ_for(home)) as process:
        try:
            owners.next_owner(home, None, UP_S)
            yield
        finally:
            process.kill()


def _put(doors: socket, text: bytes) -> float:
    began = perf_counter()
    header, _ = frames.ask(doors, "put", {"tool": "cat"}, text)
    took = perf_counter() - began
    if "error" in header:
        raise RuntimeError(f"put answered: {header}")
    return took
