"""A record that is not what was written is an error with its name, on each adapter."""

from collections.abc import Callable

import pytest

from osiris.core import canon
from osiris_actors.store import blobs, records
from osiris_actors.store.backend import RecordBackend
from osiris_actors.store.checksum import Table
from osiris_actors.store.contract import (
    Append,
    Bump,
    Committed,
    Damage,
    Delta,
    Failed,
    Key,
    Put,
    StoreDamaged,
    Unit,
)
from tests.actors.store_cases import Case

PAYLOAD = bytes(range(256)) * 5_000
BLOB = blobs.pack(PAYLOAD)
SHA = BLOB.sha256[:12]
BLOB_KEY = records.blob_key(BLOB.sha256)
STREAM = "task/7c3f90d1"
STREAM_KEY = STREAM.encode()
UNITS = (
    Unit(
        appends=(Append(STREAM, 0, (b"one", b"two"), snapshot=b"state at two"),),
        deltas=(Delta("calls", 1),),
        bumps=(Bump("contract", 1),),
        puts=(Put("due/1", b"task"),),
        blobs=(BLOB,),
        key=Key("nonce:1", "hash", 0),
    ),
    Unit(appends=(Append(STREAM, 2, (b"three", b"four")),)),
)


@pytest.fixture
def written(case: Case) -> Case:
    outcomes = case.backend.commit_batch(UNITS)
    assert all(isinstance(outcome, Committed) for outcome in outcomes)
    return case


def stored(case: Case, table: Table, key: bytes) -> bytes:
    with case.backend.view() as view:
        found = view.get(table, key)
    assert found is not None
    return found


def flipped(value: bytes, bit: int) -> bytes:
    number = int.from_bytes(value, "big") ^ (1 << bit)
    return number.to_bytes(len(value), "big")


Ask = Callable[[RecordBackend], object]
EVENT_3 = records.event_key(STREAM_KEY, 3)
RECORDS: tuple[tuple[str, Table, bytes, Ask], ...] = (
    (f"event {STREAM}@3", "events", EVENT_3, lambda b: b.read(STREAM)),
    (f"head {STREAM}", "heads", STREAM_KEY, lambda b: b.head(STREAM)),
    (f"snapshot {STREAM}", "snaps", STREAM_KEY, lambda b: b.read(STREAM)),
    ("key nonce:1", "keys", b"nonce:1", lambda b: b.lookup("nonce:1")),
    ("counter calls", "counters", b"calls", lambda b: b.counters("")),
    ("fence contract", "fences", b"contract", lambda b: b.fence("contract")),
    ("index due/1", "index", b"due/1", lambda b: b.index("due/")),
    (f"blob {SHA}", "blobs", BLOB_KEY, lambda b: b.get_blob(BLOB.sha256)),
    (
        f"blob {SHA} chunk 1",
        "chunks",
        records.chunk_key(BLOB_KEY, 1),
        lambda b: b.get_blob(BLOB.sha256),
    ),
)
EVERY_RECORD = pytest.mark.parametrize(
    ("name", "table", "key", "ask"), RECORDS, ids=[row[0] for row in RECORDS]
)


def test_a_sound_store_has_no_damage(written: Case) -> None:
    verified = written.backend.verify(deep=True)

    assert verified.damage == ()
    assert (verified.streams, verified.events, verified.blobs) == (1, 4, 1)


@EVERY_RECORD
@pytest.mark.promise("audit-catches")
def test_one_flipped_bit_is_an_error_with_the_record_s_name(
    written: Case, name: str, table: Table, key: bytes, ask: Ask
) -> None:
    damaged = written.overwrite(table, key, flipped(stored(written, table, key), 3))

    with pytest.raises(StoreDamaged) as caught:
        ask(damaged)

    assert caught.value.record == name
    assert damaged.verify(deep=True).damage == (Damage(name, "does not match its checksum"),)


def test_no_bit_of_a_record_can_flip_unseen() -> None:
    value = records.stamped("counters", b"calls", records.encode(300))

    for bit in range(8 * len(value)):
        with pytest.raises(StoreDamaged):
            records.checked("counters", b"calls", flipped(value, bit))


@pytest.mark.parametrize(
    "name", [f"event {STREAM}@3", f"head {STREAM}", f"snapshot {STREAM}", f"blob {SHA} chunk 1"]
)
def test_a_record_that_is_gone_is_named_and_not_skipped(written: Case, name: str) -> None:
    _, table, key, ask = next(row for row in RECORDS if row[0] == name)
    damaged = written.overwrite(table, key, None)

    with pytest.raises(StoreDamaged) as caught:
        ask(damaged)

    assert caught.value.record == name
    assert Damage(name, "missing") in damaged.verify(deep=False).damage


def test_a_record_in_another_s_place_does_not_pass_for_it(written: Case) -> None:
    written.backend.commit_batch((Unit(deltas=(Delta("other", 900),)),))
    damaged = written.overwrite("counters", b"calls", stored(written, "counters", b"other"))

    with pytest.raises(StoreDamaged, match="counter calls"):
        damaged.counters("calls")


def test_an_event_rewritten_with_its_checksum_breaks_the_chain(written: Case) -> None:
    body = records.checked("events", EVENT_3, stored(written, "events", EVENT_3))
    forged = body[: records.CHAIN_BYTES] + b"forged"
    damaged = written.overwrite("events", EVENT_3, records.stamped("events", EVENT_3, forged))

    with pytest.raises(StoreDamaged) as caught:
        damaged.read(STREAM)

    assert caught.value.record == f"event {STREAM}@3"
    assert damaged.verify(deep=False).damage == (Damage(f"event {STREAM}@3", "breaks the chain"),)


def test_a_tail_rewritten_with_its_chain_is_not_the_head_s(written: Case) -> None:
    key = records.event_key(STREAM_KEY, 4)
    third = records.checked("events", EVENT_3, stored(written, "events", EVENT_3))
    chain = records.chain(third[: records.CHAIN_BYTES], STREAM_KEY, 4, b"forged")
    damaged = written.overwrite("events", key, records.stamped("events", key, chain + b"forged"))

    with pytest.raises(StoreDamaged, match=f"head {STREAM}: is not the end of the chain"):
        damaged.history(STREAM, 2, 100)

    assert damaged.verify(deep=False).damage == (
        Damage(f"head {STREAM}", "is not the end of the chain"),
    )


def test_an_event_above_the_head_is_found(written: Case) -> None:
    key = records.event_key(STREAM_KEY, 5)
    damaged = written.overwrite("events", key, records.stamped("events", key, bytes(40)))

    assert damaged.verify(deep=False).damage == (Damage(f"event {STREAM}@5", "is above the head"),)


def test_only_a_deep_look_sees_a_blob_whose_chunks_are_sound_but_not_its_own(
    written: Case,
) -> None:
    key = records.chunk_key(BLOB_KEY, 1)
    other = blobs.pack(PAYLOAD[::-1]).chunks[1]
    damaged = written.overwrite("chunks", key, records.stamped("chunks", key, other))

    with pytest.raises(StoreDamaged, match=f"blob {SHA}: does not match its sha256"):
        damaged.get_blob(BLOB.sha256)

    assert damaged.verify(deep=False).damage == ()
    assert [damage.record for damage in damaged.verify(deep=True).damage] == [f"blob {SHA}"]


def test_a_chunk_without_a_blob_is_found(written: Case) -> None:
    stray = records.chunk_key(bytes.fromhex(canon.sha256_hex(b"stray")), 0)
    damaged = written.overwrite("chunks", stray, records.stamped("chunks", stray, b"stray"))

    assert [damage.why for damage in damaged.verify(deep=False).damage] == ["belongs to no blob"]


def test_a_unit_that_meets_damage_fails_alone(written: Case) -> None:
    damaged = written.overwrite(
        "heads", STREAM_KEY, flipped(stored(written, "heads", STREAM_KEY), 0)
    )

    bad, good = damaged.commit_batch(
        (Unit((Append(STREAM, 4, (b"five",)),)), Unit((Append("task/b", 0, (b"one",)),)))
    )

    assert bad == Failed(f"StoreDamaged: head {STREAM}: does not match its checksum")
    assert good == Committed({"task/b": 1})


def test_a_stream_whose_head_is_gone_is_not_begun_again(written: Case) -> None:
    damaged = written.overwrite("heads", STREAM_KEY, None)

    (outcome,) = damaged.commit_batch((Unit((Append(STREAM, 0, (b"again",)),)),))

    assert outcome == Failed(f"StoreDamaged: head {STREAM}: missing")
