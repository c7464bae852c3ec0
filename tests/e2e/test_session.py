"""The whole service as an agent meets it: the SDK's client, the real bridge, the real owner.

The clients run in a folder whose packages are named like ours, and know HOME, PATH and OSIRIS_*.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.e2e import session_script
from tests.e2e.real_home import RealHome, sprung
from tests.e2e.sdk_stranger import sdk_client
from tests.e2e.session_script import Told

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners are stopped by signals")

STORED = {
    "TaskStarted": 1,
    "ActionObserved": 6,
    "RefStored": 2,
    "KeptOut": 1,
    "DecisionPinned": 1,
    "SnapshotTaken": 1,
    "TaskResumed": 2,
    "StepMarked": 1,
    "TaskClosed": 1,
}


@pytest.mark.promise("S3-six-tools")
async def test_a_session_reads_the_same_in_both_eras(real_home: RealHome) -> None:
    old = await session_script.hold(real_home, "old", partial(sdk_client, real_home, "legacy"))
    new = await session_script.hold(real_home, "new", partial(sdk_client, real_home, "2026-07-28"))

    assert (old.version, new.version) == ("2025-11-25", "2026-07-28")
    assert old.said == new.said


async def test_a_session_leaves_its_events_its_report_and_no_complaint(
    real_home: RealHome,
) -> None:
    told = await session_script.hold(real_home, "left", partial(sdk_client, real_home, "auto"))

    audit = real_home.ask("audit", task=told.task)
    assert _stored(real_home, told) == STORED
    assert (audit["lossless"], audit["items_externalized"], audit["items_missing"]) == (True, 2, 0)
    assert (Path(real_home.home.reports_dir) / f"{told.task}.md").is_file()
    assert real_home.complaints() == []


async def test_a_session_over_tcp_is_no_different(tcp_home: RealHome) -> None:
    told = await session_script.hold(tcp_home, "tcp", partial(sdk_client, tcp_home, "2026-07-28"))

    record = tcp_home.home.record()
    assert record is not None
    assert all(where.startswith("tcp:127.0.0.1:") for where in record.endpoints.values())
    assert _stored(tcp_home, told) == STORED
    assert tcp_home.complaints() == []


def _stored(home: RealHome, told: Told) -> dict[str, int]:
    """Return how many events of each kind in STORED a session left."""
    kinds = [kind for _, kind in home.events(f"task/{told.task}")]
    return {kind: kinds.count(kind) for kind in STORED}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_an_owner_knows_the_home_but_no_clients_settings(real_home: RealHome) -> None:
    async with sdk_client(real_home, "auto", real_home.project("env")) as client:
        await client.names()

    assert _environ(real_home.ask("health")["pid"]) - {"LC_CTYPE"} == {
        "HOME",
        "PATH",
        "OSIRIS_HOME",
        "OSIRIS_TRANSPORT",
    }


def _environ(pid: int) -> set[str]:
    """Return the names in the environment that a process was started with."""
    lines = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return {line.partition("=")[0] for line in lines if line}


def test_without_safe_path_the_projects_packages_would_be_imported(tmp_path: Path) -> None:
    project = RealHome(tmp_path).project("trap")

    run = subprocess.run(
        [sys.executable, "-m", "osiris"], cwd=project, capture_output=True, check=False
    )

    assert run.returncode != 0
    assert sprung(project) != []
