"""The proof of non-loss: what was externalized, what was found again, what is wrong.

Rule 1: an item is verified when its stored bytes hash to its name.
Rule 2: lossless means every item was found and nothing was damaged; what the redactor replaced is
        said beside it: lossless is modulo redaction.
Rule 3: the accounts of events and counters must be the same, and sum to zero.
"""

from typing import Any

from msgspec import Struct


class Finding(Struct, frozen=True):
    """A record that is not what it was: its name, and how that shows."""

    record: str
    why: str


class Audit(Struct, frozen=True):
    """What one audit looked at; `scope` is a task's id, or `store`."""

    scope: str
    externalized: int = 0
    verified: int = 0
    missing: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    events: int = 0
    streams: int = 0
    records: int = 0
    redacted: int = 0
    balance: int = 0
    unclean_stops: int = 0

    @property
    def is_lossless(self) -> bool:
        return not self.missing and not self.findings and self.verified == self.externalized

    @property
    def is_clean(self) -> bool:
        return self.is_lossless and self.balance == 0


def as_json(audit: Audit) -> dict[str, Any]:
    """Return the audit as the command line prints it."""
    return {
        "scope": audit.scope,
        "ok": audit.is_clean,
        "lossless": audit.is_lossless,
        "items_externalized": audit.externalized,
        "items_verified": audit.verified,
        "items_missing": len(audit.missing),
        "missing": list(audit.missing),
        "integrity_violations": [
            {"record": found.record, "why": found.why} for found in audit.findings
        ],
        "events": audit.events,
        "streams": audit.streams,
        "records": audit.records,
        "redacted_items": audit.redacted,
        "ledger_balance": audit.balance,
        "unclean_stops": audit.unclean_stops,
    }
