"""Rules and calls that the tests of invariants share."""

from typing import Any

from osiris.core.errors import Refusal
from osiris.core.invariant_calls import ToolCall
from osiris.core.invariant_rules import Rules
from osiris.core.invariant_states import Newest, Standing
from osiris.core.invariants import Finding, RuleFacts, judge, parse

# seed 8, word for word
SEED = b"""\
[[invariant]]
id = "tests-before-commit"
when = { tool = "git.commit" }
require = { state = "tests_passed" }
message = "Cannot commit while tests are failing"

[[invariant]]
id = "no-test-edit"
when = { path_glob = "tests/**" }
verdict = "block"
message = "Modifying test suites requires explicit approval"
"""
# every key there is
FULL = """
[[invariant]]
id = "a"
when = { tool = ["git.push", "git.tag"], path_glob = "src/**", agent = "codex*" }
require = { state = ["tests_passed", "built"] }
verdict = "warn"
message = "no"

[[invariant]]
id = "b"
when = { args = { force = true, n = ["1", "2"], m = 3, env = "prod*" } }
require = { state = "built" }

[[state]]
name = "built"
set_by = "make.all"
cleared_by = ["src/**"]
cleared_by_tool = "git.pull"
files = []

[[check]]
id = "unit"
command = "make test"

[[check]]
id = "types"
command = ["mypy", "--strict"]
cwd = "src"
timeout_s = 60

[[example]]
call = { tool = "Bash", args = { command = "git push" }, agent = "codex-1" }
states = ["built"]
expect = "allow"
rule = "a"
"""
ROOT = "/home/me/project"
NOW_MS = 1_000_000
PASSED = {"tests_passed": Standing(NOW_MS, ok=True, by="pytest")}
UNCHANGED = {"tests_passed": Newest("src/a.py", NOW_MS)}


def rules(text: str | bytes = SEED) -> Rules:
    found = parse(text.encode() if isinstance(text, str) else text)
    assert isinstance(found, Rules), found
    return found


def refusal(text: str | bytes) -> Refusal:
    found = parse(text.encode() if isinstance(text, str) else text)
    assert isinstance(found, Refusal)
    return found


def rule(when: str, more: str = "") -> Rules:
    """Return the rules of a file with one rule, `r`."""
    return rules(f"[[invariant]]\nid = 'r'\nwhen = {{ {when} }}\n{more}")


def call(tool: str, **args: Any) -> ToolCall:
    return ToolCall(tool, args, roots=(ROOT,))


def bash(command: str) -> ToolCall:
    return call("Bash", command=command)


def findings(
    known: Rules,
    asked: ToolCall,
    states: dict[str, Standing] | None = None,
    facts: RuleFacts | None = None,
) -> tuple[Finding, ...]:
    return judge(known, asked, states or {}, facts or RuleFacts())


def fired(known: Rules, asked: ToolCall) -> list[str]:
    """Return the rules that are for a call, while no state holds."""
    return [found.rule for found in findings(known, asked)]
