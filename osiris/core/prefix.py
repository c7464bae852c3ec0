"""Zones, hashes and the seal (design 7, Hashes).

Rule 1: prefix = H(head, zoneB) is what a prompt cache holds; the tail grows without touching it.
Rule 2: the tail is a chain over constraints and pinned decisions in order of arrival, so that an
        append and a rewrite cannot look alike.
Rule 3: the seal is the first 16 hex digits of H(task, prefix, zoneA).
Rule 4: a seal is accepted whole, as a prefix of 12 or more, or shortened as `3f9a1c…c21b`.
"""

import re
from collections.abc import Iterable

from osiris.core import canon

EMPTY_HEAD = canon.hexdigest("head", ["", ""])
EMPTY_TAIL = canon.hexdigest("tail", [])

_SEAL = re.compile(r"(?:SEAL=)?(?:sha256:)?([0-9a-f]{12,16}|[0-9a-f]{6,}…[0-9a-f]{4,})")


def zone_b(objective: str, steps: Iterable[str], contract: str) -> str:
    """Return the hash of what is quasi-stable: objective, plan texts without progress, tools."""
    texts = [canon.meaning(step) for step in steps]
    return canon.hexdigest("zoneB", [canon.meaning(objective), contract, *texts])


def extend_tail(tail: str, kind: str, item: str) -> str:
    """Return the chain after `item`, a canonical id and text."""
    return canon.hexdigest("tail", [tail, kind, item])


def pinned_item(item: str, text: str) -> str:
    """Return what stands for a pinned text in the tail: its id and its semantic form."""
    return canon.hexdigest("item", [item, canon.meaning(text)])


def pinned_hash(text: str) -> str:
    """Return the identity of a pinned text."""
    return canon.hexdigest("pinned", [canon.meaning(text)])[:32]


def prefix(head: str, zone: str) -> str:
    return canon.hexdigest("prefix", [head, zone])


def seal(task: str, head: str, zone: str, tail: str) -> str:
    """Return the 16 hex digits an agent carries."""
    zone_a = canon.hexdigest("zoneA", [head, tail])
    return canon.hexdigest("seal", [task, prefix(head, zone), zone_a])[:16]


def parse_seal(text: str) -> tuple[str, str] | None:
    """Return the (start, end) hex digits that a presented seal must have, or None."""
    found = _SEAL.fullmatch(text.strip())
    if found is None:
        return None
    start, _, end = found[1].partition("…")
    return start, end


def seal_fits(presented: tuple[str, str], known: str) -> bool:
    return known.startswith(presented[0]) and known.endswith(presented[1])
