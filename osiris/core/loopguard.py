"""LoopGuard: when a call repeats without progress, and what to do instead.

Rule 1: the rules that fit a call's outcome are measured; the highest step wins, on a tie the rule
        that was asked first.
Rule 2: a verdict names its evidence and the alternative, and quotes no argument and no result.
Rule 3: progress resets (see `loop_window`): a block lifts on new state. Where nothing was seen to
        change, time lifts it to a warning, since the world may have changed out of sight.
Rule 4: before a call only what it has already earned counts, never what it might earn; that its
        result is already known may be suggested.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from osiris.core import loop_patterns as patterns
from osiris.core import refs
from osiris.core.loop_patterns import WHOLE
from osiris.core.loop_rules import LEVELS, RULES, WORDS, Level, Pattern, Rule
from osiris.core.loop_window import FAST_MS, Seen, Window, gain_of, idle_after, tally_of
from osiris.core.plain import one_line

_TOOL_CHARS: Final = 40


class Verdict(Struct, frozen=True, array_like=True):
    """`pattern` is the seed's word, `rule` the row of RULES, `count` what that row counted."""

    level: Level = "none"
    pattern: Pattern = ""
    rule: str = ""
    count: int = 0
    evidence: str = ""
    alternative: str = ""

    @property
    def word(self) -> str:
        return WORDS[self.level]

    @property
    def required_action(self) -> str:
        """What must happen before the call may run again; empty below block."""
        return self.alternative if self.level in {"block", "stop"} else ""


NONE: Final = Verdict()

Measure = Callable[[Window, Seen], int]


def _idle(window: Window, seen: Seen) -> int:
    if seen.kind == "poll" or window.idle + 1 < RULES["idle"].suggest:
        return 0  # polls are judged by time; below the first step there is nothing to tell apart
    return idle_after(window, seen, gain_of(window, seen))


def _rounds(window: Window, seen: Seen) -> int:
    calls = (*window.seen, seen)
    period, rounds = patterns.cycle(calls)
    polls = any(call.kind == "poll" for call in calls[len(calls) - period :])
    return 0 if polls else rounds


def _duplicates(window: Window, seen: Seen) -> int:
    """Return the repeats; while others bring new content they never reach a warning."""
    dry = patterns.dry_repeats(window, seen)
    return max(dry, min(patterns.repeats(window, seen), RULES["duplicate"].warn - 1))


def _polls(window: Window, seen: Seen) -> int:
    """Return the weight of the polls; a patient one is never told to wait."""
    weight = patterns.poll_weight(window, seen) // WHOLE
    patient = patterns.last_gap_ms(window, seen) >= FAST_MS
    return 0 if patient and weight < RULES["poll"].warn else weight


def _retries(window: Window, seen: Seen) -> int:
    return patterns.retry_weight(window, seen) // WHOLE


def _vetoes(window: Window, seen: Seen) -> int:
    within_ms = RULES["veto"].lifts_ms
    return 1 + patterns.vetoes(window, seen.call, seen.at_ms, within_ms=within_ms)


MEASURES: Final[dict[str, Measure]] = {
    "veto": _vetoes,
    "failure": patterns.failures_of_call,
    "transient": _retries,
    "varying_args": patterns.failures_of_tool,
    "lookup": patterns.failures_of_tool,
    "oscillation": _rounds,
    "same_answer": patterns.repeats,
    "duplicate": _duplicates,
    "step": patterns.dry_repeats,
    "poll": _polls,
    "sweep": patterns.reread_share,
    "idle": _idle,
    "ceiling": tally_of,
}


# What these measure is 1 at most where the window holds no call like this one: below every step.
OF_REPEATS: Final = frozenset(
    {"failure", "oscillation", "same_answer", "duplicate", "step", "poll"}
)


def judge(window: Window, seen: Seen) -> Verdict:
    """Return the verdict on `seen`, a call just made, before it is pushed."""
    worst, count, rule = 0, 0, None
    is_first = seen.call not in [old.call for old in window.seen]
    for name in _rules_for(seen):
        if is_first and name in OF_REPEATS:
            continue
        n = MEASURES[name](window, seen)
        if (level := _level(RULES[name], n)) > worst:
            worst, count, rule = level, n, RULES[name]
    return _verdict(rule, LEVELS[worst], count, window, seen) if rule else NONE


def foresee(window: Window, call: str, at_ms: int) -> Verdict:
    """Return the verdict that still stands on a call about to be made; nothing stands: NONE.

    `call` is its `call_key`. A block holds while nothing changed and `lifts_ms` has not passed.
    """
    denied = _denied(window, call, at_ms)
    at = next((n for n in reversed(range(len(window.seen))) if window.seen[n].call == call), None)
    if at is None:
        return denied
    last, later = window.seen[at], window.seen[at + 1 :]
    if any(older.gain == "change" for older in later):
        return denied
    earned = _worse(judge(_before(window, at), last), _standing_cycle(window, last))
    standing = _worse(denied, _lifted(earned, at_ms - last.at_ms))
    return standing if standing.level != "none" else _known(last)


def _rules_for(seen: Seen) -> tuple[str, ...]:
    match seen.outcome:
        case "denied":
            return ("veto",)
        case "skipped":
            return ()
        case "transient":
            return ("transient", "oscillation", "ceiling")
        case "deterministic":
            return ("failure", "varying_args", "oscillation", "idle", "ceiling")
        case "lookup":
            return ("failure", "lookup", "oscillation", "idle", "ceiling")
        case "informational":
            return ("oscillation", "same_answer", "idle", "ceiling")
        case "ok" | "noop":
            own = {"poll": "poll", "step": "step"}.get(seen.kind, "duplicate")
            own = own if seen.signature else "step"
            swept = ("sweep",) if seen.last else ()
            return ("oscillation", own, *swept, "idle", "ceiling")


def _level(rule: Rule, n: int) -> int:
    steps = (rule.suggest, rule.warn, rule.block, rule.stop)
    reached = [rank for rank, step in enumerate(steps, 1) if step and n >= step]
    return reached[-1] if reached else 0


def _verdict(rule: Rule, level: Level, count: int, window: Window, seen: Seen) -> Verdict:
    verdict = _said(rule, level, count, one_line(seen.tool, _TOOL_CHARS))
    if rule.pattern != "exact_duplicate":
        return verdict
    kept = (old.ref for old in reversed(window.seen) if old.call == seen.call and old.ref)
    return replace(verdict, alternative=rule.alternative + _where(next(kept, "")))


def _said(rule: Rule, level: Level, count: int, tool: str) -> Verdict:
    evidence = rule.evidence.format(tool=tool, n=count)
    return Verdict(level, rule.pattern, rule.name, count, evidence, rule.alternative)


def _denied(window: Window, call: str, at_ms: int) -> Verdict:
    rule = RULES["veto"]
    n = patterns.vetoes(window, call, at_ms, within_ms=rule.lifts_ms)
    level = LEVELS[_level(rule, n)]
    return _said(rule, level, n, "this call") if level != "none" else NONE


def _known(last: Seen) -> Verdict:
    if last.kind != "read" or last.outcome != "ok":
        return NONE
    rule = RULES["duplicate"]
    evidence = "the same read was made, nothing changed since"
    alternative = rule.alternative + _where(last.ref)
    return Verdict("suggest", rule.pattern, rule.name, 1, evidence, alternative)


def _where(ref: str) -> str:
    return f": recall {refs.short(ref)}" if ref else ""


def _before(window: Window, at: int) -> Window:
    """Return the window as it was before its call number `at`, as far as that call's counts go."""
    call = window.seen[at].call
    tallies = tuple(replace(t, n=t.n - 1) if t.call == call else t for t in window.tallies)
    return replace(window, seen=window.seen[:at], idle=max(0, window.idle - 1), tallies=tallies)


def _standing_cycle(window: Window, last: Seen) -> Verdict:
    """Return the verdict on the cycle the window ends in, if the call is one of its unit."""
    period, rounds = patterns.cycle(window.seen)
    unit = window.seen[len(window.seen) - period :]
    if last not in unit or any(call.kind == "poll" for call in unit):
        return NONE
    rule = RULES["oscillation"]
    level = LEVELS[_level(rule, rounds)]
    return _said(rule, level, rounds, last.tool) if level != "none" else NONE


def _lifted(verdict: Verdict, waited_ms: int) -> Verdict:
    if verdict.required_action and waited_ms >= RULES[verdict.rule].lifts_ms:
        return replace(verdict, level="warn")
    return verdict


def _worse(one: Verdict, other: Verdict) -> Verdict:
    return other if LEVELS.index(other.level) > LEVELS.index(one.level) else one
