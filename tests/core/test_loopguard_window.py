"""What LoopGuard remembers: a bounded value that replay rebuilds."""

from collections.abc import Iterable
from functools import reduce

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.loop_call import Call, see
from osiris.core.loop_window import (
    RANGES,
    RECENT_CALLS,
    RECENT_VETOES,
    SWEEPS,
    TALLIES,
    Seen,
    Sweep,
    Tally,
    Veto,
    Window,
    push,
    renewed,
)
from osiris.core.loopguard import judge

HEX = st.sampled_from(["a" * 16, "b" * 16, "c" * 16, "d" * 16])
SEEN = st.builds(
    Seen,
    call=HEX,
    signature=st.one_of(HEX, st.just("")),
    tool=st.sampled_from(["bash", "read_file"]),
    kind=st.sampled_from(["read", "write", "run", "poll", "step"]),
    outcome=st.sampled_from(
        ["ok", "noop", "informational", "transient", "lookup", "deterministic", "denied", "skipped"]
    ),
    at_ms=st.integers(-(2**40), 2**40),
    fault=st.sampled_from(["", "11111111", "22222222"]),
    batch=st.sampled_from(["", "1", "2"]),
    state=st.sampled_from(["", "s1", "s2"]),
    subject=st.sampled_from(["", "f1", "f2"]),
    first=st.integers(1, 500),
    last=st.one_of(st.just(0), st.integers(500, 10**9)),
    progress=st.integers(-1, 1000),
    wait_ms=st.integers(0, 10**6),
)
MANY = st.lists(SEEN, max_size=90)


def pushed(calls: Iterable[Seen]) -> Window:
    return reduce(push, calls, Window())


def ok(n: int, *, kind: str = "read", batch: str = "") -> Seen:
    tool = {"read": "read_file", "write": "write_file"}[kind]
    return see(Call(tool, {"path": str(n)}, f"text {n}", ok=True, at_ms=n * 1000, batch=batch))


@given(MANY)
def test_a_window_is_bounded_whatever_is_pushed(calls: list[Seen]) -> None:
    window = pushed(calls)

    assert len(window.seen) <= RECENT_CALLS
    assert len(window.vetoes) <= RECENT_VETOES
    assert len(window.tallies) <= TALLIES
    assert len(window.sweeps) <= SWEEPS
    assert all(len(s.covered) <= RANGES and len(s.again) <= RANGES for s in window.sweeps)
    assert len(msgspec.msgpack.encode(window)) < 16_384


@given(MANY, SEEN)
def test_judging_and_pushing_change_nothing_they_are_given(calls: list[Seen], seen: Seen) -> None:
    window = pushed(calls)
    before = msgspec.msgpack.encode((window, seen))
    first = (judge(window, seen), push(window, seen))

    assert (judge(window, seen), push(window, seen)) == first
    assert msgspec.msgpack.encode((window, seen)) == before


@given(MANY, SEEN)
def test_a_stored_window_judges_as_the_live_one(calls: list[Seen], seen: Seen) -> None:
    window = pushed(calls)
    restored = msgspec.msgpack.decode(msgspec.msgpack.encode(window), type=Window)

    assert restored == window
    assert judge(restored, seen) == judge(window, seen)


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 60)), max_size=60))
def test_coverage_counts_each_line_once(reads: list[tuple[int, int]]) -> None:
    calls = [
        see(Call("read", {"path": "f", "offset": at, "limit": size + 1}, "", ok=True, at_ms=0))
        for at, size in reads
    ]
    lines = {line for at, size in reads for line in range(at, at + size + 1)}
    covered = [r for sweep in pushed(calls).sweeps for r in sweep.covered]
    counted = [line for first, last in covered for line in range(first, last + 1)]

    assert len(counted) == len(set(counted))
    assert set(counted) <= lines
    assert set(counted) == lines or len(covered) == RANGES


def test_the_newest_call_is_last_and_carries_what_it_gained() -> None:
    window = pushed([ok(1), ok(1), ok(2, kind="write"), ok(2, kind="write")])

    assert [seen.gain for seen in window.seen] == ["content", "", "change", ""]


def test_only_a_veto_is_kept_of_a_denied_call_and_nothing_of_a_skipped_one() -> None:
    denied = msgspec.structs.replace(ok(1), outcome="denied")
    skipped = msgspec.structs.replace(ok(1), outcome="skipped")

    assert pushed([skipped, denied]) == Window(vetoes=(Veto(denied.call, 1000),))


def test_a_change_forgets_vetoes_tallies_and_the_pages_of_what_it_wrote() -> None:
    page = see(Call("read", {"path": "2", "limit": 9}, "text", ok=True, at_ms=0))
    other = see(Call("read", {"path": "3", "limit": 9}, "more", ok=True, at_ms=0))
    denied = msgspec.structs.replace(ok(1), outcome="denied")
    window = pushed([page, other, denied, ok(2, kind="write")])

    assert window.vetoes == ()
    assert window.tallies == (Tally(ok(2, kind="write").call, 1, 2000, -1),)
    assert window.sweeps == (Sweep(other.subject, ((1, 9),), 1),)


def test_idling_counts_calls_without_news_and_a_batch_once() -> None:
    assert pushed([ok(1), ok(1), ok(1)]).idle == 2
    assert pushed([ok(1), *[ok(1, batch="b")] * 5]).idle == 1
    assert pushed([ok(1), ok(1), ok(2)]).idle == 0
    assert pushed([ok(1), ok(1), ok(3, kind="write")]).idle == 0


def test_a_users_word_forgets_all_and_other_progress_keeps_the_ceiling() -> None:
    window = pushed([ok(1), ok(1), msgspec.structs.replace(ok(2), outcome="denied")])

    assert renewed(window, "user_message") == Window()
    assert renewed(window, "plan_step") == Window(vetoes=window.vetoes, tallies=window.tallies)
