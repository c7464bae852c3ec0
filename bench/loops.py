"""Score LoopGuard on labelled sequences and count its cries over real sessions.

    python -m bench.loops CASES.json [--transcripts FOLDER] [--json]

A legit case is wrongly flagged when a verdict is above its `max`; a loop is wrongly flagged when
the first verdict of at least `min` comes before `earliest`. It is late after `latest`, or when a
stronger verdict comes after its index in `escalate`, and missed when it never comes.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from osiris.core.loop_call import Call, see
from osiris.core.loop_rules import LEVELS, Level
from osiris.core.loop_window import Evidence, Window, push, renewed
from osiris.core.loopguard import Verdict, judge

# A word in the name of a context event -> what it is evidence of; others are none.
CONTEXT: Final[dict[str, Evidence]] = {
    "compact": "compaction",
    "user": "user_message",
    "plan": "plan_step",
    "state": "state_set",
    "changed": "state_set",
}
TURN_MS: Final = 10_000  # sessions without times: one assistant turn every ten seconds


class Event(Struct, frozen=True):
    """A call with its result, or a context event in double underscores; `t` in seconds."""

    t: float
    tool: str
    args: dict[str, Any] = {}
    ok: bool | None = None
    result: str | None = None
    state: str | None = None
    batch: str | int | None = None
    denied: bool = False
    exit_code: int | None = None


class Expect(Struct, frozen=True):
    min: str = "none"
    max: str = "stop"
    earliest: int = 1
    latest: int = 0
    escalate: dict[str, int] = {}


class Case(Struct, frozen=True):
    id: str
    label: str
    events: tuple[Event, ...]
    expect: Expect
    title: str = ""


class Cases(Struct, frozen=True):
    cases: tuple[Case, ...]


class Asked(Struct, frozen=True):
    """A call of a session. Arguments that were no object are kept as they were."""

    id: str
    name: str
    args: dict[str, Any] | str | list[Any] | int | float | bool | None = None


class Message(Struct, frozen=True):
    role: str
    text: str | None = None
    t: float | None = None
    calls: tuple[Asked, ...] = ()
    call_id: str = ""
    name: str = ""
    error: bool = False
    side: bool = False


class Cry(Struct, frozen=True):
    """A verdict of warn or more in a real session."""

    session: str
    message: int
    tool: str
    level: Level
    rule: str
    evidence: str


class Replay(Struct):
    """Calls replayed and what was said of them."""

    calls: int = 0
    suggestions: int = 0
    cries: list[Cry] = field(default_factory=list[Cry])


def verdicts_of(case: Case) -> list[Verdict]:
    """Return one verdict an event, in order; context events get none."""
    window, verdicts = Window(), [Verdict() for _ in case.events]
    for at, event in enumerate(case.events):
        if event.tool.startswith("__"):
            window = _renewed(window, event.tool)
            continue
        seen = see(_call(event))
        verdicts[at] = judge(window, seen)
        window = push(window, seen)
    return verdicts


def faults_of(case: Case) -> list[str]:
    """Return what is wrong with the verdicts of a case: wrongly_flagged, missed, late."""
    ranks = [LEVELS.index(verdict.level) for verdict in verdicts_of(case)]
    if case.label == "legit":
        return ["wrongly_flagged"] if max(ranks) > _rank(case.expect.max) else []
    first = _first(ranks, _rank(case.expect.min))
    if first is None:
        return ["missed"]
    faults = ["wrongly_flagged"] if first < case.expect.earliest else []
    due = {case.expect.min: case.expect.latest, **case.expect.escalate}
    return faults + ["late" for level, by in due.items() if _is_late(ranks, _rank(level), by)]


def replay(path: Path, found: Replay, *, user_messages: bool) -> None:
    """Add the calls of one session; a side chain has a window of its own."""
    windows = {False: Window(), True: Window()}
    calls: dict[str, tuple[Asked, str]] = {}
    for at, message in enumerate(_messages(path)):
        window = windows[message.side]
        for call in message.calls:
            calls[call.id] = call, str(at) if len(message.calls) > 1 else ""
        if message.role == "tool":
            windows[message.side] = _replay_call(window, message, calls, (path, at), found)
        elif message.role == "system" and "compact" in (message.text or "")[:40]:
            windows[message.side] = renewed(window, "compaction")
        elif message.role == "user" and user_messages:
            windows[message.side] = renewed(window, "user_message")


def score(cases: Iterable[Case]) -> dict[str, int]:
    counts = {"wrongly_flagged": 0, "missed": 0, "late": 0}
    for case in cases:
        for fault in set(faults_of(case)):
            counts[fault] += 1
    return counts


def main() -> int:
    options = _options()
    cases = msgspec.json.decode(options.cases.read_bytes(), type=Cases).cases
    report: dict[str, Any] = {**score(cases), "cases": len(cases)}
    if options.transcripts.is_dir():
        report["transcripts"] = _replay_all(options.transcripts)
    if options.json:
        print(json.dumps(report))
    else:
        _print(cases, report)
    return 1 if report["wrongly_flagged"] + report["missed"] + report["late"] else 0


def _replay_all(folder: Path) -> dict[str, Any]:
    told, untold = Replay(), Replay()
    for path in sorted(folder.glob("*.jsonl.gz")):
        replay(path, told, user_messages=True)
        replay(path, untold, user_messages=False)
    return {
        "calls": told.calls,
        "warn_or_more": len(told.cries),
        "per_1000": _per_1000(len(told.cries), told.calls),
        "suggest_per_1000": _per_1000(told.suggestions, told.calls),
        "per_1000_without_user_messages": _per_1000(len(untold.cries), untold.calls),
        "verdicts": [msgspec.to_builtins(cry) for cry in told.cries],
        "verdicts_without_user_messages": [
            msgspec.to_builtins(cry) for cry in untold.cries if cry not in told.cries
        ],
    }


def _replay_call(
    window: Window,
    message: Message,
    calls: dict[str, tuple[Asked, str]],
    place: tuple[Path, int],
    found: Replay,
) -> Window:
    path, at = place
    call, batch = calls.get(message.call_id, (Asked("", message.name), ""))
    args = call.args if isinstance(call.args, dict) else {"args": call.args}
    at_ms = round(message.t * 1000) if message.t is not None else at * TURN_MS // 2
    seen = see(Call(call.name, args, message.text or "", not message.error, at_ms, batch=batch))
    verdict = judge(window, seen)
    found.calls += 1
    found.suggestions += verdict.level == "suggest"
    if LEVELS.index(verdict.level) >= LEVELS.index("warn"):
        session = path.name.split(".")[0]
        found.cries.append(
            Cry(session, at, seen.tool, verdict.level, verdict.rule, verdict.evidence)
        )
    return push(window, seen)


def _messages(path: Path) -> Iterator[Message]:
    decoder = msgspec.json.Decoder(Message)
    with gzip.open(path) as lines:
        for line in lines:
            yield decoder.decode(line)


def _call(event: Event) -> Call:
    return Call(
        event.tool,
        event.args,
        event.result,
        event.ok,
        round(event.t * 1000),
        exit_code=event.exit_code,
        denied=event.denied,
        batch="" if event.batch is None else str(event.batch),
        state=event.state or "",
    )


def _renewed(window: Window, tool: str) -> Window:
    for word, evidence in CONTEXT.items():
        if word in tool:
            return renewed(window, evidence)
    return window


def _rank(word: str) -> int:
    return [level[:4] for level in LEVELS].index(word[:4])


def _first(ranks: list[int], rank: int) -> int | None:
    return next((at for at, found in enumerate(ranks, 1) if found >= rank), None)


def _is_late(ranks: list[int], rank: int, by: int) -> bool:
    first = _first(ranks, rank)
    return first is None or first > by


def _per_1000(n: int, calls: int) -> float:
    return round(1000 * n / max(1, calls), 2)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--transcripts", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.transcripts = options.transcripts or options.cases.parent.parent / "transcripts"
    return options


def _print(cases: Iterable[Case], report: dict[str, Any]) -> None:
    for case in cases:
        levels = [verdict.level for verdict in verdicts_of(case)]
        steps = {level: levels.index(level) + 1 for level in LEVELS[1:] if level in levels}
        print(f"{case.id} {case.label:5} {steps} {faults_of(case) or 'right'}: {case.title}")
    for cry in report.get("transcripts", {}).pop("verdicts", []):
        print(cry)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    sys.exit(main())
