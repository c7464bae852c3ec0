"""A small disk of a test's own, and faults on a child's system calls; else the test is skipped."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Generator[Path]:
    """Mount a tmpfs of `size` on `folder` for the length of the body."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux may mount a small disk")
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "osiris-test", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all the room that is left; return the file to remove for getting it back."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4_096))
        except OSError:
            return path


def with_fault(fault: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command while strace makes `fault` of its system calls, such as fdatasync:error=EIO."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not there")
    calls = fault.partition(":")[0]
    options = ("-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={fault}")
    return subprocess.run(
        [strace, *options, *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
