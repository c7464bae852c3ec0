"""What a bridge says again to a new owner after the last one died. Standard library only.

Rule 1: `initialize`, `notifications/initialized` and subscriptions are said again to each new
        owner, and the answers to those repeats are swallowed.
Rule 2: an unanswered request is said again once; if a second owner dies of it, it is given up.
        The nonce stays, so a command that was committed before the death answers the same.
Rule 3: `subscriptions/listen` stays open for as long as the client listens: it has no such limit.
Rule 4: a request that the client cancelled is forgotten, because nobody answers it.
Rule 5: lines are kept up to `KEEP_MAX` bytes; a request beyond that is given up at first death.
Rule 6: what was refused while its owner did not answer is not answered again when it does.
"""

from osiris.envelope import Envelope, Id, param

KEEP_MAX = 32 * 1024 * 1024

_ATTEMPTS = 2
_ENDLESS = "subscriptions/listen"


class Waiting:
    """A request without an answer; `line` is None where it was too much to keep."""

    __slots__ = ("attempts", "id", "line", "method")

    def __init__(self, ident: Id, method: str, line: bytes | None) -> None:
        self.id = ident
        self.method = method
        self.line = line
        self.attempts = 1

    @property
    def is_spent(self) -> bool:
        return self.line is None or (self.attempts >= _ATTEMPTS and self.method != _ENDLESS)


class Replay:
    """One session of the client, as far as another owner has to hear it again."""

    def __init__(self, nonce: str) -> None:
        self.nonce = nonce
        self.has_begun = False
        self._initialize: tuple[Id, bytes] | None = None
        self._initialized: bytes | None = None
        self._subscribed: dict[Id | None, tuple[Id, bytes]] = {}
        self._waiting: dict[Id, Waiting] = {}
        self._swallowed: list[Id] = []
        self._kept = 0

    def said(self, line: bytes, envelope: Envelope) -> None:
        """Note a line that the client sends."""
        if envelope.is_request:
            self._asked(line, envelope)
        elif envelope.method == "notifications/initialized":
            self._initialized = line
        elif envelope.method == "notifications/cancelled":
            self._drop(self._find(param(line, "requestId")))

    def _asked(self, line: bytes, envelope: Envelope) -> None:
        assert envelope.id is not None
        assert envelope.method is not None
        self.has_begun = True
        fits = self._kept + len(line) <= KEEP_MAX
        self._drop(self._waiting.get(envelope.id))
        self._waiting[envelope.id] = Waiting(envelope.id, envelope.method, line if fits else None)
        self._kept += len(line) if fits else 0
        if envelope.method == "initialize":
            self._initialize = (envelope.id, line)

    def swallows(self, envelope: Envelope) -> bool:
        """Say, once for each, whether an owner's line answers what only the bridge repeated."""
        if envelope.is_reply and envelope.id in self._swallowed:
            self._swallowed.remove(envelope.id)
            return True
        return False

    def answered_by(self, envelope: Envelope) -> Waiting | None:
        """Return the request that an owner's line answers."""
        return self._find(envelope.id) if envelope.is_reply else None

    def settle(self, waiting: Waiting, *, failed: bool) -> None:
        """Note that the client has the answer."""
        self._drop(waiting)
        if failed or waiting.line is None:
            return
        if waiting.method == "resources/subscribe":
            self._subscribed[param(waiting.line, "uri")] = (waiting.id, waiting.line)
        elif waiting.method == "resources/unsubscribe":
            self._subscribed.pop(param(waiting.line, "uri"), None)

    def _find(self, ident: Id | None) -> Waiting | None:
        return None if ident is None else self._waiting.get(ident)

    def _drop(self, waiting: Waiting | None) -> None:
        if waiting is not None and self._waiting.get(waiting.id) is waiting:
            del self._waiting[waiting.id]
            self._kept -= len(waiting.line or b"")

    def bury(self) -> list[Waiting]:
        """Note that the owner died; return the requests that are given up."""
        lost = [waiting for waiting in self._waiting.values() if waiting.is_spent]
        for waiting in lost:
            self._give_up(waiting)
        for waiting in self._waiting.values():
            waiting.attempts += 1
        return lost

    def give_up(self) -> list[Waiting]:
        """Forget and return every request without an answer."""
        lost = list(self._waiting.values())
        for waiting in lost:
            self._give_up(waiting)
        return lost

    def refuse(self) -> list[Waiting]:
        """Forget and return what the client expects an answer to; a late answer is swallowed."""
        late = [waiting for waiting in self._waiting.values() if waiting.method != _ENDLESS]
        for waiting in late:
            self._give_up(waiting)
        self._swallowed += [waiting.id for waiting in late]
        return late

    def _give_up(self, waiting: Waiting) -> None:
        self._drop(waiting)
        if waiting.method == "initialize":
            self._initialize = None

    @property
    def is_due(self) -> bool:
        """Say whether the client still expects an answer."""
        return any(waiting.method != _ENDLESS for waiting in self._waiting.values())

    def lines(self) -> list[bytes]:
        """Return what the next owner has to hear, in order."""
        repeated: list[tuple[Id, bytes]] = []
        first: list[bytes] = []
        asked = [w for w in self._waiting.values() if w.method != "initialize"]
        if self._initialize:
            first.append(self._initialize[1])
            if len(asked) == len(self._waiting):
                repeated.append(self._initialize)
        if self._initialized:
            first.append(self._initialized)
        repeated += self._subscribed.values()
        self._swallowed = [ident for ident, _ in repeated]
        first += [line for _, line in self._subscribed.values()]
        return first + [waiting.line for waiting in asked if waiting.line is not None]
