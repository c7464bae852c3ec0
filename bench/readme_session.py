"""A real session for the README: two agents, one home, the command line, every reply as it came.

Rule 1: nothing is written by hand but the calls; replies are what the running program says.
Rule 2: it works on this checkout, in a home of its own that is removed afterwards.
Rule 3: only the places of home and checkout are replaced, by the ones a reader has.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio
from msgspec import Struct

from bench.owners import stop
from osiris.server.sdk_client import ToolCaller, connected

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-P", "-m", "osiris")
LIMIT_S = 300.0

READ = {"path": "osiris/core/prices.py"}
BUILD = {"command": "python build.py"}
FAILED = "ModuleNotFoundError: No module named 'yaml'"
RULES = """\
[[invariant]]
id = "tests-before-commit"
when = { tool = "git.commit" }
require = { state = "tests_passed" }
message = "Cannot commit while tests are failing"

[[invariant]]
id = "no-test-edit"
when = { path_glob = "tests/**" }
message = "Modifying test suites requires explicit approval"

[[example]]
call = { tool = "Edit", args = { file_path = "tests/test_cart.py" } }
expect = "block"
"""
NOTE = "the staging database is at postgres://app:cq7Zk2vTn9Wd@db.internal/app"
GOAL = "check that prices are rounded up everywhere"


class Call(Struct, frozen=True):
    """One tool call by one of the two agents; `{name}` is what an earlier reply named so."""

    tool: str
    args: dict[str, Any]
    by: str = "author"


OBSERVE: dict[str, Any] = {"kind": "action", "tool": "Bash", "args": BUILD}

# block of the README -> its calls, in the order of the session
SESSION: dict[str, tuple[Call, ...]] = {
    "plan": (
        Call(
            "plan",
            {
                "mode": "start",
                "objective": "round prices up, never down",
                "steps": ["read prices.py", "mend cost()", "run the tests"],
                "constraints": ["no new dependency"],
            },
        ),
        Call("plan", {"mode": "update", "step": 1, "done": True}),
    ),
    "observe": (
        Call("observe", {"kind": "action", "tool": "Read", "args": READ, **READ}),
        Call("observe", {"kind": "decision", "id": "d-ceil", "text": "round with math.ceil"}),
        Call("observe", {"kind": "decision", "id": "d-ceil", "text": "round with round()"}),
    ),
    "recall": (
        Call("recall", {"op": "grep", "ref": "{ref}", "q": "def \\w+\\(", "n": 3}),
        Call("recall", {"op": "range", "ref": "{ref}", "from": 1, "to": 3}),
        Call("recall", {"op": "memory", "q": "ceil"}),
    ),
    "precheck": (
        Call("precheck", {"tool": "Read", "args": READ}),
        Call("precheck", {"tool": "Bash", "args": {"command": "ls"}, "seal": "00000000000000ff"}),
    ),
    "loops": (
        *(Call("observe", {**OBSERVE, "ok": False, "result": FAILED}) for _ in range(3)),
        Call("precheck", {"tool": "Bash", "args": BUILD}),
    ),
    "dropped": (Call("observe", {"kind": "dropped", "ref": "{last_ref}"}),),
    "redaction": (
        Call("observe", {"kind": "fact", "scope": "project", "text": NOTE}),
        Call("recall", {"op": "memory", "q": "staging"}),
    ),
    "checkpoint": (
        Call("checkpoint", {"mode": "resume"}),
        Call("checkpoint", {"mode": "report"}),
    ),
    "handoff": (
        Call(
            "handoff",
            {"op": "offer", "to": "reviewer", "goal": GOAL, "inputs": ["{ref}"], "budget": "20000"},
        ),
        Call("handoff", {"op": "list", "agent": "reviewer"}, "reviewer"),
        Call(
            "handoff",
            {"op": "accept", "contract": "{contract}", "agent": "reviewer"},
            "reviewer",
        ),
        Call(
            "handoff",
            {"op": "return", "contract": "{contract}", "result": "cost() rounds up; tested"},
            "reviewer",
        ),
        Call("handoff", {"op": "verify", "contract": "{contract}"}),
    ),
    "errors": (
        Call("recall", {"op": "grep", "ref": "{ref}", "q": "(?<=a)b"}),
        Call("observe", {"kind": "lesson", "txt": "x"}),
    ),
}

# block of the README -> what is typed after the session; `{name}` as above
PIPE = "python -m dis osiris/core/canon.py | osiris put --tool bash"
TYPED: dict[str, tuple[str, ...]] = {
    "cli": (
        "osiris health",
        "osiris tasks",
        "osiris show {task}",
        "osiris events {task} --limit 6",
        "osiris savings",
        "osiris audit --task {task}",
        PIPE,
        "osiris grep 'LOAD_ATTR.*sha256' {piped}",
        "osiris config show --origin",
    ),
    "invariants": (
        "cat .osiris/invariants.toml",
        "osiris invariants check",
        "osiris invariants explain 'git add . && git commit -m fix'",
        "osiris invariants test",
    ),
    "keep": (
        "osiris verify --deep",
        "osiris backup ~/osiris-backup",
        "osiris export ~/prices.bundle --task {task}",
        "osiris restore ~/osiris-backup --force",
    ),
}


def examples() -> dict[str, str]:
    """Run the session and return the README's example blocks by name."""
    with tempfile.TemporaryDirectory(prefix="osiris-readme-") as folder:
        user = Path(folder).resolve()
        try:
            return trio.run(_run, user)
        finally:
            stop(user / ".osiris")


async def _run(user: Path) -> dict[str, str]:
    """Hold the session as a user whose folder is `user`."""
    environ = {key: text for key, text in os.environ.items() if not key.startswith("OSIRIS_")}
    environ |= {"HOME": str(user), "OSIRIS_ROOTS": "@project"}
    with trio.fail_after(LIMIT_S):
        async with (
            connected(COMMAND, environ, str(ROOT), name="claude-code") as author,
            connected(COMMAND, environ, str(ROOT), name="codex") as reviewer,
        ):
            agents = {"author": author, "reviewer": reviewer}
            names: dict[str, str] = {}
            found = {
                block: "\n\n".join([await _told(call, agents, names) for call in calls])
                for block, calls in SESSION.items()
            }
        shop = user / "shop"
        (shop / ".osiris").mkdir(parents=True)
        (shop / ".osiris" / "invariants.toml").write_text(RULES)
        for block, lines in TYPED.items():
            place = shop if block == "invariants" else ROOT
            typed = [_typed(line, place, environ, names) for line in lines]
            found[block] = "\n\n".join(typed)
    return {block: _placed(text, user) for block, text in found.items()}


async def _told(call: Call, agents: Mapping[str, ToolCaller], names: dict[str, str]) -> str:
    """Make one call and return it with its reply."""
    args: dict[str, Any] = json.loads(_filled(json.dumps(call.args), names))
    text, _ = await agents[call.by].call(f"osiris_{call.tool}", args)
    for word in text.partition("\n")[0].split(" "):
        name, equals, value = word.partition("=")
        if equals and name in ("task", "ref", "contract"):
            names.setdefault(name, value)
            names[f"last_{name}"] = value
    who = f"({call.by}) " if call.by != "author" else ""
    return f"> {who}osiris_{call.tool} {json.dumps(args, ensure_ascii=False)}\n{text}"


def _typed(line: str, place: Path, environ: Mapping[str, str], names: dict[str, str]) -> str:
    """Run one line in `place` as a shell would, and return it with what it printed."""
    shown = _filled(line, names)
    meant = shown.replace("osiris ", f"{' '.join(COMMAND)} ", 1)
    if line == PIPE:
        made, _, put = shown.partition(" | osiris ")
        meant = f"{made.replace('python', sys.executable)} | {' '.join(COMMAND)} {put}"
    done = subprocess.run(
        ["sh", "-c", meant],
        cwd=place,
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    if line == PIPE:
        names["piped"] = done.stdout.partition("ref=")[2].split()[0]
    return f"$ {shown}\n{done.stdout.rstrip()}"


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _placed(text: str, user: Path) -> str:
    """Return `text` with the reader's folder and checkout in place of ours."""
    return text.replace(str(user), "~").replace(str(ROOT), "~/osiris")
