"""osiris_precheck: may this action go ahead, and was it done already.

| finding                                     | allow | verdict             |
| unknown seal                                | no    | block               |
| a budget over, in any unit                  | no    | block               |
| a rule of the project forbids it            | no    | block               |
| the rules of the project cannot be judged   | no    | block               |
| 80 % of a budget used                       | yes   | budget=warn         |
| the loop guard's block or stop still stands | no    | block, stop         |
| a rule of the project warns                 | yes   | warn                |
| its suggestion or warning still stands      | yes   | suggest_alternative, warn |
| another agent of the project has the answer | yes   | suggest_alternative |

Rule 1: it changes nothing and is no history.
Rule 2: what another agent did is offered for read-only tools alone.
Rule 3: while the file of rules is broken, every answer says so.
"""

from osiris.core import budget, plain, refs
from osiris.core.commands import Precheck
from osiris.core.decision import Decision, Facts
from osiris.core.drift import is_unknown
from osiris.core.drift import pairs as drift_pairs
from osiris.core.index import CallEntry
from osiris.core.invariant_ruling import with_finding, with_trouble
from osiris.core.loop_identity import call_key
from osiris.core.loop_kinds import kind_of
from osiris.core.loopguard import foresee
from osiris.core.manifest import manifest
from osiris.core.observing import with_verdict
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState

ASK_MORE = "ask for a larger budget with plan update budget="
ASK_ISSUER = "ask the issuer for more: osiris_handoff op=input"


def precheck(state: TaskState, command: Precheck, facts: Facts) -> Decision:
    decision = _decided(state, command, facts)
    if facts.ruling.trouble is None or not isinstance(decision.reply, Reply):
        return decision
    return Decision((), with_trouble(decision.reply, facts.ruling))


def _decided(state: TaskState, command: Precheck, facts: Facts) -> Decision:
    if is_unknown(facts):
        return _denied("unknown_seal", "carry the manifest of this reply", manifest(state))
    word, unit = budget.standing(state, facts.now_ms)
    if word == "over":
        return _denied("budget_exceeded", ASK_ISSUER if state.parent else ASK_MORE, "", unit)
    if facts.ruling.blocks:
        return Decision((), with_finding(Reply((("allow", "no"),)), facts.ruling))
    args = command.args or {}
    call = facts.call or call_key(command.tool, args)
    verdict = foresee(state.loop, call, facts.now_ms)
    if verdict.level in ("block", "stop"):
        return Decision((), with_verdict(Reply((("allow", "no"),)), verdict))
    warning = (("budget", word), ("unit", unit)) if unit else ()
    allowed = Reply((("allow", "yes"), *warning, *drift_pairs(state, facts)))
    if facts.ruling.warns:
        return Decision((), with_finding(allowed, facts.ruling))
    if verdict.level != "none":
        return Decision((), with_verdict(allowed, verdict))
    if facts.seen is not None and kind_of(command.tool, args) == "read":
        return Decision((), _done_elsewhere(allowed, facts.seen))
    return Decision((), Reply((*allowed.pairs, ("verdict", "none"))))


def _done_elsewhere(allowed: Reply, seen: CallEntry) -> Reply:
    pairs = (*allowed.pairs, ("verdict", "suggest_alternative"))
    known = f"seen: the same call by {plain.one_line(seen.by, 40)}, task={seen.task}"
    use = f"use: recall ref={refs.short(seen.ref)}" if seen.ref else "use: ask for its answer"
    return Reply(pairs, (known, use))


def _denied(code: str, action: str, shown: str, unit: str = "") -> Decision:
    which = (("unit", unit),) if unit else ()
    pairs = (("allow", "no"), ("verdict", "block"), ("code", code), *which)
    return Decision((), Reply((*pairs, ("required_action", action)), manifest=shown))
