"""What the rules of a project come to for one call, and how a reply says it.

| finding                              | the reply says                                      |
| a rule that blocks                   | verdict=block code=invariant, the rule, what to do  |
| a rule that warns                    | verdict=warn code=invariant, the rule, what to do   |
| the rules could not be judged        | verdict=block code=invariants_failed                |
| their file is broken                 | rules=broken, and where                             |

Rule 1: the first rule that blocks is shown, else the first that warns.
Rule 2: a verdict with its evidence stays within 90 tokens, whatever a rule's message is.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import plain
from osiris.core.errors import Refusal
from osiris.core.invariant_states import StateChange
from osiris.core.invariants import Finding
from osiris.core.replies import Reply

_MESSAGE: Final = 100
_LEAST: Final = 24
_ROOM: Final = 250  # characters of a verdict that are its own
_EVIDENCE: Final = 80
_ACTION: Final = 160
_TROUBLE: Final = 160
_FIX: Final = 60

Pairs = tuple[tuple[str, str], ...]


class Ruling(Struct, frozen=True):
    """`changes` are what the call did to states of `project`.

    `trouble` is what is wrong with the file. `failed`: judging itself failed, so nothing is known
    of the call.
    """

    findings: tuple[Finding, ...] = ()
    changes: tuple[StateChange, ...] = ()
    trouble: Refusal | None = None
    failed: bool = False
    project: str = ""

    @property
    def shown(self) -> Finding | None:
        """Return the finding that a reply is about."""
        blocks = (one for one in self.findings if one.verdict == "block")
        return next(blocks, next(iter(self.findings), None))

    @property
    def blocks(self) -> bool:
        return self.failed or (self.shown is not None and self.shown.verdict == "block")

    @property
    def warns(self) -> bool:
        return self.shown is not None and not self.blocks


UNRULED: Final = Ruling()


def with_finding(reply: Reply, ruling: Ruling) -> Reply:
    """Return `reply` with the rule that the call breaks, if it breaks one."""
    if ruling.failed:
        action = "leave this call to a person; `osiris invariants explain` shows the fault"
        denied = (("verdict", "block"), ("code", "invariants_failed"), ("required_action", action))
        return replace(reply, pairs=(*reply.pairs, *denied))
    found = ruling.shown
    if found is None:
        return reply
    pairs = (
        *reply.pairs,
        ("verdict", found.verdict),
        ("code", "invariant"),
        ("rule", found.rule),
        ("required_action", plain.one_line(found.action, _ACTION)),
    )
    room = _ROOM - len(found.rule) - len(found.action)
    notes = (
        plain.one_line(found.message, max(_LEAST, min(_MESSAGE, room // 2))),
        f"evidence: {plain.one_line(found.evidence, max(_LEAST, min(_EVIDENCE, room // 2)))}",
    )
    return replace(reply, pairs=pairs, notes=(*notes, *reply.notes))


def with_trouble(reply: Reply, ruling: Ruling) -> Reply:
    """Return `reply` with what is wrong with the rules file, if anything is."""
    if ruling.trouble is None:
        return reply
    code, what, fix = ruling.trouble.code, ruling.trouble.what, ruling.trouble.fix
    note = f"error {code}: {plain.one_line(what, _TROUBLE)} | fix: {plain.one_line(fix, _FIX)}"
    return replace(reply, pairs=(*reply.pairs, ("rules", "broken")), notes=(*reply.notes, note))


def changed(ruling: Ruling) -> Pairs:
    """Return which states a call set and which it ended."""
    held = ",".join(change.state for change in ruling.changes if change.ok)
    ended = ",".join(change.state for change in ruling.changes if not change.ok)
    return (*((("holds", held),) if held else ()), *((("ended", ended),) if ended else ()))
