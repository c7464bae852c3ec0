"""The ledger's actor: the accounts as of one moment, with nothing left pending.

Rule 1: what is pending is committed first, then one snapshot of the counters is read.
Rule 2: net comes from `core.ledger.net` and nowhere else.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from osiris.core import ledger
from osiris_actors.store.contract import Store


class Balance(Struct, frozen=True):
    """Return the accounts of `scope`: all, or day/NNNNNN."""

    scope: str = "all"


class Accounts(Struct, frozen=True):
    """Tokens: kept out by proof, overhead by kind, and the one net; `balance` must be zero."""

    kept_out: dict[str, int]
    overhead: dict[str, int]
    calls: int
    net: int
    balance: int


class LedgerActor:
    """Flushes, then reads."""

    def __init__(self, store: Store, flush: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._flush = flush

    async def handle(self, asked: Balance) -> Accounts:
        await self._flush()
        prefix = f"ledger/{asked.scope}/"
        counters = await self._store.counters(prefix)
        named = {name.removeprefix(prefix): amount for name, amount in counters.items()}
        kept, charged = ledger.summary(named)
        return Accounts(
            kept_out=kept,
            overhead=charged,
            calls=named.get("calls", 0),
            net=ledger.net(kept, charged),
            balance=ledger.balance(named),
        )
