"""The oracle: what must be true of the store whatever happened.

Rule 1: an acknowledged command is there exactly once; any other at most once.
Rule 2: within a stream, a call that ended before another began stands before it.
Rule 3: replay equals live: the snapshot path and the fold from zero give one state.
Rule 4: the accounts balance, equal the fold of the events, and no ceiling is passed.
Rule 5: the index equals the one rebuilt from events.
Rule 6: every acknowledged change was charged in its own unit.
Rule 7: a drop is booked once for each session, agent and ref.
Rule 8: the rules of `handoff_model`.
"""

from itertools import pairwise

from osiris.core import counting, index, ledger, savings
from osiris.core import events as ev
from osiris.core.memory import ScopeState, apply_scope
from osiris.core.task_state import TaskState, add, apply, from_snapshot
from osiris_actors.store.memory import MemoryBackend
from tests.sim import handoff_model
from tests.sim.clients import Call
from tests.sim.world import DAY_TOKENS, Disk

History = dict[str, list[ev.Stamped]]
EVERYTHING = 1 << 30


def check(backend: Disk, calls: list[Call]) -> None:
    """Raise AssertionError naming what is wrong."""
    history = _history(backend)
    places = _places(history)
    _check_once(places, calls)
    _check_order(places, calls)
    _check_replay(backend, history)
    _check_ledger(backend, history)
    _check_index(backend, history)
    _check_charges(history, places, calls)
    _check_drops(history)
    handoff_model.check(backend, history)
    assert backend.verify(deep=True).damage == ()


def handoffs(backend: MemoryBackend) -> dict[str, int]:
    """Return how many contracts came to which state."""
    counts: dict[str, int] = {}
    for events in _history(backend).values():
        for stamped in events:
            match stamped.event:
                case ev.HandoffAccepted():
                    counts["accepted"] = counts.get("accepted", 0) + 1
                case ev.HandoffMoved(status=status):
                    counts[status] = counts.get(status, 0) + 1
                case _:
                    pass
    return counts


def _history(backend: MemoryBackend) -> History:
    return {
        stream: [ev.decode(raw) for _, raw in backend.history(stream, 0, EVERYTHING)]
        for stream in backend.streams("")
    }


def _places(history: History) -> dict[str, list[tuple[str, int]]]:
    """Return where each marker stands: (stream, version)."""
    places: dict[str, list[tuple[str, int]]] = {}
    for stream, events in history.items():
        for version, stamped in enumerate(events, 1):
            marker = _marker(stamped.event, is_child=_is_child(events))
            if marker:
                places.setdefault(marker, []).append((stream, version))
    return places


def _is_child(events: list[ev.Stamped]) -> bool:
    return len(events) > 1 and isinstance(events[1].event, ev.ChildOpened)


def _marker(event: ev.Event, *, is_child: bool) -> str:
    match event:
        case ev.TaskStarted(objective=marker):
            return "" if is_child else marker
        case ev.ActionObserved(seen=seen):
            return seen.tool
        case ev.DecisionPinned(text=marker) | ev.ConstraintAdded(text=marker):
            return marker
        case ev.Noted(text=marker) if marker != "hello":
            return marker
        case ev.SnapshotTaken(id=marker) | ev.HandoffOffered(goal=marker):
            return marker
        case ev.PrefixRecorded(sha256=marker) | ev.FileSeen(path=marker):
            return marker
        case ev.StateDeclared(name=marker):
            return marker
        case _:
            return ""


def _check_once(places: dict[str, list[tuple[str, int]]], calls: list[Call]) -> None:
    for call in calls:
        found = len(places.get(call.marker, []))
        assert found <= 1, f"{call.marker} is there {found} times"
        assert found or not call.is_acknowledged or not call.marker, f"lost {call}"


def _check_order(places: dict[str, list[tuple[str, int]]], calls: list[Call]) -> None:
    acknowledged = [c for c in calls if c.is_acknowledged and c.marker in places]
    streams: dict[str, list[tuple[int, Call]]] = {}
    for call in acknowledged:
        stream, version = places[call.marker][0]
        streams.setdefault(stream, []).append((version, call))
    for found in streams.values():
        latest = 0
        for _, call in sorted(found, key=lambda each: each[0]):
            assert call.ended >= latest, f"{call} stands after a call that began after it ended"
            latest = max(latest, call.began)


def _check_replay(backend: MemoryBackend, history: History) -> None:
    for stream, events in history.items():
        if stream.startswith("task/"):
            state = TaskState()
            for stamped in events:
                state = apply(state, stamped)
            assert _loaded(backend, stream) == state, f"{stream}: replay differs"


def _loaded(backend: MemoryBackend, stream: str) -> TaskState:
    read = backend.read(stream)
    state = (from_snapshot(read.snapshot[1]) if read.snapshot else None) or TaskState()
    for _, raw in read.events:
        state = apply(state, ev.decode(raw))
    return state


def _check_ledger(backend: MemoryBackend, history: History) -> None:
    expected: dict[str, int] = {}
    for stream, events in history.items():
        expected = add(expected, counting.deltas(stream, events))
    counters = {k: v for prefix in counting.PREFIXES for k, v in backend.counters(prefix).items()}
    assert {k: v for k, v in counters.items() if v} == {k: v for k, v in expected.items() if v}
    accounts = {k: v for k, v in counters.items() if k.startswith("ledger/all#")}
    assert ledger.balance(accounts) == 0
    named = {name.removeprefix("ledger/all#"): amount for name, amount in accounts.items()}
    assert savings.totals(counters) == ledger.summary(named)
    day = backend.counters("reserved/day/")
    held = sum(n for name, n in day.items() if name.endswith("/tokens"))
    assert held == handoff_model.reserved_under_day(history)
    assert held <= DAY_TOKENS


def _check_index(backend: MemoryBackend, history: History) -> None:
    by_time: list[index.Put] = []
    for stream, events in history.items():
        state: TaskState | ScopeState = TaskState() if stream[:5] == "task/" else ScopeState()
        for version, stamped in enumerate(events, 1):
            if isinstance(state, TaskState):
                before, state = state, apply(state, stamped)
                by_time.extend(index.puts(stream, version, stamped, state, before))
            else:
                state = apply_scope(state, stamped)
                by_time.extend(index.puts(stream, version, stamped, None))
    rebuilt = {key: value for key, value in dict(by_time).items() if value is not None}
    stored = {put.key: put.value for put in backend.index("", limit=EVERYTHING)}
    assert set(stored) == set(rebuilt)
    moving = (
        "bound/",
        "call/",
        "catalogue/",
        "wrote/",
    )  # the last writer of several streams: order is not in the events
    for key, value in rebuilt.items():
        assert key.startswith(moving) or stored[key] == value, f"index {key} differs"


def _check_charges(
    history: History, places: dict[str, list[tuple[str, int]]], calls: list[Call]
) -> None:
    for call in calls:
        if call.is_acknowledged and call.marker in places:
            stream, version = places[call.marker][0]
            following = history[stream][version:]
            charged = next((e for e in following if isinstance(e.event, ev.Charged)), None)
            assert charged is not None, f"{call.marker} was never charged"
    for events in history.values():
        for before, after in pairwise(events):
            assert not (isinstance(before.event, ev.Charged) and before == after)


def _check_drops(history: History) -> None:
    for stream, events in history.items():
        booked = [
            (at.event.ref, at.by, at.event.session)
            for at in events
            if isinstance(at.event, ev.KeptOut) and at.event.session
        ]
        assert len(booked) == len(set(booked)), f"{stream}: a drop was booked twice"
