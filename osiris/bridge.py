"""A client's stdio on one side, the owner's socket on the other. Standard library only.

Rule 1: whole lines go through, bytes untouched; standard output carries JSON-RPC and no more.
Rule 2: the first line to an owner is the hello. A replay keeps its nonce; an `initialize` on a
        connection that has carried requests begins a new session with a new one.
Rule 3: every request is answered: by an owner, or with an error that says why there is none.
Rule 4: when an owner dies, the next is found or started at once and hears `osiris.replay`. Owners
        that die without a word are not tried for ever: after three, the client must speak first.
Rule 5: an owner that takes requests and answers nothing does not hang its clients: what waits is
        refused and taken back, and the next request is tried again.
Rule 6: the bridge ends with its client: at the end of input once what is due has been answered,
        when nobody reads its output, when it is told to, or when its parent is gone.
"""

import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Iterable, Sequence

from osiris import __version__, leaving
from osiris.envelope import LINE_MAX, Envelope, Id, Lines, TooLong, peek
from osiris.home import HomeError, OwnerRecord, connection_settings, resolve, working_folder
from osiris.link import Link
from osiris.liveness import Vigil
from osiris.reach import SERVE, NoOwnerError, connect_or_start
from osiris.replay import Replay, Waiting

_CHUNK = 65_536
_OWNER_LINE_MAX = 8 * LINE_MAX
_DRAIN_S = 2.0
_RETRY_S = 2.0
_SILENT_DEATHS = 3

_SERVER_ERROR, _INVALID_REQUEST = -32_000, -32_600
_TOO_LONG = "error line_too_long: a line was longer than 8 MiB | fix: send a path or ref instead"
_TOO_LARGE = "error payload_too_large: the reply was over 64 MiB | fix: ask for a part of it"
_DIED = "error owner_died: the owner died twice during this call | fix: run `osiris health`"
_BEGUN_ANEW = "error timeout: the session began anew during this call | fix: call again"


class Bridge:
    """Forwards between fd 0 and 1 and whatever owner lives. One per process."""

    def __init__(self, serve: Sequence[str] = SERVE, version: str = __version__) -> None:
        self._serve = serve
        self._version = version
        self._lost: OwnerRecord | None = None  # the link thread's own
        self._out = threading.Lock()
        self._changed = threading.Condition()  # guards all below
        self._replay = Replay(os.urandom(16).hex())
        self._link: Link | None = None
        self._vigil = Vigil()
        self._is_wanted = True  # a link is there, being made, or about to be
        self._why = ""
        self._retry_at = 0.0

    def run(self) -> int:
        """Forward until the client is done."""
        threading.Thread(target=self._keep_linked, daemon=True).start()
        watch = (self._is_owed, self._refuse_silent)
        threading.Thread(target=self._vigil.keep, args=watch, daemon=True).start()
        lines = Lines()
        while data := _read_stdin():
            for line in lines.feed(data):
                self._from_client(line)
        if (rest := lines.rest()) is not None:
            self._from_client(rest)
        self._await_answers()
        return 0

    # the main thread: from the client

    def _from_client(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self._refuse(line.id(), _INVALID_REQUEST, _TOO_LONG)
            return
        envelope = peek(line)
        if envelope.method == "initialize" and self._replay.has_begun:
            self._begin_anew()
        if (link := self._take_link(line, envelope)) is not None:
            link.send(line)
        elif envelope.is_request:
            self._refuse(envelope.id, _SERVER_ERROR, self._why)

    def _take_link(self, line: bytes, envelope: Envelope) -> Link | None:
        """Return the link that the line goes to, and note it for replay; None if none can be."""
        with self._changed:
            is_stuck = self._link is None and not self._is_wanted
            if is_stuck and envelope.is_request and time.monotonic() > self._retry_at:
                self._want()
            self._changed.wait_for(lambda: self._link is not None or not self._is_wanted)
            if self._link is not None:
                self._replay.said(line, envelope)
                if envelope.is_request:
                    self._vigil.asked()
            return self._link

    def _begin_anew(self) -> None:
        self._await_answers()
        with self._changed:
            late = self._replay.give_up()
            self._replay = Replay(os.urandom(16).hex())
            link, self._link = self._link, None
            self._want()
        if link is not None:
            link.hang_up()
        self._refuse_all(late, _BEGUN_ANEW)

    def _await_answers(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._replay.is_due, _DRAIN_S)

    def _want(self) -> None:
        self._is_wanted = True
        self._changed.notify_all()

    # the link thread: to and from the owner

    def _keep_linked(self) -> None:
        silent = 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_wanted)
            if (link := self._open_link()) is not None:
                silent = 0 if self._listen(link) else silent + 1
                self._lost = resolve().record()
                link.close()
                self._bury(link, is_silent=silent >= _SILENT_DEATHS)

    def _open_link(self) -> Link | None:
        try:
            home = resolve()
            sock = connect_or_start(
                home, "mcp", serve=self._serve, lost=self._lost, version=self._version
            )
            token = None if sock.family == getattr(socket, "AF_UNIX", None) else home.token()
        except HomeError as error:
            self._fail(str(error))
            return None
        except Exception as error:  # noqa: BLE001  whatever it is, requests are answered (rule 3)
            self._fail(f"{type(error).__name__}: {error} | fix: run `osiris health`")
            return None
        with self._changed:
            opening = [self._hello(token), *self._replay.lines()]
            self._link = Link(sock, self._replay, b"".join(opening))
            self._vigil.heard()
            if self._replay.is_due:
                self._vigil.asked()
            self._changed.notify_all()
            return self._link

    def _hello(self, token: str | None) -> bytes:
        hello = {
            "version": self._version,
            "nonce": self._replay.nonce,
            "pid": os.getpid(),
            "cwd": working_folder(),
            "settings": connection_settings(),
        }
        if token is not None:
            hello["token"] = token
        return json.dumps({"osiris": 1, "hello": hello}).encode() + b"\n"

    def _fail(self, why: str) -> None:
        with self._changed:
            self._why = f"error no_owner: {why}"
            self._retry_at = time.monotonic() + _RETRY_S
            self._is_wanted = False
            lost = self._replay.give_up()
            self._changed.notify_all()
        self._refuse_all(lost, self._why)

    def _listen(self, link: Link) -> bool:
        """Forward all that the owner says; return whether it said anything."""
        lines = Lines(_OWNER_LINE_MAX)
        has_spoken = False
        while data := link.receive():
            self._vigil.heard()
            for line in lines.feed(data):
                has_spoken = True
                self._from_owner(link.replay, line)
        return has_spoken

    def _from_owner(self, replay: Replay, line: bytes | TooLong) -> None:
        envelope = peek(line) if isinstance(line, bytes) else Envelope(ident=line.id(), failed=True)
        with self._changed:
            if replay is not self._replay or replay.swallows(envelope):
                return
            waiting = replay.answered_by(envelope)
        if isinstance(line, bytes):
            self._write(line)
        else:
            self._refuse(envelope.id, _SERVER_ERROR, _TOO_LARGE)
        if waiting is not None:  # after the write: then the client has its answer
            with self._changed:
                replay.settle(waiting, failed=envelope.failed)
                self._changed.notify_all()

    def _bury(self, link: Link, *, is_silent: bool) -> None:
        with self._changed:
            if self._link is not link:
                self._lost = None
                return  # hung up on, not dead
            self._link = None
            lost = link.replay.bury()
            self._is_wanted = link.replay.is_due or not is_silent
            self._changed.notify_all()
        self._refuse_all(lost, _DIED)

    # the watch thread

    def _is_owed(self) -> bool:
        with self._changed:
            return self._link is not None and self._replay.is_due

    def _refuse_silent(self, found: NoOwnerError) -> None:
        with self._changed:
            if (link := self._link) is None:
                return
            late = link.replay.refuse()
            self._changed.notify_all()
        self._refuse_all(late, f"error no_owner: {found}")
        if not all(link.send_now(line) for line in _cancelled(late)):
            link.hang_up()  # it is full: whoever waits to send more goes on

    # to the client

    def _refuse_all(self, lost: Iterable[Waiting], message: str) -> None:
        for waiting in lost:
            self._refuse(waiting.id, _SERVER_ERROR, message)

    def _refuse(self, ident: Id | None, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        self._write(json.dumps({"jsonrpc": "2.0", "id": ident, "error": error}).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        try:
            with self._out:
                while left:
                    left = left[_write_stdout(left) :]
        except OSError:
            os._exit(0)  # nobody reads: there is nothing left to do, in whatever thread


def _cancelled(late: Iterable[Waiting]) -> list[bytes]:
    """Return what takes requests back; `initialize` may not be."""
    params = [{"requestId": waiting.id} for waiting in late if waiting.method != "initialize"]
    notes = [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": p} for p in params]
    return [json.dumps(note).encode() + b"\n" for note in notes]


def _read_stdin() -> bytes:
    while True:
        try:
            return os.read(0, _CHUNK)
        except BlockingIOError:  # another holder of the same terminal or pipe made it so
            select.select([0], [], [])
        except OSError:
            return b""


def _write_stdout(data: memoryview) -> int:
    while True:
        try:
            return os.write(1, data)
        except BlockingIOError:
            select.select([], [1], [])


def main(serve: Sequence[str] = SERVE, version: str = __version__) -> int:
    """Run the bridge on standard input and output; return its exit status.

    `serve` starts an owner where there is none; `version` is the one that bridge and owner have.
    """
    leaving.on_signals()
    if sys.platform != "win32":
        threading.Thread(target=leaving.with_parent, daemon=True).start()
    return Bridge(serve, version).run()
