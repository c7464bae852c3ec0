"""Files by hash: a re-read is answered by what changed."""

import pytest
from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core import index
from osiris.core.commands import Observe
from osiris.core.decide import decide
from osiris.core.decision import Diff, Facts
from osiris.core.errors import Refusal
from osiris.core.index import FileEntry, RefEntry
from osiris.core.manifest import manifest
from osiris.core.replies import Block, Reply
from tests.core.decide_cases import FACTS, STARTED, after, done, payload

OLD, NEW = "ab" * 32, "cd" * 32
BEFORE = FileEntry("a.py", OLD, 4_000, 1_000, 5, 900, "ana")
KNOWN = RefEntry(OLD, 4_000, 1_000, "read", "path", 900, "ana")
READ = Observe("file", path="a.py")


def reading(sha256: str, door: str = "path", **changes: object) -> Facts:
    return replace(FACTS, payload=payload(1_000, door, sha256), **changes)


def test_a_file_read_for_the_first_time_is_stored_and_counted_in_the_manifest() -> None:
    state, reply = done(STARTED, READ, reading(OLD))

    assert "files=1 refs=1" in manifest(state)
    assert reply.stub == "STUB"
    assert state.kept_out == {"receipt": 1_000}


def test_a_file_keeps_hash_size_time_and_who_read_it_last() -> None:
    given = replace(FACTS, payload=replace(payload(1_000, "path", OLD), mtime_ns=5))
    decision = decide(STARTED, READ, given)

    puts = index.puts("task/7c3f90d1", 3, ev.Stamped(900, "ana", decision.events[-1]), STARTED)

    key, raw = puts[0]
    assert key == index.file_key("task/7c3f90d1", "a.py")
    assert raw is not None
    assert index.file_entry(raw) == BEFORE


@pytest.mark.promise("S5-files")
def test_an_unchanged_file_is_answered_with_its_ref_alone_and_books_nothing() -> None:
    decision = decide(STARTED, READ, reading(OLD, file=BEFORE, ref=KNOWN))

    assert decision.events == (ev.FileSeen("a.py", OLD, 4_000, 1_000, 0, is_new=False),)
    assert decision.reply == Reply(
        (("ok", ""), ("unchanged", "yes"), ("since", "mem://abababababab"), ("tokens", "1000"))
    )


@pytest.mark.promise("S5-files")
def test_a_changed_file_is_answered_with_what_changed() -> None:
    given = reading(NEW, file=BEFORE, diff=Diff(2, "@@ -1 +1 @@"))

    state, reply = done(STARTED, READ, given)

    assert ("since", "mem://abababababab") in reply.pairs
    assert ("hunks", "2") in reply.pairs
    assert reply.block == Block("diff mem://cdcdcdcdcdcd", "@@ -1 +1 @@")
    assert state.files == 0


def test_a_long_diff_is_named_by_its_size_and_how_to_read_it() -> None:
    _, reply = done(STARTED, READ, reading(NEW, file=BEFORE, diff=Diff(40, is_more=True)))

    assert ("hunks", "40+") in reply.pairs
    assert reply.notes == ("diff: recall op=diff q=since",)
    assert reply.block is None


def test_an_agent_that_sent_the_text_is_not_sent_the_diff() -> None:
    given = reading(NEW, "result", file=BEFORE, diff=Diff(2, "@@ -1 +1 @@"))

    _, reply = done(STARTED, Observe("file", path="a.py", text="x"), given)

    assert reply.block is None


def test_a_file_that_another_agent_read_is_new_to_this_one() -> None:
    theirs = replace(BEFORE, by="bob")

    state, reply = done(STARTED, READ, reading(OLD, file=theirs, ref=KNOWN))

    assert reply.stub == "STUB"
    assert state.files == 0


@pytest.mark.parametrize("command", [READ, Observe("file", text="x")])
def test_a_file_needs_its_path_and_its_content(command: Observe) -> None:
    given = FACTS if command is READ else reading(OLD, "result")
    decision = decide(STARTED, command, given)

    assert isinstance(decision.reply, Refusal)
    assert decision.reply.code == "missing_argument"
    assert after(STARTED, decision) == STARTED


def test_a_declared_state_is_kept_for_the_project_with_who_said_it() -> None:
    decision = decide(STARTED, Observe("state", text="tests_passed", ok=False), FACTS)
    stamped = ev.Stamped(900, "ana", decision.events[0])

    key, raw = index.puts("task/7c3f90d1", 3, stamped, STARTED)[0]

    assert key == "state/p1/tests_passed"
    assert raw is not None
    assert index.state_entry(raw) == index.StateEntry(
        "tests_passed", ok=False, at_ms=900, by="ana", task="7c3f90d1"
    )


@pytest.mark.parametrize(
    "command",
    [
        Observe("state", text="tests_passed"),
        Observe("state", ok=True),
        Observe("state", text="a b", ok=True),
        Observe("state", text="x" * 65, ok=True),
    ],
)
def test_a_state_without_name_or_value_is_refused(command: Observe) -> None:
    decision = decide(STARTED, command, FACTS)

    assert isinstance(decision.reply, Refusal)
    assert decision.events == ()
