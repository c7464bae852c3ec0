"""What every store promises, on each adapter, through the writer."""

import pytest

from osiris_actors.store import blobs
from osiris_actors.store.contract import (
    CHUNK_BYTES,
    Append,
    Blob,
    Bump,
    Committed,
    Conflict,
    Delta,
    Duplicate,
    Failed,
    Fenced,
    Guard,
    Head,
    Key,
    Put,
    Unit,
)
from osiris_actors.writer import Writer
from tests.actors.store_cases import Case, append, together

BLOB = blobs.pack(b"line of a log\n" * 200_000)
WHOLE = Unit(
    appends=(Append("task/a", 0, (b"one", b"two")), Append("project/p", 0, (b"p-one",))),
    deltas=(Delta("spent/a", 5), Delta("spent/a", -2), Delta("calls", 1, ceiling=1)),
    bumps=(Bump("contract", 1),),
    puts=(Put("due/0001", b"task/a"),),
    blobs=(BLOB,),
    key=Key("nonce:1", "hash", 1_000),
    reply=b"planned",
)


async def test_everything_in_a_unit_is_there_after_it(store: Writer) -> None:
    outcome = await store.commit(WHOLE)

    assert outcome == Committed({"task/a": 2, "project/p": 1})
    assert (await store.read("task/a")).events == ((1, b"one"), (2, b"two"))
    assert await store.history("project/p", 0, 10) == ((1, b"p-one"),)
    assert await store.counters("") == {"calls": 1, "spent/a": 3}
    assert await store.fence("contract") == 1
    assert await store.get_index("due/0001") == b"task/a"
    assert await store.lookup("nonce:1") == Duplicate("hash", b"planned", 1_000)
    assert await store.get_blob(BLOB.sha256) == b"line of a log\n" * 200_000
    assert await store.blob_size(BLOB.sha256) == 2_800_000
    assert await store.streams("task/") == ("task/a",)
    assert (await store.verify(deep=True)).damage == ()


async def test_what_was_never_stored_reads_as_nothing(store: Writer) -> None:
    assert await store.head("task/none") == Head()
    assert (await store.read("task/none")).events == ()
    assert await store.lookup("none") is None
    assert await store.counters("none") == {}
    assert await store.fence("none") == 0
    assert await store.get_index("none") is None
    assert await store.get_blob("0" * 64) is None
    assert not await store.has_blob("0" * 64)


@pytest.mark.parametrize(
    "poison",
    [
        pytest.param(append("task/" + "a" * 500, 0, b"event"), id="stream name too long"),
        pytest.param(append("task/a\0b", 0, b"event"), id="NUL in a stream name"),
        pytest.param(append("task/\ud800", 0, b"event"), id="lone surrogate"),
        pytest.param(append("", 0, b"event"), id="empty stream name"),
        pytest.param(Unit(deltas=(Delta("c" * 512, 1),)), id="counter name too long"),
        pytest.param(Unit(deltas=(Delta("c", 1 << 64),)), id="counter beyond 64 bits"),
        pytest.param(Unit(puts=(Put("", b""),)), id="empty index key"),
        pytest.param(Unit(blobs=(Blob("abc", 1, "raw", (b"x",)),)), id="no sha256"),
        pytest.param(Unit(blobs=(Blob("0" * 64, 1, "lz4", (b"x",)),)), id="unknown codec"),
        pytest.param(Unit(blobs=(Blob("0" * 64, 9, "raw", ()),)), id="chunks missing"),
    ],
)
async def test_a_poison_unit_fails_alone_and_leaves_nothing(store: Writer, poison: Unit) -> None:
    mixed = Unit((Append("task/mixed", 0, (b"x",)), *poison.appends), poison.deltas)
    mixed = Unit(mixed.appends, mixed.deltas, puts=poison.puts, blobs=poison.blobs)

    good, bad, also_good = await together(
        store, append("task/a", 0, b"one"), mixed, append("task/b", 0, b"one")
    )

    assert (good, also_good) == (Committed({"task/a": 1}), Committed({"task/b": 1}))
    assert isinstance(bad, Failed)
    assert await store.streams("") == ("task/a", "task/b")


async def test_a_stale_version_fails_alone(store: Writer) -> None:
    await store.commit(append("task/a", 0, b"one"))

    stale, ahead, good = await together(
        store,
        append("task/a", 0, b"other"),
        append("task/b", 7, b"other"),
        append("task/c", 0, b"one"),
    )

    assert stale == Conflict("task/a", 1)
    assert ahead == Conflict("task/b", 0)
    assert good == Committed({"task/c": 1})


async def test_of_two_writers_of_one_version_one_wins(store: Writer) -> None:
    outcomes = await together(store, append("task/a", 0, b"one"), append("task/a", 0, b"two"))

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Committed", "Conflict"]
    assert (await store.head("task/a")).version == 1


@pytest.mark.parametrize("content", ["same", "other"])
async def test_a_known_key_answers_what_was_stored_and_fails_alone(
    store: Writer, content: str
) -> None:
    first = Unit(key=Key("nonce:1", "same", 1_000), reply=b"first")
    again = Unit((Append("task/a", 0, (b"x",)),), key=Key("nonce:1", content, 2_000))
    await store.commit(first)

    duplicate, good = await together(store, again, append("task/b", 0, b"one"))

    assert duplicate == Duplicate("same", b"first", 1_000)
    assert good == Committed({"task/b": 1})
    assert await store.streams("") == ("task/b",)


async def test_a_key_twice_in_one_batch_is_done_once(store: Writer) -> None:
    unit = Unit(deltas=(Delta("done", 1),), key=Key("nonce:1", "h", 0), reply=b"r")

    outcomes = await together(store, unit, unit)

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Committed", "Duplicate"]
    assert Duplicate("h", b"r", 0) in outcomes
    assert await store.counters("done") == {"done": 1}


async def test_a_ceiling_holds_against_a_hundred_units_at_once(store: Writer) -> None:
    unit = Unit(deltas=(Delta("day/reserved", 7, ceiling=100),))

    outcomes = await together(store, *[unit] * 100)

    assert outcomes.count(Committed({})) == 14
    assert outcomes.count(Conflict("day/reserved", 98, is_counter=True)) == 86
    assert await store.counters("day/") == {"day/reserved": 98}


async def test_what_is_over_a_ceiling_can_be_given_back(store: Writer) -> None:
    await store.commit(Unit(deltas=(Delta("day", 100),)))

    assert await store.commit(Unit(deltas=(Delta("day", 0, ceiling=50),))) == Conflict(
        "day", 100, is_counter=True
    )
    assert await store.commit(Unit(deltas=(Delta("day", -10, ceiling=50),))) == Committed({})


async def test_a_raised_fence_stops_its_old_holder_and_nobody_else(store: Writer) -> None:
    held = Guard("contract", 1)
    await store.commit(Unit(bumps=(Bump("contract", 1),)))
    assert await store.commit(Unit(guards=(held,))) == Committed({})
    await store.commit(Unit(bumps=(Bump("contract", 2),)))

    late, current, other = await together(
        store,
        Unit((Append("task/late", 0, (b"x",)),), guards=(held,)),
        Unit((Append("task/current", 0, (b"x",)),), guards=(Guard("contract", 2),)),
        append("task/other", 0, b"x"),
    )

    assert late == Fenced("contract", 2)
    assert (current, other) == (Committed({"task/current": 1}), Committed({"task/other": 1}))
    assert await store.streams("") == ("task/current", "task/other")


async def test_of_two_that_accept_one_attempt_one_is_fenced(store: Writer) -> None:
    accept = Unit(bumps=(Bump("contract", 1),))

    outcomes = await together(store, accept, accept)

    assert sorted(outcomes, key=repr) == [Committed({}), Fenced("contract", 1)]


async def test_a_fence_cannot_skip_or_fall(store: Writer) -> None:
    await store.commit(Unit(bumps=(Bump("contract", 1),)))

    assert await store.commit(Unit(bumps=(Bump("contract", 3),))) == Fenced("contract", 1)
    assert await store.commit(Unit(bumps=(Bump("contract", 1),))) == Fenced("contract", 1)


async def test_index_entries_come_in_key_order_by_page_and_can_be_removed(store: Writer) -> None:
    names = [f"due/{number:03}" for number in (5, 1, 4, 2, 3)]
    await store.commit(Unit(puts=tuple(Put(name, name.encode()) for name in names)))
    await store.commit(Unit(puts=(Put("due", b""), Put("duf", b""), Put("due/002", None))))

    first = await store.index("due/", limit=2)
    rest = await store.index("due/", after=first[-1].key)

    assert first == (Put("due/001", b"due/001"), Put("due/003", b"due/003"))
    assert rest == (Put("due/004", b"due/004"), Put("due/005", b"due/005"))
    assert await store.index("due/", after="due/005") == ()
    assert await store.index("due/", after="a") == (*first, *rest)


async def test_the_last_word_on_an_index_entry_in_a_unit_holds(store: Writer) -> None:
    await store.commit(Unit(puts=(Put("a", b"1"), Put("a", None), Put("b", None), Put("b", b"2"))))

    assert await store.index("") == (Put("b", b"2"),)


@pytest.mark.parametrize(
    "broken",
    [
        Unit(appends=(Append("task/a", 0, (b"1",)), Append("task/b", 1, (b"1",)))),
        Unit(WHOLE.appends, (Delta("calls", 2, ceiling=1),)),
        Unit(WHOLE.appends, guards=(Guard("contract", 9),)),
        Unit(WHOLE.appends, bumps=(Bump("other", 1), Bump("contract", 9))),
    ],
)
async def test_a_unit_is_stored_whole_or_not_at_all(store: Writer, broken: Unit) -> None:
    unit = Unit(
        broken.appends,
        (Delta("first", 1), *broken.deltas),
        broken.guards,
        broken.bumps,
        WHOLE.puts,
        WHOLE.blobs,
        WHOLE.key,
    )

    empty = await store.verify(deep=True)

    outcome = await store.commit(unit)

    assert not isinstance(outcome, Committed)
    assert await store.verify(deep=True) == empty


async def test_an_append_without_events_only_holds_the_stream(store: Writer) -> None:
    await store.commit(append("task/child", 0, b"one"))
    before = await store.head("task/child")

    held = await store.commit(append("task/child", 1))
    lost = await store.commit(append("task/child", 0))

    assert (held, lost) == (Committed({"task/child": 1}), Conflict("task/child", 1))
    assert await store.head("task/child") == before


async def test_one_unit_may_append_twice_to_a_stream(store: Writer) -> None:
    unit = Unit(appends=(Append("task/a", 0, (b"1",)), Append("task/a", 1, (b"2",))))

    assert await store.commit(unit) == Committed({"task/a": 2})
    assert (await store.read("task/a")).events == ((1, b"1"), (2, b"2"))


async def test_equal_payloads_are_one_blob_and_the_first_is_not_written_again(
    store: Writer, case: Case
) -> None:
    plain = b"line of a log\n" * 200_000
    cut = tuple(plain[start : start + CHUNK_BYTES] for start in range(0, len(plain), CHUNK_BYTES))
    raw = Blob(BLOB.sha256, len(plain), "raw", cut)
    await store.put_blob(raw)
    with case.backend.view() as view:
        before = tuple(view.scan("chunks"))

    await together(store, Unit(blobs=(BLOB,)), Unit(blobs=(BLOB, BLOB)))

    with case.backend.view() as view:
        assert tuple(view.scan("chunks")) == before
    assert len(before) == 3
    assert await store.get_blob(BLOB.sha256) == plain


async def test_all_that_was_acknowledged_is_there_for_the_next_process(
    store: Writer, case: Case
) -> None:
    await store.commit(WHOLE)

    reopened = case.reopen()

    assert reopened.store_id == store.store_id
    assert reopened.read("task/a").events == ((1, b"one"), (2, b"two"))
    assert reopened.lookup("nonce:1") == Duplicate("hash", b"planned", 1_000)
    assert reopened.verify(deep=True).damage == ()


async def test_counters_of_a_page_are_one_record_and_read_by_any_prefix(
    case: Case, store: Writer
) -> None:
    before = case.backend.verify(deep=True).records
    deltas = (Delta("a/b#x/y", 2), Delta("a/b#z", 3, ceiling=3), Delta("a/b", 5), Delta("a/c#x", 1))
    await store.commit(Unit(deltas=deltas))
    await store.commit(Unit(deltas=(Delta("a/b#x/y", -7),)))
    refused = await store.commit(Unit(deltas=(Delta("a/b#x/y", 1), Delta("a/b#z", 1, ceiling=3))))

    assert refused == Conflict("a/b#z", 3, is_counter=True)
    whole = {"a/b#x/y": -5, "a/b#z": 3, "a/b": 5, "a/c#x": 1}
    assert await store.counters("a/") == whole
    assert await store.counters("a/b#") == {"a/b#x/y": -5, "a/b#z": 3}
    assert await store.counters("a/b#x") == {"a/b#x/y": -5}
    assert await store.counters("a/b") == {name: whole[name] for name in whole if name != "a/c#x"}
    assert case.backend.verify(deep=True).records == before + 3
