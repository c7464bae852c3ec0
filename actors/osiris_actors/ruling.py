"""What the rules of a project say to one call: the states, files and approvals they need.

Rule 1: files are looked at only for a rule that needs a state which holds so far, and approvals
        only for a rule that is broken.
Rule 2: rules that cannot be judged deny; what failed inside them is logged.
Rule 3: a large call is judged away from the event loop.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import index, rule_index
from osiris.core.commands import Command, Observe, Precheck
from osiris.core.invariant_calls import Deed, ToolCall, deed_of
from osiris.core.invariant_rules import Rules
from osiris.core.invariant_ruling import Ruling
from osiris.core.invariant_states import Newest, Standing, StateChange
from osiris.core.invariants import (
    Approval,
    Finding,
    RuleFacts,
    judge,
    observe_states,
    required_states,
)
from osiris.service import Caller
from osiris_actors import newest
from osiris_actors.env import Env
from osiris_actors.rulebook import Held
from osiris_actors.store.contract import Store, StoreDamaged, StoreUnavailable

LARGE_TOKENS: Final = 1_000

T = TypeVar("T")

log = logging.getLogger(__name__)


class Case(Struct, frozen=True):
    """A call before the rules: by whom, in which task, when, and how large it is."""

    held: Held
    caller: Caller
    command: Command
    agent: str
    task: str
    now_ms: int
    tokens: int


class States(Struct, frozen=True):
    """How states stand, and the newest file of each that holds."""

    standing: Mapping[str, Standing] = {}
    newest: Mapping[str, Newest] = {}


async def ruling_of(store: Store, env: Env, case: Case) -> Ruling:
    """Return what the rules say. Raises StoreDamaged and StoreUnavailable, nothing else."""
    assert case.held.rules is not None
    trouble, project = case.held.trouble, case.caller.project
    try:
        findings, changes = await _Judge(store, env, case, case.held.rules).judged()
    except (StoreDamaged, StoreUnavailable):
        raise
    except Exception:  # a rule that fails denies, whatever went wrong in it
        log.exception("the rules of project %s could not be judged", project)
        return Ruling(trouble=trouble, failed=True, project=project)
    return Ruling(findings, changes, trouble, project=project)


async def states_of(
    store: Store, env: Env, rules: Rules, caller: Caller, names: tuple[str, ...]
) -> States:
    """Return how the states `names` stand in the caller's project."""
    standing = {name: found for name in names if (found := await _standing(store, caller, name))}
    held = [rules.states[name] for name, found in standing.items() if found.ok]
    asked = tuple(state for state in held if state.files.texts)
    if not asked:
        return States(standing)
    return States(standing, await env.run_sync(newest.newest_of, caller.root, asked))


class _Judge:
    def __init__(self, store: Store, env: Env, case: Case, rules: Rules) -> None:
        self._store = store
        self._env = env
        self._case = case
        self._rules = rules
        command = case.command
        assert isinstance(command, Precheck | Observe)
        name, args, caller = command.tool or "", command.args or {}, case.caller
        self._call = ToolCall(name, args, case.agent, (caller.root,), caller.cwd)

    async def judged(self) -> tuple[tuple[Finding, ...], tuple[StateChange, ...]]:
        deed = await self._away(partial(deed_of, self._call))
        names = required_states(self._rules, self._call, deed)
        states = await states_of(self._store, self._env, self._rules, self._case.caller, names)
        facts = RuleFacts(self._case.task, self._case.now_ms, states.newest)
        findings = await self._findings(states, facts, deed)
        approvals = await self._approvals(findings)
        if approvals:
            findings = await self._findings(states, replace(facts, approvals=approvals), deed)
        return findings, await self._changes(deed)

    async def _findings(self, states: States, facts: RuleFacts, deed: Deed) -> tuple[Finding, ...]:
        asked = partial(judge, self._rules, self._call, states.standing, facts, deed)
        return await self._away(asked)

    async def _approvals(self, findings: tuple[Finding, ...]) -> tuple[Approval, ...]:
        keys = [rule_index.approval_key(self._case.task, one.rule) for one in findings]
        found = [await self._store.get_index(key) for key in keys]
        return tuple(rule_index.approval_entry(raw) for raw in found if raw is not None)

    async def _changes(self, deed: Deed) -> tuple[StateChange, ...]:
        """Return what an observed call does to states, without what changes nothing."""
        command = self._case.command
        if not isinstance(command, Observe):
            return ()
        found = observe_states(self._rules, self._call, ok=command.ok, deed=deed)
        return tuple([one for one in found if await self._is_news(one, command)])

    async def _is_news(self, change: StateChange, command: Observe) -> bool:
        if change.ok or command.ok is False:
            return True
        before = await _standing(self._store, self._case.caller, change.state)
        return before is not None and before.ok

    async def _away(self, work: Callable[[], T]) -> T:
        return work() if self._case.tokens <= LARGE_TOKENS else await self._env.run_sync(work)


async def _standing(store: Store, caller: Caller, name: str) -> Standing | None:
    seen = await store.get_index(rule_index.standing_key(caller.project, name))
    if seen is None:
        return None
    said = await store.get_index(rule_index.declared_key(caller.project, name))
    declared = None if said is None else index.state_entry(said)
    return rule_index.standing(
        rule_index.standing_entry(seen),
        None
        if declared is None
        else Standing(declared.at_ms, declared.ok, f"declared by {declared.by}"),
    )
