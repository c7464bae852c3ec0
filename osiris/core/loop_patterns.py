"""How far a call has gone into each pattern: counts, no judgement.

Rule 1: every count includes the call itself; a call with no like in the window counts 1.
Rule 2: a change ends every count, and so do another result of the same call and half an hour.
Rule 3: harmless calls in between do not end a count. Where they brought new content the calls
        since then are counted apart: who repeats a call while learning is not stuck.
Rule 4: a parallel batch counts once: its calls do not count against each other.
Rule 5: polls and retries are weighed by time, in thousandths of a call.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from osiris.core.loop_window import FAST_MS, Seen, Window, lines, sweep_of

PERIODS: Final = range(2, 6)
PAGES: Final = 3

WHOLE: Final = 1000
_STALE_MS: Final = 30 * 60_000
_PATIENT_MS: Final = 30_000
_FIRST_RETRY_MS: Final = 1_000
_PATIENT_WEIGHT: Final = 200
_IMPATIENT_WEIGHT: Final = 3000


def repeats(window: Window, seen: Seen) -> int:
    """Return how often the same call said the same, nothing changed in between."""
    return 1 + sum(1 for _ in _same(window, seen, dry=False))


def dry_repeats(window: Window, seen: Seen) -> int:
    """Return the repeats since another call last brought new content."""
    return 1 + sum(1 for _ in _same(window, seen, dry=True))


def poll_weight(window: Window, seen: Seen) -> int:
    """Return the dry unchanged polls: one after 10 s or less counts whole, after 30 s a third."""
    weight, newer = WHOLE, seen
    for older in _same(window, seen, dry=True):
        gap_ms = max(1, newer.at_ms - older.at_ms)
        weight += min(WHOLE, WHOLE * FAST_MS // gap_ms)
        newer = older
    return weight


def last_gap_ms(window: Window, seen: Seen) -> int:
    """Return the time since the same call said the same, 0 if it did not."""
    return next((seen.at_ms - older.at_ms for older in _same(window, seen, dry=True)), 0)


def failures_of_call(window: Window, seen: Seen) -> int:
    """Return how often this call met this fault, harmless calls in between or not."""
    return 1 + sum(1 for _ in _failures(window, seen, any_args=False))


def failures_of_tool(window: Window, seen: Seen) -> int:
    """Return how often this tool met this fault under more than one set of arguments, else 1."""
    met = list(_failures(window, seen, any_args=True))
    return 1 + len(met) if any(older.call != seen.call for older in met) else 1


def retry_weight(window: Window, seen: Seen) -> int:
    """Return the retries of a transient fault, weighed by their patience.

    One that waited as asked, half as long again as the one before, or half a minute counts a
    fifth; one that ignored the wait it was asked for counts three times.
    """
    met = [seen, *_failures(window, seen, any_args=True)]
    gaps = [newer.at_ms - older.at_ms for newer, older in pairwise(met)]
    asked = [older.wait_ms for older in met[1:]]
    before = [*gaps[1:], 0]
    return WHOLE + sum(map(_retry, gaps, before, asked))


def cycle(seen: tuple[Seen, ...]) -> tuple[int, int]:
    """Return (period, rounds) of the shortest cycle of 2 to 5 calls that ends here, else (0, 0).

    Two equal calls at the end are no cycle but a repeat.
    """
    if _matched(seen[-2:], 1):
        return 0, 0
    for period in PERIODS:
        matched = _matched(seen, period)
        rounds = (matched + period) // period
        if rounds > 1 and len({(c.call, c.signature, c.state) for c in seen[-period:]}) > 1:
            return period, rounds
    return 0, 0


def reread_share(window: Window, seen: Seen) -> int:
    """Return the lines of a paged file read again, in hundredths of the file.

    Below half of the file it is 0: who comes back to one page is not on a further pass.
    """
    sweep = sweep_of(window, seen)
    covered = lines(sweep.covered)
    if sweep.pages < PAGES or sweep.rereads < PAGES or 2 * lines(sweep.again) < covered:
        return 0
    return 100 * sweep.reread // max(1, covered)


def vetoes(window: Window, call: str, at_ms: int, *, within_ms: int) -> int:
    """Return how often `call` was denied lately; three other vetoes count as one of its own."""
    recent = [veto.call for veto in window.vetoes if at_ms - veto.at_ms < within_ms]
    return max(recent.count(call), len(recent) // 3)


def _same(window: Window, seen: Seen, *, dry: bool) -> Iterator[Seen]:
    """Yield the earlier calls of this streak, newest first."""
    batch, at_ms = seen.batch, seen.at_ms
    for older in reversed(window.seen):
        if older.call == seen.call:
            if _is_other_result(older, seen) or at_ms - older.at_ms > _STALE_MS:
                return
            if not batch or older.batch != batch:
                yield older
            batch, at_ms = older.batch, older.at_ms
        elif dry and older.gain == "content":
            return
        if older.gain == "change":
            return


def _failures(window: Window, seen: Seen, *, any_args: bool) -> Iterator[Seen]:
    """Yield the earlier failures of this call, or of this tool, by this fault, newest first."""
    batch, at_ms = seen.batch, seen.at_ms
    for older in reversed(window.seen):
        if older.gain == "change" or at_ms - older.at_ms > _STALE_MS:
            return
        related = older.tool == seen.tool if any_args else older.call == seen.call
        if not related or (batch and older.batch == batch):
            continue
        if _is_same_fault(older, seen):
            yield older
            batch, at_ms = older.batch, older.at_ms
        elif older.call == seen.call or older.kind == seen.kind:
            return  # it worked, or failed in a new way; a shell's `ls` says nothing of its `make`


def _is_other_result(older: Seen, seen: Seen) -> bool:
    return older.signature != seen.signature or older.state != seen.state


def _is_same_fault(older: Seen, seen: Seen) -> bool:
    if older.outcome == seen.outcome == "transient":
        return True
    return older.fault == seen.fault


def _retry(gap_ms: int, before_ms: int, asked_ms: int) -> int:
    if asked_ms:
        return _PATIENT_WEIGHT if gap_ms >= asked_ms else _IMPATIENT_WEIGHT
    growing = gap_ms >= max(_FIRST_RETRY_MS, before_ms * 3 // 2)
    return _PATIENT_WEIGHT if growing or gap_ms >= _PATIENT_MS else WHOLE


def _matched(seen: tuple[Seen, ...], period: int) -> int:
    """Return how many calls, from the newest back, equal the one `period` before them."""
    at = len(seen) - 1
    while at >= period and _alike(seen[at], seen[at - period]):
        at -= 1
    return len(seen) - 1 - at


def _alike(newer: Seen, older: Seen) -> bool:
    return (
        newer.call == older.call
        and newer.signature == older.signature
        and newer.state == older.state
        and not (newer.batch and newer.batch == older.batch)
    )
