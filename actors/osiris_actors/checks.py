"""Acceptance checks of contracts, as OSIRIS runs them itself.

| check      | passes when                                                          |
| sha256:HEX | the result is that text                                              |
| schema     | always: a result that does not fit was refused when it was returned  |
| file:PATH  | the file can be read under the roots of the issuer                   |
| state:NAME | the state of the project holds and is not stale                      |
| check:ID   | the command that the project's file names so ends with 0             |

Rule 1: a command is named by a person in `.osiris/invariants.toml`; nothing of it is an agent's.
Rule 2: its output is redacted and kept, whether it passed or not.
Rule 3: COMMANDS run at once; the others wait.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import trio

from osiris.core.decision import Checked, Payload
from osiris.core.errors import Refusal
from osiris.core.handoff import Contract
from osiris.core.invariant_rules import Check, Rules
from osiris.core.invariant_states import failing
from osiris.service import Caller
from osiris_actors import running_command
from osiris_actors.ingest import Ingest, Raw
from osiris_actors.rulebook import RuleBook
from osiris_actors.ruling import states_of
from osiris_actors.store.contract import Committed, Duplicate
from osiris_actors.stream import Tools

COMMANDS: Final = 2
_NAMED: Final = 8
_GONE: Final = "the project's rules name it no more"


class Checks:
    """One for all connections."""

    def __init__(self, tools: Tools, ingest: Ingest, rules: RuleBook) -> None:
        self._tools = tools
        self._ingest = ingest
        self._rules = rules
        self._limit = trio.CapacityLimiter(COMMANDS)

    async def refusal_of(self, caller: Caller, checks: tuple[str, ...]) -> Refusal | None:
        """Return why a contract may not be offered with these checks; None when it may."""
        named = [check.partition(":") for check in checks]
        asked = [(kind, name) for kind, _, name in named if kind in ("state", "check")]
        if not asked:
            return None
        rules = (await self._rules.of(caller.root)).rules
        if rules is None:
            fix = "let a person name it in .osiris/invariants.toml"
            return Refusal("unknown_check", "this project has no file of rules", fix)
        known: dict[str, Mapping[str, object]] = {"state": rules.states, "check": _commands(rules)}
        for kind, name in asked:
            if name not in known[kind]:
                names = ", ".join(list(known[kind])[:_NAMED])
                fix = f"use {names}" if names else f"let a person add a [[{kind}]] to the file"
                return Refusal("unknown_check", f"the rules name no {kind} {name!r}", fix)
        return None

    async def run(self, caller: Caller, contract: Contract, result: str) -> tuple[Checked, ...]:
        """Return what came of each check of a contract; nobody's word counts."""
        return tuple([await self._run(caller, check, result) for check in contract.checks])

    async def _run(self, caller: Caller, check: str, result: str) -> Checked:
        kind, _, rest = check.partition(":")
        match kind:
            case "sha256":
                return Checked(check, result == rest, f"the result is {result[:12]}", result)
            case "file":
                read = await self._ingest.read(caller, rest)
                why = read.what if isinstance(read, Refusal) else ""
                return Checked(check, not isinstance(read, Refusal), why, result)
            case "state":
                why = await self._why_not(caller, rest)
                return Checked(check, not why, why, result)
            case "check":
                return await self._command(caller, check, rest, result)
            case _:
                return Checked(check, ok=True, result=result)

    async def _why_not(self, caller: Caller, name: str) -> str:
        """Return why a state does not hold; empty when it does."""
        rules = (await self._rules.of(caller.root)).rules
        if rules is None or name not in rules.states:
            return _GONE
        states = await states_of(self._tools.store, self._tools.env, rules, caller, (name,))
        return failing(rules.states[name], states.standing.get(name), states.newest.get(name))

    async def _command(self, caller: Caller, check: str, name: str, result: str) -> Checked:
        rules = (await self._rules.of(caller.root)).rules
        command = _commands(rules).get(name) if rules is not None else None
        if command is None:
            return Checked(check, ok=False, why=_GONE, result=result)
        folder = str(Path(caller.root, command.cwd))
        async with self._limit:
            ran = await running_command.run(command.command, folder, command.timeout_s)
        output = await self._kept(check, ran.output) if ran.output else None
        if isinstance(output, Refusal):
            return Checked(check, ok=False, why=output.what, result=result)
        return Checked(check, ran.ok, ran.why, result, output)

    async def _kept(self, check: str, output: bytes) -> Payload | Refusal:
        """Store what a command printed; an orphan is harmless."""
        raw = Raw(output.decode("utf-8", "replace"), check, "check")
        payload, blob = await self._ingest.payload(raw)
        outcome = await self._tools.store.put_blob(blob)
        if isinstance(outcome, Committed | Duplicate):
            return payload
        return Refusal("storage_error", "its output could not be stored", "call verify again")


def _commands(rules: Rules) -> dict[str, Check]:
    return {check.id: check for check in rules.checks}
