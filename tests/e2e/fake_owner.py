"""A stand-in for the owner: the real lock and sockets, and a tiny server that does as it is told.

Every line it reads is kept in `heard.jsonl` of its home as {"pid", "line"}. Methods: `heard`
returns that file, `whoami` the pid, `echo` its params, `raw` its params' text as the whole reply,
`hold` nothing until `release`, `subscriptions/listen` nothing ever; `die` ends the process, and
`die_once`, as method or parameter, only the first one; `hold_once` is an `echo` that only later
owners answer. Anything else is answered with {}.
It ends with the test that holds the pipe `alive` of its home.
"""

import json
import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from osiris.endpoints import Endpoints
from osiris.home import resolve
from osiris.lock import OwnerLock

HOME = resolve()
HEARD = Path(HOME.root) / "heard.jsonl"
DIED = Path(HOME.root) / "died"
ALIVE = Path(HOME.root) / "alive"


def note(line: bytes) -> None:
    said = json.dumps({"pid": os.getpid(), "line": line.decode("utf-8", "replace")}) + "\n"
    with HEARD.open("ab", buffering=0) as file:
        file.write(said.encode())


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once() -> dict[str, Any]:
    if not DIED.exists():
        DIED.touch()
        die()
    return {"pid": os.getpid()}


class Client:
    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._held: list[Any] = []

    def serve(self) -> None:
        for line in self._sock.makefile("rb"):
            note(line)
            message = json.loads(line)
            if "osiris" not in message:
                self._hear(message)

    def _hear(self, message: dict[str, Any]) -> None:
        ident, params = message.get("id"), message.get("params", {})
        match message.get("method"):
            case "hold":
                self._held.append(ident)
            case "subscriptions/listen":
                return
            case "hold_once":
                if DIED.exists():
                    self._answer(ident, params)
            case "release":
                for held in self._held:
                    self._answer(held, {"was": "held"})
                self._answer(ident, {})
            case "raw":
                self._sock.sendall(params["text"].encode() + b"\n")
            case method:
                if ident is not None:
                    self._answer(ident, self._result(method, params))

    def _result(self, method: object, params: dict[str, Any]) -> object:
        if method == "die":
            die()
        if method == "die_once" or params.get("die_once"):
            return die_once()
        match method:
            case "whoami":
                return {"pid": os.getpid()}
            case "echo":
                return params
            case "heard":
                return [json.loads(line) for line in HEARD.read_text().splitlines()]
            case _:
                return {}

    def _answer(self, ident: object, result: object) -> None:
        said = json.dumps({"jsonrpc": "2.0", "id": ident, "result": result})
        self._sock.sendall(said.encode() + b"\n")


def end_with_the_test() -> None:
    """Wait until no test holds the pipe open for writing, then end."""
    fd = os.open(ALIVE, os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.read(fd, 1)
    except BlockingIOError:
        select.select([fd], [], [])
    os._exit(0)


def main() -> int:
    HOME.make()
    threading.Thread(target=end_with_the_test, daemon=True).start()
    lock = OwnerLock(HOME.lock_path)
    if not lock.acquire():
        return 0
    with (Path(HOME.root) / "owners").open("a") as file:
        file.write(f"{os.getpid()}\n")
    is_tcp = os.environ.get("OSIRIS_TRANSPORT") == "tcp"
    endpoints = Endpoints(HOME, lock, "tcp" if is_tcp else "auto")
    listener = endpoints.listen("mcp")
    endpoints.publish("0.0.0")
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=Client(sock).serve, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
