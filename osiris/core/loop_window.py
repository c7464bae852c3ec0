"""What LoopGuard remembers of a task: the last calls and a few counters, all bounded.

Rule 1: a window is a value. `push` returns the next one; it is total and looks nothing up, so a
        replayed task has the same window.
Rule 2: a call that did not happen (denied, skipped) is no history; a denied one is counted apart.
Rule 3: progress is new content, a new fault, or a change: a write that took effect or the first
        success of a command that may have written. A repeated write is no progress, nor is one
        that brings back a state seen before.
Rule 4: counters survive harmless calls in between; a change resets them.
Rule 5: a parallel batch moves a counter once.
Rule 6: a result that nobody reported has no signature: a new call then counts as new content, and
        the same call again as nothing new.
"""

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from osiris.core.loop_kinds import Kind
from osiris.core.loop_outcomes import FAILURES, Outcome

RECENT_CALLS: Final = 64
RECENT_VETOES: Final = 16
TALLIES: Final = 16
SWEEPS: Final = 8
RANGES: Final = 8

FAST_MS: Final = 10_000

Gain = Literal["", "content", "change"]
Evidence = Literal["user_message", "plan_step", "state_set", "compaction"]
Range = tuple[int, int]


class Seen(Struct, frozen=True, array_like=True):
    """One call. Hashes are hex; times are milliseconds; `gain` is filled in by `push`.

    `state` is a hash of what a write left behind, `subject` names the file that lines `first` to
    `last` were read of, `progress` is in thousandths, `wait_ms` is what a service asked for.
    """

    call: str
    signature: str
    tool: str
    kind: Kind
    outcome: Outcome
    at_ms: int
    fault: str = ""
    batch: str = ""
    state: str = ""
    subject: str = ""
    first: int = 0
    last: int = 0
    progress: int = -1
    wait_ms: int = 0
    gain: Gain = ""
    ref: str = ""
    version: int = 0


class Veto(Struct, frozen=True, array_like=True):
    """A call that was denied and did not happen."""

    call: str
    at_ms: int


class Tally(Struct, frozen=True, array_like=True):
    """How often a call came back within FAST_MS without visible progress."""

    call: str
    n: int
    at_ms: int
    progress: int


class Sweep(Struct, frozen=True, array_like=True):
    """The lines read of one file: once, and again; `reread` counts each line at each time."""

    subject: str
    covered: tuple[Range, ...] = ()
    pages: int = 0
    again: tuple[Range, ...] = ()
    rereads: int = 0
    reread: int = 0


class Window(Struct, frozen=True, array_like=True):
    """Newest last. `idle` counts the calls since the last progress."""

    seen: tuple[Seen, ...] = ()
    idle: int = 0
    vetoes: tuple[Veto, ...] = ()
    tallies: tuple[Tally, ...] = ()
    sweeps: tuple[Sweep, ...] = ()


def push(window: Window, seen: Seen) -> Window:
    """Return the window after `seen`."""
    if seen.outcome == "skipped":
        return window
    if seen.outcome == "denied":
        return vetoed(window, seen.call, seen.at_ms)
    gain = gain_of(window, seen)
    changed = gain == "change"
    return Window(
        seen=(*window.seen[1 - RECENT_CALLS :], replace(seen, gain=gain)),
        idle=idle_after(window, seen, gain),
        vetoes=() if changed else window.vetoes,
        tallies=_tallied(() if changed else window.tallies, seen),
        sweeps=_swept(window.sweeps, seen, changed=changed),
    )


def vetoed(window: Window, call: str, at_ms: int) -> Window:
    """Return the window after `call`, a call key, was denied by the host or by a precheck."""
    return replace(window, vetoes=(*window.vetoes[1 - RECENT_VETOES :], Veto(call, at_ms)))


def renewed(window: Window, evidence: Evidence) -> Window:
    """Return the window after progress that is no call. A user's word alone lifts the ceiling."""
    if evidence == "user_message":
        return Window()
    return Window(vetoes=window.vetoes, tallies=window.tallies)


def gain_of(window: Window, seen: Seen) -> Gain:
    """Return what `seen` adds to what the window knows."""
    if seen.outcome == "ok" and _is_change(window, seen):
        return "change"
    if seen.outcome in FAILURES:
        return "" if seen.fault in [old.fault for old in window.seen] else "content"
    return "content" if _is_news(window, seen) else ""


def idle_after(window: Window, seen: Seen, gain: Gain) -> int:
    """Return the calls without progress, `seen` included. Polls are judged by time, not here."""
    if gain:
        return 0
    same_batch = seen.batch and window.seen and window.seen[-1].batch == seen.batch
    return window.idle if same_batch or seen.kind == "poll" else window.idle + 1


def tally_of(window: Window, seen: Seen) -> int:
    """Return how often `seen`'s call has come back fast, this time included."""
    return next((_next(old, seen).n for old in window.tallies if old.call == seen.call), 1)


def sweep_of(window: Window, seen: Seen) -> Sweep:
    """Return the coverage of `seen`'s file, `seen` included."""
    old = next((sweep for sweep in window.sweeps if sweep.subject == seen.subject), None)
    return _covered(old or Sweep(seen.subject), (seen.first, seen.last))


def lines(ranges: tuple[Range, ...]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _is_change(window: Window, seen: Seen) -> bool:
    if seen.kind not in {"write", "run"}:
        return False
    if seen.state:
        return seen.state not in [old.state for old in window.seen]
    same = [old.signature for old in window.seen if old.call == seen.call]
    return seen.signature not in same if seen.kind == "write" else not same


def _is_news(window: Window, seen: Seen) -> bool:
    if not seen.signature:
        return seen.call not in [old.call for old in window.seen]
    return seen.signature not in [old.signature for old in window.seen]


def _tallied(tallies: tuple[Tally, ...], seen: Seen) -> tuple[Tally, ...]:
    old = next((tally for tally in tallies if tally.call == seen.call), None)
    new = _next(old, seen) if old else Tally(seen.call, 1, seen.at_ms, seen.progress)
    others = tuple(tally for tally in tallies if tally is not old)
    return (*others[1 - TALLIES :], new)


def _next(old: Tally, seen: Seen) -> Tally:
    fast = seen.at_ms - old.at_ms < FAST_MS
    counted = fast and seen.progress <= old.progress
    return Tally(seen.call, old.n + counted, seen.at_ms, seen.progress)


def _swept(sweeps: tuple[Sweep, ...], seen: Seen, *, changed: bool) -> tuple[Sweep, ...]:
    if changed:
        return tuple(s for s in sweeps if seen.subject and s.subject != seen.subject)
    if not seen.last or seen.outcome != "ok":
        return sweeps
    old = next((sweep for sweep in sweeps if sweep.subject == seen.subject), None)
    new = _covered(old or Sweep(seen.subject), (seen.first, seen.last))
    others = tuple(sweep for sweep in sweeps if sweep is not old)
    return (*others[1 - SWEEPS :], new)


def _covered(sweep: Sweep, read: Range) -> Sweep:
    """Return the sweep after one read: it grows the first pass, or else is part of a second."""
    size = read[1] - read[0] + 1
    known = tuple(_overlaps(sweep.covered, read))
    covered = _merged((*sweep.covered, read))
    if 2 * lines(known) < size:
        return Sweep(sweep.subject, covered, sweep.pages + 1)
    return replace(
        sweep,
        covered=covered,
        again=_merged((*sweep.again, *known)),
        rereads=sweep.rereads + 1,
        reread=sweep.reread + lines(known),
    )


def _overlaps(ranges: tuple[Range, ...], read: Range) -> list[Range]:
    cut = [(max(first, read[0]), min(last, read[1])) for first, last in ranges]
    return [(first, last) for first, last in cut if first <= last]


def _merged(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """Return disjoint ranges in order; of too many the shortest are forgotten."""
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    if len(merged) <= RANGES:
        return tuple(merged)
    longest = sorted(merged, key=lambda r: r[0] - r[1])[:RANGES]
    return tuple(sorted(longest))
