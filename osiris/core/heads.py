"""osiris_observe of what a prompt begins with: the system head and the tool contract.

| change                      | verdict        | written again                                 |
| same bytes                  | none           | nothing                                       |
| recorded for the first time | none           | what patterns find, each call                 |
| head                        | critical_drift | from the first changed token to the end       |
| contract                    | minor_drift    | as head: tools render first at most providers |
| contract in another order   | order_only     | as contract; sorted, it is nothing            |

Rule 1: identity is exact bytes, as a cache has it.
Rule 2: the end is that of the last declared prompt; without one it is the end of the text, and the
        cost is "at least". Money needs the price of a declared model.
Rule 3: a contract that lists tools becomes the catalogue of the project's compass.
Rule 4: neither is a result, so neither moves the mode of the task or what may be pruned.
"""

from osiris.core import drift, plain, prefill, refs
from osiris.core import events as ev
from osiris.core.commands import Observe
from osiris.core.decision import Decision, Facts, Payload, refuse
from osiris.core.prefill import PrefillPlan
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState, apply
from osiris.core.volatile import Report, Volatile

SHOWN = 24
Pairs = tuple[tuple[str, str], ...]

VERDICTS = {"head": "critical_drift", "contract": "minor_drift"}


def observe(state: TaskState, command: Observe, facts: Facts) -> Decision:
    payload = facts.payload
    if payload is None:
        fix = f"send the whole {command.kind} as result= or path="
        return refuse("missing_argument", f"observe {command.kind} needs 'result'", fix)
    known = state.head_ref if command.kind == "head" else state.contract_ref
    if known == payload.sha256:
        pairs = (("ok", ""), ("verdict", "none"), ("known", "yes"))
        return Decision((), Reply((*pairs, *drift.pairs(state, facts))))
    report = facts.volatile or Report(())
    verdict = verdict_of(command.kind, report, is_first=not known)
    event = ev.PrefixRecorded(
        command.kind, payload.sha256, payload.tokens, verdict, facts.tools, state.project
    )
    events = (*_stored(command.kind, payload, facts), event)
    after = apply(state, ev.Stamped(facts.now_ms, facts.agent, event))
    return Decision(events, _reply(state, after, verdict, report, facts))


def verdict_of(zone: str, report: Report, *, is_first: bool) -> str:
    """Return the verdict of the table above for a zone whose bytes are new."""
    if is_first:
        return "none"
    is_permuted = bool(report.found) and all(each.kind == "order" for each in report.found)
    return "order_only" if is_permuted and zone == "contract" else VERDICTS[zone]


def plan_of(state: TaskState, payload: Payload, report: Report, facts: Facts) -> PrefillPlan | None:
    """Return what is written again from the first change on; None when nothing is."""
    if report.tokens is None:
        return None
    before = max(0, payload.tokens - report.tokens.n)
    return prefill.rewritten(state, before, report.tokens.n, facts)


def _reply(
    before: TaskState, after: TaskState, verdict: str, report: Report, facts: Facts
) -> Reply:
    payload = facts.payload
    assert payload is not None
    tools = (("tools", str(facts.tools)),) if facts.tools else ()
    pairs: Pairs = (
        ("ok", ""),
        ("verdict", verdict),
        ("ref", refs.short(payload.sha256)),
        *tools,
        *prefill.pairs(plan_of(before, payload, report, facts)),
        *drift.pairs(before, facts),
        ("seal", after.seal),
    )
    return Reply(pairs, _evidence(report))


def _evidence(report: Report) -> tuple[str, ...]:
    """Return the first place that costs, else the first of all, and how many more there are."""
    if not report.found:
        return ()
    costly = [each for each in report.found if each.confidence != "low"]
    more = len(report.found) + report.more - 1
    others = f" (+{more} more)" if more else ""
    return (f"evidence: {_place((costly or report.found)[0])}{others}",)


def _place(found: Volatile) -> str:
    text = plain.quoted(found.text, SHOWN)
    where = f"line {found.line} offset {found.offset}"
    return f"{where} {found.kind} {found.confidence} {text} | fix: {found.fix}"


def _stored(zone: str, payload: Payload, facts: Facts) -> tuple[ev.Event, ...]:
    if facts.ref is not None:
        return ()
    ref = ev.RefStored(
        payload.sha256,
        payload.size,
        payload.tokens,
        payload.method,
        zone,
        zone,
        payload.redacted,
        payload.path,
    )
    return (ref,)
