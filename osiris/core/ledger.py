"""Double entry over tokens: what was kept out, what OSIRIS cost, and the one net function.

Rule 1: every posting moves an amount between two accounts, so all accounts sum to zero.
Rule 2: net = kept out by receipt - all overhead; it may be negative. Declared and estimated
        amounts stand beside it, never in it.
Rule 3: kept out = min(payload, what that host would have shown anyway). The caps are HOSTS;
        an unknown host has the lowest. `whole` has no cap: for demos and grids, never a default.
Rule 4: postings are a pure function of events, so counters can be rebuilt.
Rule 5: each amount is also in one cell, by day, agent, task and source; cells sum to the accounts,
        so that every table over them sums to the headline.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from osiris.core import events as ev
from osiris.core import overhead, plain

PROOFS = ("receipt", "declared", "estimated")
ALL = "ledger/all#"  # what stands after a # is kept in one record
NAME = 40  # characters of an agent's name in a cell
_APART = re.compile("[/#]")
NOBODY = "osiris"  # who books what no agent's call caused

# characters of one result that a host shows its model (research/mcp.md 5.3, design 8)
HOSTS: dict[str, dict[str, int]] = {
    "claude-code": {"shell": 26_000, "search": 17_000, "other": 100_000},
    "codex": {"other": 6_000},
    "": {"other": 6_000},
    "whole": {},
}

# tool name in lower case -> source
SOURCES: dict[str, str] = {
    "bash": "shell", "shell": "shell", "exec": "shell", "terminal": "shell", "put": "shell",
    "read": "read", "file": "read", "cat": "read", "view": "read",
    "grep": "search", "glob": "search", "search": "search", "find": "search", "ls": "search",
    "webfetch": "web", "websearch": "web", "fetch": "web", "browser": "web",
}  # fmt: skip


def source(tool: str) -> str:
    """Return the closed label of the tool a payload came from."""
    name = tool.lower()
    if name.startswith("mcp__"):
        return "mcp"
    return SOURCES.get(name, "other")


def shown_anyway(tokens: int, characters: int, host: str, tool: str) -> int:
    """Return the tokens of a payload that `host` would have put before its model."""
    caps = HOSTS.get(host.lower(), HOSTS[""])
    cap = caps.get(source(tool), caps.get("other"))
    if cap is None or characters <= cap:
        return tokens
    return tokens * cap // characters


def postings(event: ev.Event) -> dict[str, int]:
    """Return the account changes of one event; they sum to zero."""
    match event:
        case ev.Charged(tokens):
            kinds = overhead.grown({}, tokens)
            changes = {f"overhead/{kind}": amount for kind, amount in kinds.items()}
            return {**changes, "model/overhead": -sum(tokens.values())}
        case ev.KeptOut(_, proof, label, tokens):
            return {f"kept_out/{proof}/{label}": tokens, f"model/kept_out/{proof}": -tokens}
        case _:
            return {}


def day_of(at_ms: int) -> str:
    """Return the UTC day of a time as days since 1970, zero-padded."""
    return f"{at_ms // 86_400_000:06d}"


def moves(stream: str, stamped: ev.Stamped) -> list[tuple[str, int]]:
    """Return the counter changes of an event: the accounts of all, then those of its cell."""
    event = stamped.event
    if not isinstance(event, ev.Charged | ev.KeptOut):
        return []
    at = _cell(stream, stamped)
    found = [(ALL + name, amount) for name, amount in postings(event).items()]
    if isinstance(event, ev.Charged):
        found.append((f"{ALL}calls", event.calls))
        found += [(f"{at}overhead/{kind}", amount) for kind, amount in event.tokens.items()]
    else:
        found.append((f"{at}kept_out/{event.proof}/{event.source}", event.tokens))
    return found


def _cell(stream: str, stamped: ev.Stamped) -> str:
    task = stream.removeprefix("task/") if stream.startswith("task/") else ""
    return f"ledger/day/{day_of(stamped.at_ms)}/{agent_label(stamped.by)}/{task}#"


@lru_cache(4_096)
def agent_label(agent: str) -> str:
    """Return an agent's name as a part of a cell's; empty for what no agent caused."""
    return "" if agent == NOBODY else _APART.sub("-", plain.one_line(agent, NAME))


def net(kept_out: Mapping[str, int], charged: Mapping[str, int]) -> int:
    """Return the one number: proven savings less everything OSIRIS cost, in tokens."""
    return kept_out.get("receipt", 0) - sum(charged.values())


def balance(counters: Mapping[str, int]) -> int:
    """Return the sum over all accounts; anything but zero is a bug."""
    return sum(n for name, n in counters.items() if name.rpartition("#")[2] != "calls")


def summary(counters: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return (kept out by proof, overhead by kind) of counters named without their scope."""
    kept: dict[str, int] = dict.fromkeys(PROOFS, 0)
    charged: dict[str, int] = {}
    for name, amount in counters.items():
        account, _, rest = name.partition("/")
        if account == "kept_out":
            proof = rest.partition("/")[0]
            kept[proof] = kept.get(proof, 0) + amount
        elif account == "overhead":
            charged[rest] = charged.get(rest, 0) + amount
    return kept, charged
