"""What the README's session calls and types, in its order; the replies are made by a real run.

Rule 1: `{name}` in a text is what an earlier reply named so, or a text of `TEXTS`.
Rule 2: a block of the README is a key of SESSION or of TYPED.
"""

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

ROOT = Path(__file__).parents[1]

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
COMMIT = {"command": "git add . && git commit -m fix"}
PYTEST = {"command": "python -m pytest -q"}
HEAD = "You are a careful engineer. It is 2026-11-30T{}Z.\nAnswer in plain words.\n"
USAGE = {
    "model": "claude-sonnet-4-5",
    "input_tokens": 2_100,
    "cache_read_input_tokens": 58_000,
    "cache_creation_input_tokens": 1_400,
    "output_tokens": 350,
    "context_window": 200_000,
}
TOOLS = [
    {"name": "find_symbol", "description": "Find where a function or class is defined"},
    {"name": "run_tests", "description": "Run the tests of a folder"},
    {"name": "edit_file", "description": "Replace text in a file"},
    {"name": "http_get", "description": "Fetch a page"},
    {"name": "git_log", "description": "List the commits that changed a file"},
]
SEEN_FILE = {"kind": "file", "path": "osiris/core/loop_rules.py"}
TEXTS = {
    "ledger": (ROOT / "osiris/core/ledger.py").read_text("utf-8"),
}
NOTE = "the staging database is at postgres://app:cq7Zk2vTn9Wd@db.internal/app"
GOAL = "check that prices are rounded up everywhere"


class Call(Struct, frozen=True):
    """One tool call by one of the agents; `{name}` is what an earlier reply named so."""

    tool: str
    args: dict[str, Any]
    by: str = "author"


SHOW: dict[str, Any] = {
    "kind": "action",
    "tool": "Bash",
    "args": {"command": "cat osiris/core/ledger.py"},
}
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
    "memory": (
        Call("observe", {"kind": "lesson", "id": "ceil", "text": "prices are rounded up"}),
        Call("observe", {"kind": "lesson", "id": "ceil", "text": "prices are rounded up, once"}),
        Call("observe", {"kind": "lesson", "id": "ceil", "scope": "project"}),
        Call("recall", {"op": "memory", "q": "ceil"}, "reviewer"),
        Call("recall", {"op": "memory", "q": "failure:"}),
        Call("recall", {"op": "memory", "q": "superseded:"}),
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
    "files": (
        Call("observe", SEEN_FILE),
        Call("observe", SEEN_FILE),
    ),
    "head": (
        Call("observe", {"kind": "head", "result": HEAD.format("09:41:12")}),
        Call("observe", {"kind": "head", "result": HEAD.format("09:47:55")}),
    ),
    "context": (
        Call("observe", {**SHOW, "ok": True, "result": "{ledger}"}),
        Call("plan", {"mode": "update", "step": 2, "done": True}),
        Call("observe", {"kind": "usage", "args": USAGE}),
        Call("plan", {"mode": "status"}),
        Call("checkpoint", {"mode": "compact"}),
    ),
    "compass": (
        Call("observe", {"kind": "contract", "result": json.dumps({"tools": TOOLS})}),
        Call("plan", {"mode": "status", "query": "where is this function defined"}),
    ),
    "rules": (
        Call("plan", {"mode": "start", "objective": "mend the cart"}, "shop"),
        Call("precheck", {"tool": "Bash", "args": COMMIT}, "shop"),
        Call("observe", {"kind": "action", "tool": "Bash", "args": PYTEST, "ok": True}, "shop"),
        Call("precheck", {"tool": "Bash", "args": COMMIT}, "shop"),
        Call("precheck", {"tool": "Edit", "args": {"file_path": "tests/test_cart.py"}}, "shop"),
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
    "savings": (
        "osiris savings --by task",
        "osiris savings --by tool",
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
