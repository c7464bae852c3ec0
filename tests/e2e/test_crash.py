"""The crash bench in small, and proof that it would notice."""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench import crash
from bench.crash_check import Found, Stored, Told, Verdict, inspect, judge
from bench.crash_load import Trace
from osiris.core import events as ev
from osiris.home import Home
from osiris_actors.store import records
from osiris_actors.store.contract import Append, Unit
from osiris_actors.store.lmdb import LmdbBackend
from tests.actors.store_cases import edit

BREAKS_ITS_PROMISE = Path(__file__).with_name("write_behind_owner.py")
BRIDGE = "import sys; from osiris.bridge import main; sys.exit(main(sys.argv[1:]))"

STREAM = "task/7c3f90d1"
ONE, TWO = Trace("Noted", "agent 0 item 1"), Trace("Noted", "agent 0 item 2")
TOLD = Told(STREAM, acked=((ONE,),), unknown=((TWO,),))

needs_signals = pytest.mark.skipif(os.name == "nt", reason="owners are killed by signals")


@needs_signals
@pytest.mark.promise("durable")
def test_nothing_acknowledged_is_lost_or_doubled_when_owners_are_killed(tmp_path: Path) -> None:
    report = crash.run(crash.Options(kills=3, clients=4, seed=2, parent=tmp_path))

    assert report.problems == ()
    assert report.chain_ok
    assert (report.verdict.acked_lost, report.verdict.duplicated) == (0, 0)
    assert list(tmp_path.iterdir()) == []


@needs_signals
def test_an_owner_that_answers_before_it_stores_is_found_out(tmp_path: Path) -> None:
    bridge = (sys.executable, "-P", "-c", BRIDGE, sys.executable, str(BREAKS_ITS_PROMISE))

    report = crash.run(crash.Options(1, clients=4, seed=2, parent=tmp_path, bridge=bridge))

    assert report.verdict.acked_lost > 0
    assert f"{report.verdict.acked_lost} acknowledged calls are lost" in report.problems


def test_what_was_answered_must_be_there_once() -> None:
    assert judge([TOLD], Counter({(STREAM, ONE): 1})) == Verdict(1, 0, 0, 0)
    assert judge([TOLD], Counter()) == Verdict(1, 1, 0, 0)
    assert judge([TOLD], Counter({(STREAM, ONE): 2})) == Verdict(1, 0, 1, 0)


def test_a_call_is_lost_when_a_part_of_it_is() -> None:
    whole = Told(STREAM, acked=((ONE, TWO),), unknown=())

    assert judge([whole], Counter({(STREAM, ONE): 1})) == Verdict(1, 1, 0, 0)


def test_what_was_answered_counts_only_in_its_own_task() -> None:
    assert judge([TOLD], Counter({("task/other", ONE): 1})) == Verdict(1, 1, 0, 0)


def test_what_was_not_answered_may_be_there_once_and_no_more() -> None:
    stored = Counter({(STREAM, ONE): 1, (STREAM, TWO): 1})

    assert judge([TOLD], stored) == Verdict(1, 0, 0, unacked_stored=1)
    assert judge([TOLD], stored + Counter({("task/other", TWO): 1})) == Verdict(1, 0, 1, 1)


def test_a_record_that_changed_is_named(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    event = ev.encode(ev.Stamped(0, "someone", ev.Noted("fact", "f1", ONE.mark)))
    store = _store_with(home, event)
    assert inspect(home).damage == ()

    edit(store, "events", records.event_key(STREAM.encode(), 1), b"other bytes")

    found = inspect(home)
    assert not found.chain_ok
    assert f"event {STREAM}@1" in found.damage[0]


def test_the_store_and_the_audit_must_both_be_content() -> None:
    nothing: Stored = Counter()

    assert Found(nothing, (), {"ok": True}).chain_ok
    assert not Found(nothing, (), {"ok": False}).chain_ok
    assert not Found(nothing, ("head task/7c3f90d1: missing",), {"ok": True}).chain_ok


def test_a_home_without_a_store_proves_nothing(tmp_path: Path) -> None:
    found = inspect(Home(str(tmp_path)))

    assert not found.chain_ok
    assert found.stored == Counter()


def _store_with(home: Home, event: bytes) -> Path:
    home.make()
    folder = Path(home.store_dir)
    backend = LmdbBackend(folder)
    backend.commit_batch((Unit(appends=(Append(STREAM, 0, (event,)),)),))
    backend.close()
    return folder
