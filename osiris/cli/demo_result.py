"""What the demo measured."""

from typing import Any

from msgspec import Struct


class Payload(Struct, frozen=True):
    """A text the model would have read whole."""

    name: str
    text: str
    tool: str


class Tally(Struct):
    """What was read and said so far; `acknowledged` names changes that were acknowledged."""

    payloads: list[Payload] = []
    spoken: list[str] = []
    acknowledged: list[str] = []
    facts_needed: int = 0
    facts_found: int = 0
    owner_killed: bool = False
    handoff: str = ""
    refs: dict[str, str] = {}


class Result(Struct, frozen=True):
    """Tokens on the o200k ruler; `net_pct` of the baseline."""

    baseline_tokens: int
    osiris_tokens: int
    tally: Tally
    acked_lost: int
    audit: dict[str, Any]
    capped: dict[str, int]
    overhead: dict[str, int]
    seconds: float

    @property
    def net_tokens(self) -> int:
        return self.baseline_tokens - self.osiris_tokens

    @property
    def net_pct(self) -> float:
        return round(100 * self.net_tokens / self.baseline_tokens, 1)

    @property
    def is_ok(self) -> bool:
        found_all = self.tally.facts_found == self.tally.facts_needed
        is_handed = self.tally.handoff == "verified"
        return found_all and is_handed and self.acked_lost == 0 and bool(self.audit.get("ok"))
