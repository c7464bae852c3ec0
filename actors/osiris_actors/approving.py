"""What the desk is told by a person who allows what a rule forbids.

Rule 1: a rule is lifted in one open task of the project whose file has it, and only such a rule
        as may be.
Rule 2: the approval is an event of the task, and over by this owner's clock.
"""

from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from osiris.config import project_id
from osiris.core import rule_index
from osiris.core.errors import Refusal
from osiris.core.invariant_rules import Rules
from osiris.core.task_state import TaskState
from osiris_actors.gateway import Gateway
from osiris_actors.store.contract import Store
from osiris_actors.task_messages import Approve

Found = tuple[dict[str, Any], bytes]
Operation = Callable[[Mapping[str, Any], bytes], Awaitable[Found | Refusal]]

LONGEST_S: Final = 86_400
_LISTED: Final = 200


class Approving:
    """Approvals for the tasks of a running system."""

    def __init__(self, gateway: Gateway) -> None:
        self.operations: dict[str, Operation] = {"approve": self._approve}
        self._gateway = gateway
        self._system = gateway.system

    async def _approve(self, args: Mapping[str, Any], _: bytes) -> Found | Refusal:
        name = await self._gateway.router.named(str(args.get("task", "")))
        if isinstance(name, Refusal):
            return name
        rule, root = str(args.get("rule", "")), str(args.get("root", ""))
        state = await self._system.look(name)
        held = await self._gateway.rules.of(root)
        wrong = state if isinstance(state, Refusal) else _refused(state, rule, root, held.rules)
        if wrong is not None:
            return wrong
        for_s = max(1, min(int(args.get("for_s", 0)), LONGEST_S))
        until_ms = self._system.tools.env.now_ms() + for_s * 1_000
        approve = Approve(rule, until_ms, str(args.get("who", ""))[:64])
        if await self._system.tasks.ask(f"task/{name}", approve) is not True:
            return Refusal("storage_error", "the approval was not stored", "see `osiris health`")
        return {"task": name, "rule": rule, "until_ms": until_ms, "for_s": for_s}, b""


async def approvals_of(store: Store, task: str, now_ms: int) -> list[dict[str, Any]]:
    """Return what is allowed in a task now."""
    found = await store.index(rule_index.approval_key(task, ""), limit=_LISTED)
    all_of = (rule_index.approval_entry(put.value) for put in found if put.value)
    return [{"rule": a.rule, "until_ms": a.until_ms} for a in all_of if now_ms < a.until_ms]


def _refused(state: TaskState, rule: str, root: str, rules: Rules | None) -> Refusal | None:
    if state.project != project_id(root):
        what = f"task {state.task} belongs to another project"
        return Refusal("bad_argument", what, "run it in the folder of that project")
    if state.status != "open":
        what = f"task {state.task} is {state.status}"
        return Refusal("task_closed", what, "nothing in it is denied any more")
    known = {} if rules is None else {one.id: one for one in rules.invariants}
    if rule not in known:
        near = get_close_matches(rule, known, 1)
        fix = f"write {near[0]}" if near else "see `osiris invariants check`"
        return Refusal("unknown_rule", f"no rule {rule[:64]!r} in {root or 'no project'}", fix)
    if not known[rule].approvable:
        return Refusal("unknown_rule", f"{rule} is never lifted", "do it yourself")
    return None
