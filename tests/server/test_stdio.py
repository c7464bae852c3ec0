"""Real processes on real pipes and a real terminal."""

import json
import os
import pty
import signal
import subprocess
import sys
import tty
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
import trio

from osiris.server.connection import Connection
from osiris.server.stdio import ThreadReader, ThreadWriter
from tests.server.fake_service import FakeService
from tests.server.raw_client import INITIALIZE, OWN, RawClient, new_host, request, tool_call

ROOT = Path(__file__).parents[2]
HELLO = request(0, "initialize", INITIALIZE) + b"\n"
CALL = tool_call(1) + b"\n"
HANG = tool_call(2, hang=True) + b"\n"


@contextmanager
def server(
    stdin: int | IO[bytes] = subprocess.PIPE, stdout: int = subprocess.PIPE
) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.server.stdio_server"],
        cwd=ROOT,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def say(process: subprocess.Popen[bytes], *lines: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(b"".join(lines))
    process.stdin.flush()


def heard(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    message: dict[str, Any] = json.loads(process.stdout.readline())
    return message


def wait_until_hanging(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    while b"hanging" not in process.stderr.readline():
        pass


def test_stdout_carries_the_protocol_alone_and_eof_ends_it_cleanly() -> None:
    with server() as process:
        out, err = process.communicate(HELLO + CALL, timeout=20)

    assert [json.loads(line)["id"] for line in out.splitlines()] == [0, 1]
    assert b"stray print" in err
    assert b"child reads b''" in err
    assert b"Traceback" not in err
    assert process.returncode == 0


def test_a_regular_file_is_served_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(HELLO + CALL.strip())
    with path.open("rb") as file, server(stdin=file) as process:
        out, _ = process.communicate(timeout=20)

    assert [json.loads(line)["id"] for line in out.splitlines()] == [0, 1]
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_session_without_a_traceback(number: int) -> None:
    with server() as process:
        say(process, HELLO, HANG)
        assert heard(process)["id"] == 0
        wait_until_hanging(process)
        process.send_signal(number)
        reply = heard(process)
        code = process.wait(timeout=20)
        assert process.stderr is not None
        err = process.stderr.read()

    assert (reply["id"], reply["error"]["code"]) == (2, -32000)
    assert (code, err) == (0, b"")


def test_a_closed_stdout_ends_the_process_though_stdin_stays_open() -> None:
    with server() as process:
        say(process, HELLO)
        assert heard(process)["id"] == 0
        assert process.stdout is not None
        process.stdout.close()
        say(process, request(1, "ping") + b"\n")
        code = process.wait(timeout=20)
        assert process.stderr is not None
        err = process.stderr.read()

    assert (code, err) == (0, b"")


def test_a_child_that_reads_stdin_takes_nothing_from_the_client() -> None:
    with server() as process:
        say(process, HELLO, CALL)
        assert heard(process)["id"] == 0
        say(process, request(3, "ping") + b"\n")
        ids = {heard(process)["id"] for _ in range(2)}
        _, err = process.communicate(timeout=20)

    assert ids == {1, 3}
    assert b"child reads b''" in err


def test_a_terminal_is_left_as_it_was() -> None:
    primary, secondary = pty.openpty()
    tty.setraw(secondary)
    with os.fdopen(primary, "rb+", buffering=0) as terminal:
        with server(stdin=secondary, stdout=secondary) as process:
            terminal.write(HELLO)
            held = b""
            while not held.endswith(b"\n"):
                held += terminal.read(65_536)
            assert not os.get_blocking(secondary)
            process.send_signal(signal.SIGINT)
            code = process.wait(timeout=20)

        assert json.loads(held)["id"] == 0
        assert code == 0
        assert os.get_blocking(secondary)
        os.close(secondary)


async def test_where_descriptors_cannot_be_waited_for_threads_serve_them() -> None:
    to_server, from_client = os.pipe()
    from_server, to_client = os.pipe()
    stream = trio.StapledStream(ThreadWriter(to_client), ThreadReader(to_server))
    theirs = trio.StapledStream(
        trio.lowlevel.FdStream(from_client), trio.lowlevel.FdStream(from_server)
    )
    client = RawClient(theirs)
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Connection(stream, new_host(FakeService()), OWN).run)
            await client.initialize()
            result = await client.call("osiris_plan", objective="x" * 200_000)
            await theirs.send_stream.aclose()
        await client.leave()
    os.close(to_server)

    assert result["content"][0]["text"] == "ok plan"
