"""One agent of the crash bench: what it sends, and what it was told.

Rule 1: every mutating call leaves traces in its task's stream that no other call leaves.
Rule 2: a call counts as acknowledged when a reply arrived that is no error, and at no other time.
Rule 3: a call with a caller's `key` is sent again after a failure, under the same key. One without
        is dropped: what became of it is not known, and it may be there once or not at all.
Rule 4: `busy` says that nothing was done, so any call may be sent again after it.
"""

import random
import threading
import time
from collections import Counter
from hashlib import sha256
from typing import Any

import msgspec

from bench.client import BridgeClient, ClientGoneError, Reply
from osiris.core.loop_identity import call_key

WINDOW = 8
MIX = {"fact": 45, "action": 52, "plan": 3}  # of 100 calls
KEYED = 0.5  # of all calls carry a key of the caller's
LARGE = 0.5  # of all actions have a result
PAUSE_AFTER = ("busy", "no_owner")
PAUSE_S = 0.05
LONGEST = 20_000  # characters of a payload; the shortest has 300

# what an agent may hear while owners die under it; anything else is a defect
EXPECTED = frozenset({"owner_died", "no_owner", "busy", "timeout", "actor_died", "storage_error"})


class Trace(msgspec.Struct, frozen=True):
    """An event that a call leaves behind: its kind, and a text or hash that no other event has."""

    kind: str
    mark: str


Traces = tuple[Trace, ...]


class Call(msgspec.Struct, frozen=True):
    """A mutating call and the traces that prove it."""

    tool: str
    arguments: dict[str, Any]
    traces: Traces

    @property
    def is_repeatable(self) -> bool:
        return "key" in self.arguments


class Agent:
    """A client that plans one task and then observes until `stopping`."""

    def __init__(
        self, number: int, client: BridgeClient, seed: int, stopping: threading.Event
    ) -> None:
        self.task = ""
        self.acked: list[Traces] = []
        self.unknown: list[Traces] = []
        self.heard: Counter[str] = Counter()
        self.is_done = False
        self._number = number
        self._client = client
        self._stopping = stopping
        self._rng = random.Random(f"{seed}/{number}")  # noqa: S311  a load, not a secret
        self._made = 0
        self._waiting: dict[int, Call] = {}
        self._again: list[Call] = []

    @property
    def sent(self) -> int:
        """How many different calls were made."""
        return self._made

    def run(self) -> None:
        """Work until told to stop, then until every call is answered; then it is done."""
        try:
            self._begin()
            while not self._stopping.is_set():
                self._fill()
                self._take(self._client.receive())
            while self._waiting:
                self._take(self._client.receive())
            self.is_done = True
        except ClientGoneError:
            return
        finally:
            self.unknown += [call.traces for call in (*self._waiting.values(), *self._again)]

    def _begin(self) -> None:
        """Shake hands and plan: each again until an owner lives long enough to answer."""
        while (hello := self._client.begin()).is_error:
            self._hear(hello)
        start = self._plan_start()
        while (reply := self._client.call(start.tool, start.arguments)).is_error:
            self._hear(reply)
        self.task = reply.pairs["task"]
        self.acked.append(start.traces)

    def _fill(self) -> None:
        while len(self._waiting) < WINDOW:
            call = self._again.pop() if self._again else self._next()
            self._waiting[self._client.send(call.tool, call.arguments)] = call

    def _take(self, reply: Reply) -> None:
        call = self._waiting.pop(reply.id, None)
        if call is None:
            self.heard["an answer to no question"] += 1
            return
        if not reply.is_error:
            self.acked.append(call.traces)
            return
        self._hear(reply)
        if call.is_repeatable or reply.code == "busy":
            self._again.append(call)
        else:
            self.unknown.append(call.traces)

    def _hear(self, reply: Reply) -> None:
        self.heard[reply.code] += 1
        if reply.code in PAUSE_AFTER:
            time.sleep(PAUSE_S)

    def _plan_start(self) -> Call:
        objective = self._mark()
        steps = ["look", "change", "test"]
        arguments = {"mode": "start", "objective": objective, "steps": steps, "key": objective}
        return Call("plan", arguments, (Trace("TaskStarted", objective),))

    def _next(self) -> Call:
        makers = {"fact": self._fact, "action": self._action, "plan": self._plan_update}
        kind = self._rng.choices(tuple(MIX), weights=tuple(MIX.values()))[0]
        mark = self._mark()
        call = makers[kind](mark)
        extra = {"key": mark} if self._rng.random() < KEYED else {}
        if self._number % 2:  # the others rely on what their connection is bound to
            extra["task"] = self.task
        return msgspec.structs.replace(call, arguments=call.arguments | extra)

    def _fact(self, mark: str) -> Call:
        return Call("observe", {"kind": "fact", "text": mark}, (Trace("Noted", mark),))

    def _plan_update(self, mark: str) -> Call:
        arguments = {"mode": "update", "steps": ["look", mark, "test"]}
        return Call("plan", arguments, (Trace("PlanSet", mark),))

    def _action(self, mark: str) -> Call:
        args = {"command": f"make {mark}"}
        arguments: dict[str, Any] = {"kind": "action", "tool": "bash", "args": args, "ok": True}
        traces: Traces = (Trace("ActionObserved", call_key("bash", args)),)
        if self._rng.random() < LARGE:
            arguments["result"] = output = self._output(mark)
            traces += (Trace("RefStored", sha256(output.encode()).hexdigest()),)
        return Call("observe", arguments, traces)

    def _output(self, mark: str) -> str:
        """Return what a build might print, 300 to LONGEST characters, mostly little."""
        size = int(300 * (LONGEST / 300) ** (self._rng.random() ** 2))
        lines: list[str] = []
        while size > 0:
            line = f"{mark} case {len(lines)} passed in {self._rng.randrange(999)} ms"
            lines.append(line)
            size -= len(line) + 1
        return "\n".join(lines)

    def _mark(self) -> str:
        self._made += 1
        return f"agent {self._number} item {self._made}"
