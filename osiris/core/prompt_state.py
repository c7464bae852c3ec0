"""What a task knows of its agent's prompt: the results shown lately and the last request.

Rule 1: only what came as an argument was in the prompt; what OSIRIS read itself was not.
Rule 2: what a prompt begins with (head, contract) is no result, nor is what a check printed.
"""

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core.prices import Usage

RECENT_REFS = 16
ARGUMENT = "result"  # the door of a payload that the agent had in its prompt
NO_RESULTS = ("head", "contract", "check")  # doors


class RecentRef(Struct, frozen=True, array_like=True):
    """A payload stored lately, when `steps_done` steps were done; `dropped` as the agent says."""

    sha256: str
    tokens: int
    tool: str
    door: str = ""
    steps_done: int = 0
    dropped: bool = False

    @property
    def is_in_prompt(self) -> bool:
        return self.door == ARGUMENT and not self.dropped


class LastUsage(Struct, frozen=True, array_like=True):
    """The last request as its provider counted it; `window` 0 is an unknown one.

    `told` is what had been put before the model by then; `ruler_high` as in the event.
    """

    model: str = ""
    provider: str = ""
    ttl_s: int = 0
    usage: Usage = Usage()
    window: int = 0
    at_ms: int = 0
    told: int = 0
    ruler_high: int = 0


Recent = tuple[RecentRef, ...]


def stored(recent: Recent, event: ev.RefStored, steps_done: int) -> Recent:
    """Return the latest refs with one more."""
    ref = RecentRef(event.sha256, event.tokens, event.tool, event.door, steps_done)
    return (*recent[-RECENT_REFS + 1 :], ref)


def dropped(recent: Recent, sha256: str) -> tuple[Recent, int]:
    """Return the refs with one marked as gone, and the tokens that left the prompt with it."""
    gone = sum(ref.tokens for ref in recent if ref.sha256 == sha256 and ref.is_in_prompt)
    marked = (replace(ref, dropped=True) if ref.sha256 == sha256 else ref for ref in recent)
    return tuple(marked), gone


def growth(last: LastUsage, model: str, prompt: int, told: int) -> tuple[int, int] | None:
    """Return (how a prompt grew beyond what the model wrote, what was told), None for another."""
    before = last.usage.prompt
    is_same = last.at_ms > 0 and last.model == model and prompt >= before
    return (prompt - before - last.usage.output, told - last.told) if is_same else None


def used(event: ev.UsageDeclared, at_ms: int, told: int) -> LastUsage:
    """Return a declared request as the last one."""
    usage = Usage(
        event.input, event.cache_read, event.cache_write, event.cache_write_1h, event.output
    )
    return LastUsage(
        event.model,
        event.provider,
        event.ttl_s,
        usage,
        event.window,
        at_ms,
        told,
        event.ruler_high,
    )
