"""The ledger's actor: the accounts as of one moment, with nothing left pending.

Rule 1: what is pending is committed first, then one snapshot of the counters is read.
Rule 2: net comes from `core.ledger.net` and nowhere else.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from osiris.core import factor, ledger, savings
from osiris.core.factor import Factor
from osiris.core.savings import By, Row
from osiris_actors.env import Env
from osiris_actors.store.contract import Store


class Balance(Struct, frozen=True):
    """Return the accounts of `scope`: all, or day/NNNNNN; with `by` row by row too."""

    scope: str = "all"
    by: By | None = None


class Accounts(Struct, frozen=True):
    """Tokens: kept out by proof, overhead by kind, and the one net; `balance` must be zero.

    `calls` are those of all days. `rows` sum to the accounts. `factor` is how many of a provider's
    tokens one of these is, over all models.
    """

    kept_out: dict[str, int]
    overhead: dict[str, int]
    calls: int
    net: int
    balance: int
    factor: Factor
    rows: tuple[Row, ...] = ()


class LedgerActor:
    """Flushes, then reads."""

    def __init__(self, store: Store, env: Env, flush: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._env = env
        self._flush = flush

    async def handle(self, asked: Balance) -> Accounts:
        await self._flush()
        is_all = asked.scope == "all"
        whole = "ledger/" if asked.by else ledger.ALL
        counters = await self._store.counters(whole if is_all else f"ledger/{asked.scope}/")
        factors = await self._store.counters(factor.COUNTERS)
        return await self._env.run_sync(_accounts, asked, counters, factors)


def _accounts(asked: Balance, counters: dict[str, int], factors: dict[str, int]) -> Accounts:
    named = {n.removeprefix(ledger.ALL): v for n, v in counters.items() if n.startswith(ledger.ALL)}
    is_all = asked.scope == "all"
    kept, charged = ledger.summary(named) if is_all else savings.totals(counters)
    return Accounts(
        kept_out=kept,
        overhead=charged,
        calls=named.get("calls", 0),
        net=ledger.net(kept, charged),
        balance=ledger.balance(named),
        factor=factor.pooled(factors),
        rows=savings.rows(counters, asked.by) if asked.by else (),
    )
