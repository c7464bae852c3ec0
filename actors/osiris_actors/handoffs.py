"""The handoff tool beside the actors: who is meant, who acts, and waiting.

Rule 1: a contract is named by any prefix of 4 or more that fits one.
Rule 2: a caller acts for the task it names, else for the one it is bound to.
Rule 3: waiting is watching and reading again, here and in no actor; WAIT_S at most, with its own
        caps.
"""

from collections import Counter

import trio
from msgspec import Struct

from osiris.core import canon, index, plain
from osiris.core.commands import Handoff
from osiris.core.decision import Checked
from osiris.core.errors import Refusal
from osiris.core.handing import ANYONE
from osiris.core.handoff import ACTIVE, Contract
from osiris.core.index import Moved
from osiris.core.replies import Block, Reply
from osiris.service import Caller, Traffic
from osiris_actors import listings, schemas
from osiris_actors.checks import Checks
from osiris_actors.contract_facts import ended
from osiris_actors.routing import Router
from osiris_actors.store.contract import Key, Store, Unit

WAIT_S = 25.0
WAITS_HERE = 8
WAITS = 256
LISTED = 200
SHORTEST = 4
Standing = dict[str, Moved]  # by the contract's id
VERIFIABLE = ("returned", "expired", "cancelled")


class Target(Struct, frozen=True):
    """Where a handoff goes: the issuer's task, the contract, the task that acts, checks run."""

    task: str
    contract: str = ""
    acting: str = ""
    checks: tuple[Checked, ...] = ()


class Handoffs:
    """One for all connections."""

    def __init__(self, store: Store, router: Router, checks: Checks, traffic: Traffic) -> None:
        self._store = store
        self._router = router
        self._checks = checks
        self._traffic = traffic
        self._waiting: Counter[str] = Counter()
        self._changed = trio.Event()
        self._is_leaving = False

    def changed(self, unit: Unit) -> None:
        """Wake who waits, if a contract has changed; called for every committed unit."""
        if any(put.key.startswith("contract") for put in unit.puts):
            self._wake()

    def leave(self) -> None:
        """Send who waits away, with a cursor to wait on with the next owner."""
        self._is_leaving = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def target(self, caller: Caller, command: Handoff, key: Key) -> Target | Refusal:
        """Return where a handoff goes."""
        if command.schema is not None and (wrong := schemas.refusal_of_schema(command.schema)):
            return wrong
        if command.op == "offer":
            wrong = await self._checks.refusal_of(caller, command.checks or ())
            if wrong is not None:
                return wrong
            task = await self._router.task(caller, command, key)
            return task if isinstance(task, Refusal) else Target(task, acting=task)
        contract = await self._named(command.contract)
        if isinstance(contract, Refusal):
            return contract
        found = await self._router.task(caller, command, None)
        acting = "" if isinstance(found, Refusal) else found
        checked = await self._checked(caller, command, contract, acting, key)
        return Target(contract.task, contract.id, acting, checked)

    async def listed(self, caller: Caller, command: Handoff) -> Reply:
        """Return the contracts offered to the caller, and those of its task."""
        return await self._reply(await self._standing(caller, command))

    async def wait(self, caller: Caller, command: Handoff) -> Reply | Refusal:
        """Return as soon as the list is not the one that `cursor` stands for."""
        if self._waiting[caller.nonce] >= WAITS_HERE or self._waiting.total() >= WAITS:
            return Refusal("busy", "too many calls wait already", "wait with fewer calls at once")
        self._waiting[caller.nonce] += 1
        try:
            cursor = command.cursor or _cursor(await self._standing(caller, command))
            with trio.move_on_after(WAIT_S), self._traffic.aside():
                if found := await self._changed_list(caller, command, cursor):
                    return found
            return Reply((("still_waiting", ""), ("cursor", cursor)))
        finally:
            self._waiting[caller.nonce] -= 1
            self._waiting += Counter()

    async def _changed_list(self, caller: Caller, command: Handoff, cursor: str) -> Reply | None:
        """Return the list that `cursor` does not stand for; None when the owner leaves."""
        while True:
            changed = self._changed
            found = await self._standing(caller, command)
            if _cursor(found) != cursor:
                return await self._reply(found)
            if self._is_leaving:
                return None
            await changed.wait()

    async def _standing(self, caller: Caller, command: Handoff) -> Standing:
        """Return how the contracts stand that are offered to the caller or are its task's."""
        inboxes = [f"inbox/{index.agent_key(n)}/" for n in (command.agent or caller.agent, *ANYONE)]
        acting = await self._router.task(caller, command, None)
        own = "" if isinstance(acting, Refusal) else f"issued/{acting}/"
        found: Standing = {}
        for folder in filter(None, (*inboxes, own)):
            async for put in listings.entries(self._store, folder):
                name = put.key.removeprefix(folder)
                raw = await self._store.get_index(f"contract.state/{name}")
                moved = None if raw is None else index.moved_entry(raw)
                if moved is not None and (folder == own or moved.status == "offered"):
                    found[name] = moved
        return found

    async def _reply(self, found: Standing) -> Reply:
        """Return the list: what is open first, of what has ended as much as fits."""
        names = sorted(found, key=lambda name: found[name].status not in ACTIVE)
        told = [await ended(self._store, name) for name in names[:LISTED]]
        lines = [_line(contract) for contract in told if contract is not None]
        if len(names) > LISTED:
            lines.append(f"and {len(names) - LISTED:,} more")
        pairs = (("ok", ""), ("contracts", str(len(found))), ("cursor", _cursor(found)))
        return Reply(pairs, block=Block("contracts", "\n".join(lines)) if lines else None)

    async def _named(self, name: str | None) -> Contract | Refusal:
        if not name:
            fix = "send contract=ID; see osiris_handoff op=list"
            return Refusal("missing_argument", "handoff needs 'contract'", fix)
        wanted = name.strip().lower()
        puts = await self._store.index(f"contract/{wanted}", limit=2)
        if len(wanted) < SHORTEST or len(puts) != 1:
            fix = "see osiris_handoff op=list"
            return Refusal("unknown_contract", f"no contract {plain.one_line(name, 40)}", fix)
        found = await ended(self._store, puts[0].key.removeprefix("contract/"))
        return found or Refusal("unknown_contract", "no such contract", "see op=list")

    async def _checked(
        self, caller: Caller, command: Handoff, contract: Contract, acting: str, key: Key
    ) -> tuple[Checked, ...]:
        """Run the checks of a result that the issuer would verify now, and only then."""
        if command.op != "verify" or acting != contract.task:
            return ()
        result = contract.late if contract.status in ("expired", "cancelled") else contract.result
        if not result or contract.status not in VERIFIABLE:
            return ()
        if await self._store.lookup(key.name) is not None:
            return ()  # asked before, and answered as it was then
        return await self._checks.run(caller, contract, result)


def _cursor(found: Standing) -> str:
    parts = [f"{name}:{found[name].status}:{found[name].attempt}" for name in sorted(found)]
    return canon.hexdigest("list", parts)[:12]


def _line(c: Contract) -> str:
    who = f" held by {plain.one_line(c.holder, 40)}" if c.holder else ""
    why = f" why={plain.quoted(c.why, 80)}" if c.why else ""
    to = plain.one_line(c.to, 40)
    return f"{c.id} {c.status} to={to}{who} goal={plain.quoted(c.goal, 120)}{why}"
