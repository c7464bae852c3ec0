"""Golden bytes: what was once stored is read for ever."""

from pathlib import Path

import pytest

from osiris.core import events as ev
from osiris.core.loop_window import Seen

AT = 1_764_500_000_123
STORED = Path(__file__).parent / "golden" / "events.txt"

# kind, version -> event; its bytes are in STORED. A new shape adds a row; no row is ever edited.
EVENTS: dict[tuple[str, int], ev.Event] = {
    ("TaskStarted", 1): ev.TaskStarted(
        task="7c3f90d1", objective="fix PowerShell profile bug", project="p1"
    ),
    ("Bound", 1): ev.Bound(nonce="n1"),
    ("PlanSet", 1): ev.PlanSet(steps=("look", "mend")),
    ("StepMarked", 1): ev.StepMarked(step=1, done=True),
    ("BudgetSet", 1): ev.BudgetSet(amounts={"tokens": 50000}, holds=("reserved/day/020422",)),
    ("ConstraintAdded", 1): ev.ConstraintAdded(id="c1", text="no new dependency"),
    ("DecisionPinned", 1): ev.DecisionPinned(id="d1", text="use profile.ps1"),
    ("Noted", 1): ev.Noted(kind="lesson", id="l1", text="quote paths", task="7c3f90d1"),
    ("ActionObserved", 1): ev.ActionObserved(
        seen=Seen(
            "0f" * 8, "a1" * 8, "bash", "run", "deterministic", AT, batch="b1", ref="ab" * 32
        ),
        ok=False,
        tokens=812,
        project="p1",
    ),
    ("RefStored", 1): ev.RefStored(
        sha256="abababababababababababababababababababababababababababababababab",
        size=4096,
        tokens=812,
        method="exact",
        tool="bash",
        door="result",
        redacted=1,
        path="src/a.py",
    ),
    ("KeptOut", 1): ev.KeptOut(
        ref="abababababababababababababababababababababababababababababababab",
        proof="receipt",
        source="read",
        tokens=812,
        session="n1",
    ),
    ("Charged", 1): ev.Charged(tokens={"arguments": 40, "reply": 12}, calls=2),
    ("SnapshotTaken", 1): ev.SnapshotTaken(id="s1", seal="3f9a1c5e8d21c21b"),
    ("TaskResumed", 1): ev.TaskResumed(nonce="n2"),
    ("TaskClosed", 1): ev.TaskClosed(outcome="done"),
    ("HandoffOffered", 1): ev.HandoffOffered(
        contract="h1f2e3d4c",
        to="bob",
        goal="review the change",
        inputs=("abababababababababababababababababababababababababababababababab",),
        budget={"tokens": 9000},
        checks=("schema",),
        schema='{"type":"object"}',
        depth=1,
        lease_s=900,
        holds=("reserved/day/020422",),
    ),
    ("HandoffAccepted", 1): ev.HandoffAccepted(
        contract="h1f2e3d4c", attempt=1, child="99aa88bb", lease_s=900
    ),
    ("HandoffMoved", 1): ev.HandoffMoved(
        contract="h1f2e3d4c",
        status="returned",
        attempt=2,
        why="done",
        ref="cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
        spent={"tokens": 700},
    ),
    ("LateResult", 1): ev.LateResult(
        contract="h1f2e3d4c", ref="cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
    ),
    ("LeaseRearmed", 1): ev.LeaseRearmed(
        contract="h1f2e3d4c", child="99aa88bb", lease_s=900, child_version=7
    ),
    ("ChildOpened", 1): ev.ChildOpened(
        contract="h1f2e3d4c",
        issuer="7c3f90d1",
        ancestors=(("h1f2e3d4c", 1, "aaaaaaaaaaaaaaaa", "bob"),),
        refs=(
            ("abababababababababababababababababababababababababababababababab", 4096, 812, "bash"),
        ),
        budget={"tokens": 9000},
    ),
    ("PrefixRecorded", 1): ev.PrefixRecorded(
        zone="contract",
        sha256="cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
        tokens=9100,
        verdict="minor_drift",
        tools=41,
        project="p1",
    ),
    ("UsageDeclared", 1): ev.UsageDeclared(
        model="claude-opus-5-5",
        provider="anthropic",
        ttl_s=300,
        input=12,
        cache_read=90_000,
        cache_write=1_200,
        cache_write_1h=0,
        output=800,
        window=200_000,
        cell="anthropic/300/claude-opus-5-5/2",
        dead=False,
    ),
    ("UsageDeclared", 2): ev.UsageDeclared(
        model="claude-opus-5-5",
        provider="anthropic",
        ttl_s=300,
        input=12,
        cache_read=90_000,
        cache_write=1_200,
        cache_write_1h=0,
        output=800,
        window=200_000,
        cell="anthropic/300/claude-opus-5-5/2",
        dead=False,
        microusd=40_048,
        factor="claude-opus-5-5/24",
        ruler_high=1_360,
    ),
    ("FileSeen", 1): ev.FileSeen(
        path="src/a.py",
        sha256="abababababababababababababababababababababababababababababababab",
        size=4096,
        tokens=812,
        mtime_ns=AT * 1_000_000,
        is_new=True,
    ),
    ("StateDeclared", 1): ev.StateDeclared(name="tests_passed", ok=True, project="p1"),
    ("StateChanged", 1): ev.StateChanged(name="tests_passed", ok=True, how="pytest", project="p1"),
    ("RuleApproved", 1): ev.RuleApproved(
        rule="no-test-edit", until_ms=1_764_500_600_123, who="ana"
    ),
    ("FailureSeen", 1): ev.FailureSeen(
        fault="1a2b3c4d", tool="bash", call="0f" * 16, error="Error: no such file", ref="ab" * 32
    ),
    ("Promoted", 1): ev.Promoted(
        kind="lesson",
        id="l1",
        text="quote paths",
        origin="task/7c3f90d1",
        origin_id="l1",
        origin_by="bob",
        origin_at_ms=AT - 1,
        task="7c3f90d1",
    ),
    ("CompactionStaged", 1): ev.CompactionStaged(
        id="s9",
        mode="compact",
        now=(),
        staged=("abababababababababababababababababababababababababababababababab",),
        moments=("hook", "resume", "slow_tool"),
        freed=692,
    ),
}
GOLDEN = {
    (kind, int(version)): bytes.fromhex(digits)
    for kind, version, digits in map(str.split, STORED.read_text().splitlines())
}


def test_every_kind_and_version_has_its_golden_bytes() -> None:
    assert set(ev.VERSIONS.items()) <= set(GOLDEN)
    assert set(GOLDEN) == set(EVENTS)


@pytest.mark.parametrize("kind", GOLDEN)
def test_golden_bytes_decode_to_the_event_they_were(kind: tuple[str, int]) -> None:
    assert ev.decode(GOLDEN[kind]) == ev.Stamped(AT, "ana", EVENTS[kind])


@pytest.mark.parametrize("kind", [k for k in GOLDEN if ev.VERSIONS[k[0]] == k[1]])
def test_the_newest_version_is_still_written_byte_for_byte(kind: tuple[str, int]) -> None:
    assert ev.encode(ev.Stamped(AT, "ana", EVENTS[kind])) == GOLDEN[kind]


def test_a_kind_this_code_does_not_know_is_refused_by_name() -> None:
    raw = ev.encode(ev.Stamped(AT, "ana", ev.Bound("n"))).replace(b"Bound", b"Bonds")

    with pytest.raises(ev.UnknownEventError, match="Bonds version 1"):
        ev.decode(raw)
