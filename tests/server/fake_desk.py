"""A desk with the real interface that remembers what it was asked; runnable as the command line.

`python -m tests.server.fake_desk ARGS` is `osiris ARGS` over such a desk.
"""

import hashlib
import io
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from osiris.cli import app
from osiris.cli.context import Context
from osiris.config import Loaded, Settings
from osiris.home import Home

if TYPE_CHECKING:
    import pytest

Args = Mapping[str, Any]
Answer = tuple[dict[str, Any], bytes]

HOSTILE = "fix \x1b[31mżółw\u202e 中文 of the shell that starts slowly since the update \U0001f600"
TEXT = "".join(f"{n}: żółw line \x1b[1m\n" for n in range(1, 20_001)).encode()
SHA256 = hashlib.sha256(TEXT).hexdigest()
REF = f"mem://{SHA256[:12]}"

ANSWERS: dict[str, dict[str, Any]] = {
    "health": {
        "ok": True,
        "version": "0.1.0",
        "pid": 4711,
        "home": "/nowhere",
        "store_id": "5" * 32,
        "ruler_ready": True,
        "tasks_resident": 3,
        "quarantined": {},
        "starts": 1_234,
        "trouble": None,
        "copied_from": "",
        "rules": {},
    },
    "tasks": {
        "tasks": [
            {
                "task": "7c3f90d1",
                "project": "ab" * 8,
                "objective": HOSTILE,
                "status": "open",
                "at_ms": 1_000,
                "by": "claude-code-3407",
            },
            {
                "task": "00ff00ff",
                "project": "cd" * 8,
                "objective": "short",
                "status": "done",
                "at_ms": 2_000,
                "by": "codex-1111",
            },
        ],
        "of": 2,
    },
    "show": {
        "task": "7c3f90d1",
        "objective": HOSTILE,
        "status": "open",
        "seal": "3f9a1c5e8d21c21b",
        "version": 11,
        "steps": 2,
        "steps_done": 1,
        "constraints": 4,
        "decisions": 1,
        "notes": 0,
        "actions": 12,
        "refs": 9,
        "calls": 1_200,
        "redacted_items": 0,
        "kept_out": 123_456,
        "kept_out_declared": 0,
        "overhead": 7_890,
        "overhead_by_kind": {"reply": 7_890},
        "net": 115_566,
        "approvals": [],
        "plan": [{"text": "read", "done": True}, {"text": HOSTILE, "done": False}],
        "manifest": 'OSIRIS/1 task=7c3f90d1 obj="…" plan=1/2',
    },
    "events": {
        "stream": "task/7c3f90d1",
        "events": [
            {"version": 1, "kind": "TaskStarted", "at_ms": 1, "by": "a-1", "objective": HOSTILE},
            {"version": 2, "kind": "RefStored", "at_ms": 2, "by": "b-2", "sha256": SHA256},
        ],
    },
    "audit": {
        "scope": "store",
        "ok": True,
        "lossless": True,
        "items_externalized": 1_200,
        "items_verified": 1_200,
        "items_missing": 0,
        "missing": [],
        "integrity_violations": [],
        "events": 34_567,
        "streams": 12,
        "records": 99_000,
        "redacted_items": 1,
        "ledger_balance": 0,
        "unclean_stops": 0,
    },
    "savings": {
        "kept_out": {"receipt": 123_456, "declared": 500, "estimated": 0},
        "overhead": {"reply": 890, "schema": 7_000},
        "calls": 1_200,
        "net": 115_566,
        "balance": 0,
        "factor": {"usual": 1.2, "low": 1.0, "high": 1.36, "how": "prior", "observations": 0},
        "rows": [],
    },
    "put": {
        "ref": f"mem://sha256:{SHA256}",
        "tokens": 9,
        "size": len(TEXT),
        "text": f"ok ref={REF} tokens=9\n[text: 20,000 lines]",
        "is_error": False,
    },
    "approve": {"task": "7c3f90d1", "rule": "no-test-edit", "until_ms": 600_000, "for_s": 600},
    "get": {"ref": f"mem://sha256:{SHA256}", "size": len(TEXT), "tool": "Bash"},
    "grep": {"shown": 1, "of": 20_000, "cursor": "x.1", "partial": True},
}
BODIES = {"get": TEXT, "grep": TEXT.splitlines(keepends=True)[0]}


class FakeDesk:
    """Answers from `answers`; an exception among them is raised."""

    def __init__(self, **answers: dict[str, Any] | Exception) -> None:
        self.answers: dict[str, dict[str, Any] | Exception] = {**ANSWERS, **answers}
        self.asked: list[tuple[str, dict[str, Any], bytes]] = []

    def ask(self, op: str, args: Args, body: bytes = b"") -> Answer:
        self.asked.append((op, dict(args), body))
        answer = self.answers[op]
        if isinstance(answer, Exception):
            raise answer
        data = b"" if "error" in answer else BODIES.get(op, b"")
        return {**answer, "body_bytes": len(data)}, data


def new_context(desk: FakeDesk) -> Context:
    settings = Loaded(Settings("/nowhere"), dict.fromkeys(Settings.__struct_fields__, "default"))
    return Context(Home("/nowhere"), settings, desk.ask, lambda: True, lambda: 0)


class Cli:
    """Runs commands over `desk`; `said` and `told` are stdout and stderr of the last one."""

    def __init__(
        self, capture: "pytest.CaptureFixture[bytes]", monkeypatch: "pytest.MonkeyPatch"
    ) -> None:
        self.desk = FakeDesk()
        self.change: Callable[[Context], Context] = lambda context: context
        self.said = self.told = ""
        self.raw = b""
        self._capture = capture
        self._monkeypatch = monkeypatch

    def run(self, *argv: str, piped: bytes = b"text") -> int:
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
        code = app.main(lambda: self.change(new_context(self.desk)), argv)
        self.raw, told = self._capture.readouterr()
        self.said, self.told = self.raw.decode(), told.decode()
        return code

    def json(self, *argv: str, piped: bytes = b"text") -> tuple[int, dict[str, Any]]:
        code = self.run(*argv, "--json", piped=piped)
        answer: dict[str, Any] = json.loads(self.said)
        return code, answer


if __name__ == "__main__":
    sys.exit(app.main(lambda: new_context(FakeDesk()), sys.argv[1:]))
