"""100 calls in flight on each of 100 connections: `python -m bench.load --json`.

Rule 1: every call is answered, done or refused as `busy` with a hint; none hangs.
Rule 2: no connection starves: each gets all its answers, and the slowest connection is named.
Rule 3: the owner grows by less than GROWTH_MB over what it holds when idle, ruler and rules
        loaded. Exit code 1 when one of these is broken.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import trio
from msgspec import Struct

from bench import owners
from osiris.home import Home
from osiris.reach import connect_or_start

CONNECTIONS = 100
CALLS = 100
WITHIN_S = 120.0
GROWTH_MB = 150


class Line(Struct):
    """One connection: how many answers of each sort, and when the last one came."""

    done: int = 0
    busy: int = 0
    other: int = 0
    last_s: float = 0.0


async def _connection(path: str, number: int, line: Line, began: float) -> None:
    stream = await trio.open_unix_socket(path)
    async with stream:
        reader = _Reader(stream)
        hello: dict[str, Any] = {
            "version": "0",
            "nonce": f"{number:032x}",
            "pid": 1,
            "cwd": "",
            "settings": {},
        }
        await _send(stream, {"osiris": 1, "hello": hello})
        await _request(stream, 0, "initialize", _INITIALIZE)
        await reader.next()
        await _send(stream, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        plan = {"mode": "start", "objective": f"load {number}"}
        await _request(stream, 1, "tools/call", {"name": "osiris_plan", "arguments": plan})
        await reader.next()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_ask_all, stream, number)
            for _ in range(CALLS):
                _count(line, await reader.next())
                line.last_s = trio.current_time() - began


async def _ask_all(stream: trio.SocketStream, number: int) -> None:
    for call in range(CALLS):
        arguments = {"kind": "fact", "text": f"{number}/{call}"}
        params = {"name": "osiris_observe", "arguments": arguments}
        await _request(stream, call + 2, "tools/call", params)


def _count(line: Line, answer: dict[str, object]) -> None:
    text = json.dumps(answer)
    if '"isError": true' not in text and '"error"' not in answer:
        line.done += 1
    elif "error busy:" in text and "fix:" in text:
        line.busy += 1
    else:
        line.other += 1


async def _load(path: str, lines: list[Line]) -> float:
    began = trio.current_time()
    with trio.fail_after(WITHIN_S):
        async with trio.open_nursery() as nursery:
            for number, line in enumerate(lines):
                nursery.start_soon(_connection, path, number, line, began)
    return trio.current_time() - began


class _Reader:
    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._held = b""

    async def next(self) -> dict[str, object]:
        while b"\n" not in self._held:
            piece = await self._stream.receive_some(65_536)
            if not piece:
                raise ConnectionError("the owner closed a connection")
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        found: dict[str, object] = json.loads(line)
        return found


async def _send(stream: trio.SocketStream, message: object) -> None:
    await stream.send_all(json.dumps(message).encode() + b"\n")


async def _request(stream: trio.SocketStream, number: int, method: str, params: object) -> None:
    await _send(stream, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})


_INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "load", "version": "0"},
}


def _memory_mb(home: Home) -> float:
    """Return the most memory that the owner of `home` ever had."""
    record = home.record()
    pid = 0 if record is None else record.pid
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def measure() -> dict[str, object]:
    """Run the load against an owner of its own."""
    lines = [Line() for _ in range(CONNECTIONS)]
    with owners.home_folder(owners.disk()) as folder:
        home = Home(str(folder))
        home.make()
        connect_or_start(home, "mcp").close()
        _until_ready(home)
        idle = _memory_mb(home)
        seconds = trio.run(_load, home.socket_path("mcp"), lines)
        memory = _memory_mb(home)
    slowest = max(lines, key=lambda line: line.last_s)
    return {
        "connections": CONNECTIONS,
        "calls": CONNECTIONS * CALLS,
        "done": sum(line.done for line in lines),
        "busy": sum(line.busy for line in lines),
        "other": sum(line.other for line in lines),
        "unanswered": CONNECTIONS * CALLS - sum(c.done + c.busy + c.other for c in lines),
        "seconds": round(seconds, 2),
        "calls_per_s": round(CONNECTIONS * CALLS / seconds),
        "first_connection_done_s": round(min(line.last_s for line in lines), 2),
        "last_connection_done_s": round(slowest.last_s, 2),
        "owner_idle_mb": round(idle, 1),
        "owner_peak_mb": round(memory, 1),
    }


def _until_ready(home: Home) -> None:
    """Wait for ruler and redactor, so that the load meets a running owner."""
    from osiris.doors import frames  # noqa: PLC0415  only here

    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        with connect_or_start(home, "doors") as door:
            door.settimeout(WITHIN_S)
            if frames.ask(door, "count", {}, b"[]")[0].get("ruler"):
                return
    raise TimeoutError("the ruler was never loaded")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    result = measure()
    if as_json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:26}{value:>12,}" if isinstance(value, int) else f"{name:26}{value:>12}")
    grown = float(str(result["owner_peak_mb"])) - float(str(result["owner_idle_mb"]))
    return 0 if result["unanswered"] == 0 and result["other"] == 0 and grown < GROWTH_MB else 1


if __name__ == "__main__":
    sys.exit(main())
