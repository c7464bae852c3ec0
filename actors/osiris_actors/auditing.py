"""Reading everything back: the chain of events, every payload, the accounts.

Rule 1: it reads the store and nothing else, so it runs with and without an owner.
Rule 2: damage is collected, never raised: an audit names all it finds.
"""

from osiris.core import events as ev
from osiris.core import ledger, refs
from osiris.core.audit import Audit, Finding
from osiris_actors.recount import Recount, history
from osiris_actors.store.contract import Store, StoreDamaged

STARTS = "owner/starts"
STOPS = "owner/stops"


async def audit_task(store: Store, task: str, *, owners: int = 0) -> Audit:
    """Replay one task's chain and hash every payload it stored. `owners` as in audit_store."""
    return await _audit(store, task, (f"task/{task}",), (), owners)


async def audit_store(store: Store, *, deep: bool = True, owners: int = 0) -> Audit:
    """Check every record, every chain and every payload; compare counters with events.

    `owners` run now (0 or 1): they began and have not left, and that is no unclean stop.
    """
    verified = await store.verify(deep=deep)
    found = tuple(Finding(damage.record, damage.why) for damage in verified.damage)
    audit = await _audit(store, "store", await store.streams(""), found, owners)
    return Audit(
        scope="store",
        externalized=audit.externalized,
        verified=audit.verified,
        missing=audit.missing,
        findings=audit.findings,
        events=audit.events,
        streams=verified.streams,
        records=verified.records,
        redacted=audit.redacted,
        balance=audit.balance,
        unclean_stops=audit.unclean_stops,
    )


async def _audit(
    store: Store, scope: str, streams: tuple[str, ...], found: tuple[Finding, ...], owners: int
) -> Audit:
    reader = _Reader(store, found)
    await reader.counted.begin()
    for stream in streams:
        await reader.stream(stream)
    whole = scope == "store"
    return Audit(
        scope=scope,
        externalized=len(reader.externalized),
        verified=reader.verified,
        missing=tuple(reader.missing),
        findings=tuple(reader.findings),
        events=reader.events,
        streams=len(streams),
        redacted=reader.redacted,
        balance=await reader.difference() if whole else 0,
        unclean_stops=await _unclean_stops(store, owners),
    )


class _Reader:
    """What one pass over streams adds up to."""

    def __init__(self, store: Store, found: tuple[Finding, ...]) -> None:
        self.findings = list(found)
        self.missing: list[str] = []
        self.externalized: set[str] = set()
        self.verified = 0
        self.events = 0
        self.redacted = 0
        self.counted = Recount(store)
        self._store = store

    async def stream(self, name: str) -> None:
        try:
            async for stamped in history(self._store, name):
                self.events += 1
                self.counted.take(name, stamped)
                if isinstance(stamped.event, ev.RefStored):
                    self.redacted += stamped.event.redacted
                    await self._payload(stamped.event.sha256)
        except StoreDamaged as damage:
            self._note(damage)

    async def difference(self) -> int:
        """Return how far the accounts are from zero, and all counters from the events."""
        apart = sum(map(abs, (await self.counted.off()).values()))
        accounts = await self._store.counters(ledger.ALL)
        return apart + abs(ledger.balance(accounts))

    async def _payload(self, sha256: str) -> None:
        if sha256 in self.externalized:
            return
        self.externalized.add(sha256)
        try:
            found = await self._store.get_blob(sha256)
        except StoreDamaged as damage:
            self._note(damage)
            return
        if found is None:
            self.missing.append(refs.name(sha256))
        else:
            self.verified += 1

    def _note(self, damage: StoreDamaged) -> None:
        finding = Finding(damage.record, damage.why)
        if finding.record not in {known.record for known in self.findings}:
            self.findings.append(finding)


async def _unclean_stops(store: Store, owners: int) -> int:
    """Return how many owners began and neither left in order nor run now."""
    counters = await store.counters("owner/")
    return max(0, counters.get(STARTS, 0) - counters.get(STOPS, 0) - owners)
