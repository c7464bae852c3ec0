"""`osiris demo`: a real job, a killed owner, and what it cost and saved.

Rule 1: it works in a temporary home and leaves nothing behind.
Rule 2: the numbers are the ledger's, checked against a second count made here; where the two
        differ by more than the joins between texts explain, the demo fails.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import trio

from osiris.cli import demo_material, demo_table
from osiris.cli.demo_job import Ask, DemoError, Job, Outside, ToolCaller
from osiris.cli.demo_result import Result, Tally
from osiris.config import project_id
from osiris.core import ledger, refs
from osiris.core.modes import mode_of
from osiris.groups import leaves
from osiris.home import Home

HOST = "whole"
CAPPED = ("claude-code", "codex")

TOLERANCE = 0.01  # the texts are counted apart here and joined there


class Connect(Protocol):
    """Starts a command and connects the SDK's client to it."""

    def __call__(
        self, command: tuple[str, ...], env: dict[str, str], cwd: str, *, name: str
    ) -> AbstractAsyncContextManager[ToolCaller]: ...


class AskAt(Protocol):
    """Asks the owner of a home, starting one when needed."""

    def __call__(
        self, home: Home, op: str, args: Mapping[str, Any], body: bytes
    ) -> tuple[dict[str, Any], bytes]: ...


def run(connect: Connect, ask_at: AskAt, *, as_json: bool) -> int:
    """Run the demo; 0 when everything it promises held."""
    folder = Path(tempfile.mkdtemp(prefix="osiris-demo-"))
    result: Result | str = "interrupted"
    try:
        result = trio.run(_demo, connect, ask_at, folder, as_json)
    except* Exception as group:  # noqa: BLE001  its own top: whatever failed is one line
        result = "; ".join(f"{type(error).__name__}: {error}" for error in leaves(group))
    finally:
        _leave(folder)
    if isinstance(result, str):
        failed = json.dumps({"ok": False, "error": result}) if as_json else f"FAILED: {result}"
        sys.stdout.write(failed + "\n")
        return 1
    sys.stdout.write(json.dumps(as_dict(result)) + "\n" if as_json else demo_table.show(result))
    return 0 if result.is_ok else 1


async def _demo(connect: Connect, ask_at: AskAt, folder: Path, as_json: bool) -> Result:  # noqa: FBT001  trio.run passes by position
    began = time.perf_counter()
    project = folder / "project"
    project.mkdir()
    home = Home(str(folder / "home"))
    ask = partial(ask_at, home)
    env = {"OSIRIS_HOME": home.root, "OSIRIS_ROOTS": str(demo_material.stdlib())}
    say = _silent if as_json else _narrate
    command = (sys.executable, "-P", "-m", "osiris")
    async with (
        connect(command, env, str(project), name=HOST) as first,
        connect(command, env, str(project), name=HOST) as second,
    ):
        outside = Outside(ask, lambda: _owner(home), project_id(str(project)), say)
        job = Job(first, second, outside)
        task = await job.run()
        say("audit every stored byte")
        return await trio.to_thread.run_sync(_settle, job.tally, ask, task, outside.project, began)


def _settle(tally: Tally, ask: Ask, task: str, project: str, began: float) -> Result:
    """Ask the ledger, count again, look for every acknowledged change, and audit."""
    savings, _ = ask("savings", {}, b"")
    sizes = _count(ask, [payload.text for payload in tally.payloads])
    spoken = sum(_count(ask, tally.spoken))
    baseline = sum(sizes)
    overhead = sum(savings["overhead"].values())
    if savings["kept_out"]["receipt"] != baseline - _delivered(sizes):
        raise DemoError(f"the ledger kept out {savings['kept_out']}, the demo {baseline}")
    used = overhead + _delivered(sizes)
    if abs(used - spoken) > TOLERANCE * spoken:
        raise DemoError(f"the ledger charged {overhead}, the demo counted {spoken}")
    audit, _ = ask("audit", {}, b"")
    return Result(
        baseline_tokens=baseline,
        osiris_tokens=baseline - savings["net"],
        tally=tally,
        acked_lost=len(set(tally.acknowledged) - _stored(ask, task, project)),
        audit=audit,
        capped={host: _capped(tally, sizes, host) - used for host in CAPPED},
        overhead=savings["overhead"],
        seconds=round(time.perf_counter() - began, 1),
    )


def _delivered(sizes: list[int]) -> int:
    """Return the tokens of files so short that they were delivered whole."""
    return sum(tokens for tokens in sizes if tokens <= mode_of((tokens,)).stub_above)


def _stored(ask: Ask, task: str, project: str) -> set[str]:
    """Return the names of the changes that are in the journal."""
    found: set[str] = set()
    for where in ({"task": task}, {"stream": f"project/{project}"}):
        events, _ = ask("events", {**where, "limit": 10_000}, b"")
        for event in events["events"]:
            match event["kind"]:
                case "RefStored":
                    found.add(refs.short(event["sha256"]))
                case "StepMarked":
                    found.add(f"step {event['step']}")
                case "DecisionPinned":
                    found.add(event["id"])
                case "HandoffOffered":
                    found.add(event["contract"])
                case _:
                    pass
    return found


def _capped(tally: Tally, sizes: list[int], host: str) -> int:
    return sum(
        ledger.shown_anyway(tokens, len(payload.text), host, payload.tool)
        for payload, tokens in zip(tally.payloads, sizes, strict=True)
    )


def _count(ask: Ask, texts: list[str]) -> list[int]:
    head, _ = ask("count", {}, json.dumps(texts).encode())
    if head["methods"] != ["exact"]:
        raise DemoError(f"the ruler was not loaded: {head}")
    return list(head["tokens"])


def as_dict(result: Result) -> dict[str, Any]:
    """Return the result as `--json` prints it."""
    return {
        "ok": result.is_ok,
        "baseline_tokens": result.baseline_tokens,
        "osiris_tokens": result.osiris_tokens,
        "net_tokens": result.net_tokens,
        "net_pct": result.net_pct,
        "net_tokens_capped": result.capped,
        "overhead": result.overhead,
        "facts_needed": result.tally.facts_needed,
        "facts_found": result.tally.facts_found,
        "handoff": result.tally.handoff,
        "owner_killed": result.tally.owner_killed,
        "acked": len(result.tally.acknowledged),
        "acked_lost": result.acked_lost,
        "audit": result.audit,
        "ruler": "o200k_base",
        "seconds": result.seconds,
    }


def _owner(home: Home) -> int:
    record = home.record()
    if record is None:
        raise DemoError("no owner is running")
    return record.pid


def _leave(folder: Path) -> None:
    """Stop the demo's owner and remove its home."""
    record = Home(str(folder / "home")).record()
    if record is not None:
        with suppress(ProcessLookupError):
            os.kill(record.pid, signal.SIGTERM)
    shutil.rmtree(folder, ignore_errors=True)


def _narrate(what: str) -> None:
    sys.stderr.write(f"  {what}\n")


def _silent(_: str) -> None:
    pass
