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

from msgspec import Struct

from osiris.core import context, drift, plain, refs
from osiris.core import events as ev
from osiris.core.commands import Observe
from osiris.core.decision import Decision, Facts, Payload, refuse
from osiris.core.replies import Reply
from osiris.core.task_state import TaskState, apply
from osiris.core.volatile import Report, Volatile

SHOWN = 24
Pairs = tuple[tuple[str, str], ...]

VERDICTS = {"head": "critical_drift", "contract": "minor_drift"}


class Prefill(Struct, frozen=True):
    """What a request writes again: tokens, a lower bound unless `is_whole`, and money if known."""

    tokens: int
    is_whole: bool
    microusd: int | None = None


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


def prefill(state: TaskState, payload: Payload, report: Report, facts: Facts) -> Prefill | None:
    """Return what is written again from the first change on; None when nothing is."""
    if report.tokens is None:
        return None
    before = max(0, payload.tokens - report.tokens.n)
    prompt = state.usage.usage.prompt
    is_whole = prompt > payload.tokens
    tokens = prompt - before if is_whole else report.tokens.n
    rates = context.rates_of(state, facts)
    if rates is None:
        return Prefill(tokens, is_whole)
    return Prefill(tokens, is_whole, round(tokens * (rates.write - rates.read) * rates.input_usd))


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
        *_cost(prefill(before, payload, report, facts)),
        *drift.pairs(before, facts),
        ("seal", after.seal),
    )
    return Reply(pairs, _evidence(report))


def _cost(found: Prefill | None) -> Pairs:
    if found is None:
        return ()
    more = "" if found.is_whole else "+"
    rewritten = (("rewrites", f"{found.tokens}{more}"),)
    if found.microusd is None:
        return rewritten
    return (*rewritten, ("usd", f"{found.microusd / 1e6:.4f}"))


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
