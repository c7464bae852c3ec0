"""Rows 11 to 14: clients that vanish, write rubbish, write too much, or never read."""

import json
import os
import random
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from bench import owners
from bench.client import BridgeClient
from bench.faults_stand import Line, must_live, timed_ask, worker
from bench.faults_tally import Tally, rss_mib

CUTS = 200
BRIDGE_CUTS = 6
BRIDGE_S = 2.0
IDLE_SHARE = 0.5  # of a core; an owner nobody talks to that takes more spins
RUBBISH = 600
TOO_LONG_BYTES = 100 * 1024 * 1024
GROWTH_MIB = 16.0
SLOW_S = 12.0
FAST_S = 5.0  # what another client waits at most beside one that never reads, on a busy machine
PARSE_ERROR, INVALID = -32700, -32600


def vanish(folder: Path, tally: Tally) -> None:
    """Cut connections at random bytes of a call, and kill and hang up bridges in the middle."""
    home = folder / "vanish"
    rng = random.Random(11)  # noqa: S311  places to cut, not secrets
    with worker(home, folder / "work") as at:
        record = must_live(home)
        before = _open_files(record.pid)
        for number in range(CUTS):
            if not tally.has_time:
                break
            _cut(home, at.task, number, rng)
            tally.tries += 1
        for number in range(BRIDGE_CUTS):
            _leave(home, folder / "work", number, tally)
        tally.expect("not well", holds=at.say("after") == "")
        owners.until(
            lambda: True if _open_files(record.pid) <= before + 2 else None, 10, "files stay open"
        )
        tally.crashed += must_live(home).pid != record.pid
        tally.expect("busy", holds=_busy_share(record.pid) < IDLE_SHARE)
        at.judge(home, tally)


def _cut(home: Path, task: str, number: int, rng: random.Random) -> None:
    with closing(Line(home)) as line:
        line.begin()
        said = {"kind": "fact", "task": task, "text": f"cut {number} {'x' * rng.randrange(400)}"}
        call = line.encoded("tools/call", {"name": "osiris_observe", "arguments": said})
        line.send(call[: rng.randrange(1, len(call) + 1)])


def _leave(home: Path, work: Path, number: int, tally: Tally) -> None:
    """Kill a bridge in the middle of a call, or hang up on it; it must be gone in BRIDGE_S."""
    client = BridgeClient(home, work)
    client.must_begin()
    client.send("plan", {"mode": "start", "objective": f"left {number}"})
    began = time.monotonic()
    if number % 2:
        client.kill()
    status = client.close()
    took = time.monotonic() - began
    tally.worst("longest_leave_s", took)
    tally.expect(f"a bridge took {took:.1f} s to leave", holds=took < BRIDGE_S)
    tally.crashed += status not in ({-9} if number % 2 else {0})
    tally.tries += 1


def _open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _busy_share(pid: int, seconds: float = 1.0) -> float:
    """Return which share of a core a process takes for a while."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


def rubbish(folder: Path, tally: Tally) -> None:
    """Send lines that are no requests; each is answered with its error, and the next call works."""
    home = folder / "rubbish"
    rng = random.Random(12)  # noqa: S311  rubbish, not secrets
    with worker(home, folder / "work") as at, closing(Line(home)) as line:
        record = must_live(home)
        line.begin()
        for number in range(RUBBISH):
            if not tally.has_time:
                break
            bad, codes = _bad(number, rng)
            line.send(bad + b"\n")
            reply = next(line.messages())
            code = reply.get("error", {}).get("code")
            tally.expect(f"{bad[:60]!r}: {json.dumps(reply)[:120]}", holds=code in codes)
            if number % 10 == 0:
                timed_ask(line, f"after {number}")
            tally.tries += 1
        at.say("after all")
        tally.crashed += must_live(home).pid != record.pid
        at.judge(home, tally)


def _bad(number: int, rng: random.Random) -> tuple[bytes, set[int]]:
    """Return a bad line and the codes that answer it."""
    call = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % (number + 1_000)
    kinds: tuple[tuple[bytes, set[int]], ...] = (
        (call[: rng.randrange(2, len(call) - 1)], {PARSE_ERROR}),
        (bytes(rng.choice(b'abc{}[]\x00\xff"') for _ in range(40)) + b"!", {PARSE_ERROR}),
        (b"[" + call + b"]", {INVALID}),
        (call.replace(b'"id":', b'"id":null,"x":'), {INVALID}),
        (call.replace(b'"id":', b'"id":1.5,"x":'), {INVALID}),
        (call.replace(b'"id":', b'"id":{"a":1},"x":'), {INVALID}),
        (b"[" * 5_000 + b"]" * 5_000, {PARSE_ERROR, INVALID}),
        (call[:-1] + b',"params":{"n":' + b"9" * 5_000 + b"}}", {PARSE_ERROR, INVALID}),
        (call[:-1] + b',"params":{"s":"\\ud800"}}', {PARSE_ERROR, INVALID}),
        (call[:-1] + b',"params":{"n":NaN}}', {PARSE_ERROR, INVALID}),
        (call[:-1] + b',"id":7}', {PARSE_ERROR, INVALID}),
        (b'"only text"', {PARSE_ERROR, INVALID}),
    )
    return kinds[number % len(kinds)]


def too_long(folder: Path, tally: Tally) -> None:
    """Send a line of 100 MiB, and another; each is refused while its rest is thrown away."""
    home = folder / "long"
    with worker(home, folder / "work") as at, closing(Line(home)) as line:
        record = must_live(home)
        line.begin()
        timed_ask(line, "before")
        before = rss_mib(record.pid)
        piece = b"x" * (1024 * 1024)
        for number in range(2):
            line.send(b'{"jsonrpc":"2.0","id":1,"method":"')
            for _ in range(TOO_LONG_BYTES // len(piece)):
                line.send(piece)
                tally.worst("rss_growth_mib", rss_mib(record.pid) - before)
            line.send(b"\n")
            reply = next(line.messages())
            tally.expect(f"answered {json.dumps(reply)[:120]}", holds="error" in reply)
            timed_ask(line, f"after {number}")
            tally.tries += 1
        growth = tally.figures["rss_growth_mib"]
        tally.expect(f"grew by {growth} MiB", holds=growth < GROWTH_MIB)
        tally.crashed += must_live(home).pid != record.pid
        at.judge(home, tally)


def never_read(folder: Path, tally: Tally) -> None:
    """Let a client call and never read, beside one that works."""
    home = folder / "slow"
    with worker(home, folder / "work") as at, closing(Line(home)) as stuck:
        record = must_live(home)
        stuck.begin()
        stuck.socket.setblocking(False)
        before, ends = rss_mib(record.pid), time.monotonic() + SLOW_S
        while time.monotonic() < ends:
            tally.tries += _pour(stuck)
            began = time.monotonic()
            tally.expect("refused", holds=at.say(f"fact {time.monotonic_ns()}") == "")
            tally.worst("longest_call_of_the_other_s", time.monotonic() - began)
        worst = tally.figures["longest_call_of_the_other_s"]
        tally.expect(f"another waited {worst} s", holds=worst < FAST_S)
        tally.worst("rss_growth_mib", rss_mib(record.pid) - before)
        tally.expect("grew", holds=tally.figures["rss_growth_mib"] < 4 * GROWTH_MIB)
        tally.crashed += must_live(home).pid != record.pid
        at.judge(home, tally)


def _pour(stuck: Line) -> int:
    """Send calls until the owner takes no more; return how many it took."""
    for sent in range(2_000):
        params: dict[str, Any] = {"name": "osiris_plan", "arguments": {"mode": "status"}}
        try:
            stuck.send(stuck.encoded("tools/call", params))
        except BlockingIOError:
            return sent
        except OSError:
            return 0  # it was hung up on, as it should be
    return 2_000
