"""The audit of a bundle: what `osiris audit` says of a store, from a file and nothing else.

Rule: a payload that an event of the bundle names and the bundle does not hold is missing.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from osiris.core import events as ev
from osiris.core import ledger, refs
from osiris.core.audit import Audit, Finding
from osiris_actors.store.bundle import BlobBegins, EventFrame, Frame
from osiris_actors.store.bundle_check import BundleDamaged, check, frames


def audit_bundle(path: Path) -> Audit:
    """Check every chain and payload of a bundle, and what its events name. Raises OSError."""
    found, seen = check(path), _Seen()
    findings = [Finding(damage.record, damage.why) for damage in found.damage]
    try:
        for frame in _readable(path):
            seen.take(frame)
    except (msgspec.DecodeError, ev.UnknownEventError) as error:
        findings.append(Finding("event", f"cannot be read: {error}"))
    missing = sorted(seen.named - seen.held)
    return Audit(
        scope="bundle",
        externalized=len(seen.named),
        verified=len(seen.named) - len(missing),
        missing=tuple(map(refs.name, missing)),
        findings=tuple(findings),
        events=found.events,
        streams=found.streams,
        records=found.records,
        redacted=seen.redacted,
        balance=ledger.balance(seen.postings),
    )


def _readable(path: Path) -> Iterator[Frame]:
    """Yield frames up to the one that `check` names."""
    try:
        yield from frames(path)
    except BundleDamaged:
        return


class _Seen:
    """What the events of a bundle name and book, and which payloads it holds."""

    def __init__(self) -> None:
        self.named: set[str] = set()
        self.held: set[str] = set()
        self.redacted = 0
        self.postings: dict[str, int] = {}  # in the accounts of everything

    def take(self, frame: Frame) -> None:
        if isinstance(frame, BlobBegins):
            self.held.add(frame.sha256)
        if isinstance(frame, EventFrame):
            stamped = ev.decode(frame.event)
            for name, amount in ledger.moves("", stamped):
                if name.startswith(ledger.ALL):
                    self.postings[name] = self.postings.get(name, 0) + amount
            if isinstance(stamped.event, ev.RefStored):
                self.named.add(stamped.event.sha256)
                self.redacted += stamped.event.redacted
