"""What a presented seal says about the agent's copy of the state.

| presented          | verdict          | observe            | precheck |
| none               | none             | records            | allows   |
| current            | none             | records            | allows   |
| an ancestor        | stale=n, normal  | records            | allows   |
| unknown            | drift            | records, manifest  | denies   |
"""

from osiris.core.decision import NOT_PRESENTED, Facts
from osiris.core.task_state import TaskState

Pairs = tuple[tuple[str, str], ...]


def is_unknown(facts: Facts) -> bool:
    return facts.seal is None


def pairs(state: TaskState, facts: Facts) -> Pairs:
    """Return what a reply says about the presented seal: nothing, stale=n or drift."""
    if facts.seal is None:
        return (("drift", "unknown_seal"),)
    if facts.seal in (NOT_PRESENTED, state.seals):
        return ()
    return (("stale", str(state.seals - facts.seal)),)
