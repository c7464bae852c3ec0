"""Contracts between agents: what they hold, and which move is allowed when and by whom.

Rule 1: a contract lives in its issuer's stream alone; an index finds the issuer.
Rule 2: a move is a row of MOVES: it has states it may start from, a side that may make it, and
        whether it raises the fence. What is not a row is refused.
Rule 3: the fence's value is the attempt; it only rises. Whoever writes for an older one is behind.
Rule 4: a cycle (the same goal for the same assignee above) and depth over DEPTH are refused.
Rule 5: acceptance checks are CHECKS; OSIRIS runs them, never the assignee.
"""

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from osiris.core import canon
from osiris.core.errors import Refusal

Status = Literal[
    "offered", "running", "input_required", "returned", "verified", "declined", "cancelled",
    "expired",
]  # fmt: skip
Side = Literal["issuer", "holder", "named", "clock"]

DEPTH = 3
LEASE_S = 900
ACTIVE: frozenset[Status] = frozenset({"offered", "running", "input_required", "returned"})
HELD: frozenset[Status] = frozenset({"running", "input_required"})

_CHECK = re.compile(
    r"(sha256:[0-9a-f]{64}|schema|file:\S.{0,400}|state:[\w.-]{1,64}|check:[\w.-]{1,64})"
)
CHECKS = "sha256:HEX, schema, file:PATH, state:NAME, check:ID"


class Contract(Struct, frozen=True, array_like=True):
    """`attempt` is the fence's value; `inputs` are sha256; `budget` amounts by unit.

    `holds` are the counters that hold the budget; none when the issuer's own reservation does.
    `lease_s` 0 means none runs.
    """

    id: str
    task: str
    to: str
    goal: str
    inputs: tuple[str, ...] = ()
    budget: dict[str, int] = {}
    checks: tuple[str, ...] = ()
    schema: str = ""
    status: Status = "offered"
    attempt: int = 0
    child: str = ""
    holder: str = ""
    depth: int = 1
    lease_s: int = LEASE_S
    result: str = ""
    late: str = ""
    why: str = ""
    holds: tuple[str, ...] = ()


class Ancestor(Struct, frozen=True, array_like=True):
    """A contract that a child works under: its fence, and what it asked of whom."""

    contract: str
    fence: int
    goal_hash: str
    to: str


class Move(Struct, frozen=True):
    """One row: from which states, to which, by whom, and whether it raises the fence."""

    starts: frozenset[Status]
    ends: Status
    by: Side
    raises_fence: bool = False


MOVES: dict[str, Move] = {
    "accept": Move(frozenset({"offered"}), "running", "named", raises_fence=True),
    "decline": Move(frozenset({"offered"}), "declined", "named"),
    "ask": Move(frozenset({"running"}), "input_required", "holder"),
    "answer": Move(frozenset({"input_required"}), "running", "issuer"),
    "return": Move(HELD, "returned", "holder", raises_fence=True),
    "verify": Move(frozenset({"returned"}), "verified", "issuer"),
    "reject": Move(frozenset({"returned"}), "offered", "issuer"),
    "cancel": Move(frozenset({"offered", *HELD}), "cancelled", "issuer", raises_fence=True),
    "expire": Move(HELD, "expired", "clock", raises_fence=True),
}


def goal_hash(goal: str) -> str:
    return canon.hexdigest("goal", [canon.meaning(goal)])[:16]


def contract_id(task: str, key: str) -> str:
    """Return the id of the contract that the command `key` offers."""
    return "h" + canon.hexdigest("contract", [task, key])[:8]


def child_id(contract: str, key: str) -> str:
    """Return the id of the task that accepting under `key` opens."""
    return canon.hexdigest("child", [contract, key])[:8]


def refusal_of_move(name: str, contract: Contract, side: Side) -> Refusal | None:
    """Return why `side` may not make this move now; None when it may."""
    move = MOVES[name]
    if contract.status not in move.starts:
        what = f"contract {contract.id} is {contract.status}"
        if contract.holder and contract.status in HELD:
            what += f", held by {contract.holder}"
        starts = " or ".join(sorted(move.starts))
        return Refusal("contract_state", what, f"{name} works on {starts}")
    if move.by != side:
        fix = f"let the {move.by} call {name}, or name the acting task with task="
        return Refusal("not_holder", f"{name} of {contract.id} is for its {move.by}", fix)
    return None


def refusal_of_offer(
    goal: str, to: str, ancestors: Iterable[Ancestor], depth: int
) -> Refusal | None:
    """Return why this contract may not be offered below `ancestors`."""
    if depth > DEPTH:
        fix = "do this part in the task itself, or return and let the issuer offer it"
        return Refusal("contract_depth", f"contracts nest {DEPTH} deep at most", fix)
    wanted = goal_hash(goal)
    if any(above.goal_hash == wanted and above.to == to for above in ancestors):
        fix = "offer another goal, or return what is done"
        return Refusal("contract_cycle", f"{to} already has this goal further up", fix)
    return None


def refusal_of_checks(checks: Iterable[str]) -> Refusal | None:
    """Return why a check cannot be run by OSIRIS."""
    for check in checks:
        if _CHECK.fullmatch(check) is None:
            what = f"check {check[:60]!r} is none that OSIRIS runs"
            return Refusal("bad_argument", what, f"write {CHECKS}")
    return None
