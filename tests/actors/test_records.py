"""The bytes on the disk: golden ones are never edited, a new shape adds one."""

import json
from pathlib import Path

import pytest

from osiris_actors.store import identity, reads, records
from osiris_actors.store.checksum import TABLES, Table
from osiris_actors.store.contract import (
    Append,
    Blob,
    Bump,
    Delta,
    Duplicate,
    Head,
    Key,
    Put,
    Read,
    StoreTooNew,
    Unit,
)
from osiris_actors.store.memory import MemoryBackend

GOLDEN = Path(__file__).parent / "golden" / "records.json"
STORE_ID = "0123456789abcdef" * 2
HELLO = Blob(
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", 5, "raw", (b"hello",)
)
UNITS = (
    Unit(
        appends=(Append("task/7c3f90d1", 0, (b"one", b"two"), snapshot=b"state"),),
        deltas=(Delta("spent/7c3f90d1", 300), Delta("net", -7)),
        bumps=(Bump("c1a2", 1),),
        puts=(Put("due/0001", b"task/7c3f90d1"),),
        blobs=(HELLO,),
        key=Key("nonce:i:7", "c0ffee", 1_700_000_000_000),
        reply=b"task=7c3f90d1",
    ),
    Unit(appends=(Append("task/7c3f90d1", 2, (b"three",)),)),
)


def written() -> dict[str, dict[str, str]]:
    """Return every record of a store with one of each kind, as hex, by name."""
    backend = MemoryBackend()
    backend.commit_batch(UNITS)
    for (table, key), body in identity.new(STORE_ID).items():
        assert body is not None
        backend.overwrite(table, key, records.stamped(table, key, body))
    with backend.view() as view:
        return {
            records.record_name(table, key): {
                "table": table,
                "key": key.hex(),
                "stored": stored.hex(),
            }
            for table in TABLES
            for key, stored in view.scan(table)
        }


def golden() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(GOLDEN.read_text("utf-8"))
    return found


def store_of(rows: dict[str, dict[str, str]]) -> MemoryBackend:
    backend = MemoryBackend()
    for row in rows.values():
        table: Table = next(table for table in TABLES if table == row["table"])
        backend.overwrite(table, bytes.fromhex(row["key"]), bytes.fromhex(row["stored"]))
    return backend


def test_the_bytes_of_each_record_are_the_golden_ones() -> None:
    assert written() == golden()


def test_golden_bytes_are_still_read() -> None:
    backend = store_of(golden())

    assert backend.verify(deep=True).damage == ()
    assert backend.read("task/7c3f90d1") == Read(
        (2, b"state"), ((3, b"three"),), backend.head("task/7c3f90d1")
    )
    assert backend.head("task/7c3f90d1") == Head(
        3,
        bytes.fromhex("0796cfdd58c293e8550cf0edd1eeb0a3ef173f5ac8ecfc42761d91592fad6e34"),
        1,
        5,
    )
    assert backend.counters("") == {"net": -7, "spent/7c3f90d1": 300}
    assert backend.fence("c1a2") == 1
    assert backend.index("") == (Put("due/0001", b"task/7c3f90d1"),)
    assert backend.get_blob(HELLO.sha256) == b"hello"
    assert backend.lookup("nonce:i:7") == Duplicate("c0ffee", b"task=7c3f90d1", 1_700_000_000_000)


def test_a_chain_is_over_the_one_before_the_stream_the_version_and_the_event() -> None:
    link = (records.GENESIS, b"task/a", 1, b"event")

    others = {
        records.chain(b"\1" * 32, b"task/a", 1, b"event"),
        records.chain(records.GENESIS, b"task/b", 1, b"event"),
        records.chain(records.GENESIS, b"task/a", 2, b"event"),
        records.chain(records.GENESIS, b"task/a", 1, b"other"),
    }

    assert records.chain(*link).hex() == (
        "97dd6ff177169a9322009549e2f1d05978a88c20d0ced12fba7f5f7bf65b0240"
    )
    assert len({records.chain(*link), *others}) == 5


def test_event_keys_sort_by_version_and_streams_do_not_mix() -> None:
    versions = [records.event_key(b"task/a", version) for version in (1, 2, 255, 256, 1 << 40)]
    keys = [*versions, records.event_key(b"task/ab", 1), records.event_key(b"task/b", 1)]

    assert sorted(keys) == keys


def test_a_newer_format_is_told_apart() -> None:
    backend = store_of(golden())
    newer = records.encode(identity.FORMAT + 1)
    backend.overwrite("meta", b"format", records.stamped("meta", b"format", newer))

    with backend.view() as view, pytest.raises(StoreTooNew, match="update OSIRIS"):
        identity.known(reads.bodies(view))
