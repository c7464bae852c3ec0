"""What OSIRIS costs, by kind; a kind may carry the source of the payload that the call was about.

Written `stub` or `stub/shell`. States keep kinds alone; the ledger's cells keep both.
"""

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

KINDS = ("schema", "instructions", "arguments", "reply", "manifest", "stub", "recall")


SHOWN = frozenset(("reply", "manifest", "stub", "recall"))  # what OSIRIS puts before the model


def labelled(costs: Mapping[str, T], source: str) -> dict[str, T]:
    """Return what a call cost, each kind with the source of its payload; empty for none."""
    return {f"{kind}/{source}" if source else kind: cost for kind, cost in costs.items()}


def shown(tokens: Mapping[str, int]) -> int:
    """Return what of `tokens` the model did not write itself."""
    return sum(amount for name, amount in tokens.items() if name.partition("/")[0] in SHOWN)


def grown(charged: Mapping[str, int], tokens: Mapping[str, int]) -> dict[str, int]:
    """Return `charged`, by kind alone, with `tokens` added."""
    total = dict(charged)
    for name, amount in tokens.items():
        kind = name.partition("/")[0]
        total[kind] = total.get(kind, 0) + amount
    return total
