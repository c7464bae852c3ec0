"""A home with thousands of tasks: `python -m bench.large --tasks 10000 --json`.

Every question a person may ask is asked of its owner by the real command, while a client calls
without a pause: how long the answer took, and how long the client waited at most meanwhile. The
audit is asked once more of the store with no owner.

Rule 1: a question that is not answered, or not whole, is a problem; so is a wait above WAIT_MS.
Rule 2: exit code 1 when there is a problem, each on stderr.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import trio

from bench import idle, owners
from bench.client import BridgeClient
from bench.latency_stand import read
from osiris.home import Home

OSIRIS = (sys.executable, "-P", "-m", "osiris")
WAIT_MS = 250.0
ANSWER_S = 300.0


class Row(msgspec.Struct, frozen=True):
    """One question: seconds to the answer, and milliseconds the client waited at most."""

    question: str
    seconds: float
    others_ms: float
    status: int


class Client:
    """Calls precheck without a pause, in a thread of its own."""

    def __init__(self, home: Path) -> None:
        self._bridge = BridgeClient(home, home)
        self._bridge.must_begin()
        self._bridge.must("plan", {"mode": "start", "objective": "work on"})
        self._is_over = False
        self._longest_s = 0.0
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def longest_ms(self) -> float:
        """Return the longest wait since the last question, and begin anew."""
        longest_s, self._longest_s = self._longest_s, 0.0
        if self._failed is not None:
            raise self._failed
        return round(longest_s * 1000, 1)

    def close(self) -> None:
        self._is_over = True
        self._thread.join()
        self._bridge.close()

    def _work(self) -> None:
        number = 0
        try:
            while not self._is_over:
                number += 1
                took_s = self._bridge.timed("precheck", read(number))
                self._longest_s = max(self._longest_s, took_s)
        except Exception as error:  # noqa: BLE001  raised in the thread that asks
            self._failed = error


def run(tasks: int) -> tuple[list[Row], list[str]]:
    """Return a row for each question, and what is wrong."""
    with owners.home_folder(owners.disk()) as home:
        trio.run(idle.make, Home(str(home)), tasks)
        alone, audited = _ask(home, ("audit",))
        with closing(Client(home)) as client:
            rows, problems = _questions(home, client, tasks)
        rows.append(msgspec.structs.replace(alone, question="audit, no owner"))
        problems += [] if audited.get("lossless") else ["audit, no owner: not lossless"]
    slow = [row for row in rows if row.others_ms > WAIT_MS]
    failed = [row for row in rows if row.status]
    problems += [f"{row.question}: others waited {row.others_ms:,.0f} ms" for row in slow]
    problems += [f"{row.question}: exit code {row.status}" for row in failed]
    return rows, problems


def _questions(home: Path, client: Client, tasks: int) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []

    def ask(*argv: str) -> dict[str, Any]:
        client.longest_ms()
        row, said = _ask(home, argv)
        rows.append(msgspec.structs.replace(row, others_ms=client.longest_ms()))
        return said

    listed = ask("tasks", "--all-projects")
    some = listed["tasks"][-1]["task"]
    happened = ask("events", some)["events"]
    [ref] = [event["sha256"] for event in happened if event["kind"] == "RefStored"]
    for argv in (("get", f"mem://{ref[:12]}"), ("show", some), ("health",)):
        ask(*argv)
    for by in ("day", "task", "tool", "agent"):
        ask("savings", "--by", by)
    audited = ask("audit")
    ask("verify")
    ask("backup", str(home / "copy"))
    ask("export", str(home / "bundle"))
    problems = [] if listed["of"] == tasks + 1 else [f"tasks: {listed['of']} of {tasks + 1}"]
    problems += [] if audited["lossless"] else ["audit: not lossless"]
    return rows, problems


def _ask(home: Path, argv: tuple[str, ...]) -> tuple[Row, dict[str, Any]]:
    began = time.monotonic()
    done = subprocess.run(
        (*OSIRIS, *argv, "--json"),
        capture_output=True,
        timeout=ANSWER_S,
        check=False,
        env=owners.environ_for(home),
    )
    question = " ".join(word for word in argv if not word.startswith(("/", "mem://")))
    row = Row(question, round(time.monotonic() - began, 2), 0.0, done.returncode)
    return row, json.loads(done.stdout or b"{}")


def _table(rows: list[Row]) -> str:
    head = f"{'question':<24}{'seconds':>10}{'others waited':>16}"
    return "\n".join(
        [head, *(f"{r.question:<24}{r.seconds:>10.2f}{r.others_ms:>13.0f} ms" for r in rows)]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="questions about a home with thousands of tasks")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--json", action="store_true", help="print JSON alone on stdout")
    args = parser.parse_args()
    rows, problems = run(args.tasks)
    said = {"tasks": args.tasks, "rows": msgspec.to_builtins(rows), "problems": problems}
    print(json.dumps(said) if args.json else _table(rows))
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
