"""The command line as a process: start, encodings, pipes, a terminal."""

import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.fake_desk import REF, TEXT

ROOT = Path(__file__).parents[2]
OSIRIS = [sys.executable, "-P", "-m", "osiris"]
DESK = [sys.executable, "-m", "tests.server.fake_desk"]
HEAVY = ["mcp", "trio", "tiktoken", "rich", "lmdb", "pydantic", "msgspec", "osiris.config"]
LOADED = (
    "import sys, osiris.__main__ as it; sys.argv = ['osiris', '--version']; code = it.main();"
    f"sys.exit(code or ' '.join(name for name in {HEAVY} if name in sys.modules) or 0)"
)
BUFFERING = pytest.mark.parametrize("unbuffered", ["", "1"])


def run(*argv: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.run(
        [*DESK, *argv], cwd=ROOT, env=environ, capture_output=True, timeout=60, check=False
    )


def test_the_version_needs_none_of_the_heavy_libraries() -> None:
    found = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, check=False)

    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout.startswith(b"osiris 0.")


def test_the_version_takes_less_than_150_ms_of_the_processor() -> None:
    def cpu_s() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*OSIRIS, "--version"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(cpu_s() for _ in range(3)) < 0.150


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
@pytest.mark.parametrize(
    "argv", [["tasks"], ["show", "7c"], ["events", "7c"], ["audit"], ["savings"], ["health"]]
)
def test_every_encoding_prints_what_it_lacks_as_escapes(argv: list[str], encoding: str) -> None:
    found = run(*argv, encoding=encoding)

    assert (found.returncode, found.stderr) == (0, b"")
    lines = found.stdout.decode(encoding).splitlines()
    assert [line for line in lines if not line.isprintable()] == []
    assert encoding == "utf-8" or max(map(len, lines)) <= 80


def test_an_error_is_printed_in_every_encoding() -> None:
    found = run("żółw", encoding="ascii")

    assert found.returncode == 2
    assert found.stderr.startswith(b"error bad_argument: No such command '\\u017c\\xf3\\u0142w'")


def test_bytes_are_the_same_in_every_encoding() -> None:
    assert run("get", REF, encoding="ascii").stdout == TEXT


@BUFFERING
def test_a_reader_that_leaves_is_no_error(unbuffered: str) -> None:
    with subprocess.Popen(
        [*DESK, "get", REF],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        told = process.stderr.read()

        assert (process.wait(60), told) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@BUFFERING
def test_a_full_disk_behind_stdout_is_an_error_in_one_line(unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as full:
        found = subprocess.run(
            [*DESK, "tasks"],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert found.returncode == 1
    assert found.stderr.startswith(b"error storage_error: cannot write the answer: ")
    assert found.stderr.count(b"\n") == 1


def test_a_terminal_gets_no_control_characters_of_a_stored_text() -> None:
    shown = on_terminal("get", REF)

    assert "1: żółw line \\u001b[1m\r\n2: " in shown
    assert "\x1b" not in shown


def test_put_at_a_terminal_says_what_to_pipe() -> None:
    assert on_terminal("put").startswith("error missing_argument: nothing is piped in")


def on_terminal(*argv: str) -> str:
    """Return what a command prints with a terminal for stdin, stdout and stderr."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*DESK, *argv], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        said = b"".join(_until_it_ends(ours))
        process.wait(60)
    os.close(ours)
    return said.decode()


def _until_it_ends(terminal: int) -> list[bytes]:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # EIO: the other side is closed
            return pieces
        if not piece:
            return pieces
        pieces.append(piece)
