"""The bench of idle tasks: that its figures are there and nothing is left behind."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the bench reads /proc")
def test_idle_tasks_are_measured_and_leave_nothing_behind() -> None:
    command = [sys.executable, "-m", "bench.idle", "--tasks", "60", "--json"]

    done = subprocess.run(command, capture_output=True, timeout=60, check=False)

    figures = json.loads(done.stdout)
    assert (done.returncode, figures["resident"], figures["left"]) == (0, 60, 0)
    assert 0 < figures["activation_p50_ms"] <= figures["activation_p99_ms"]
    assert figures["passive_objects_per_task"] < 1
