"""What the rules say to a call: the seed's own file, states, approvals, examples."""

import pytest

from osiris.core.invariant_calls import ToolCall
from osiris.core.invariant_states import Newest, Standing
from osiris.core.invariants import (
    Approval,
    Finding,
    RuleFacts,
    explain,
    required_states,
    try_examples,
)
from tests.core.invariant_cases import (
    NOW_MS,
    PASSED,
    ROOT,
    SEED,
    UNCHANGED,
    bash,
    call,
    findings,
    fired,
    refusal,
    rule,
    rules,
)

RUN_THEM = "run the tests by themselves (no | or || or ; behind them), then try again"


@pytest.mark.promise("S8-invariants")
def test_the_seeds_file_blocks_a_commit_while_the_tests_have_not_passed() -> None:
    assert findings(rules(SEED), bash("cd x && git commit -m y")) == (
        Finding(
            rule="tests-before-commit",
            verdict="block",
            message="Cannot commit while tests are failing",
            evidence="tests_passed was never set",
            action=RUN_THEM,
        ),
    )


@pytest.mark.promise("S8-invariants")
def test_the_seeds_file_blocks_a_change_of_the_tests_and_names_who_may_allow_it() -> None:
    found = findings(
        rules(SEED),
        call("Edit", file_path=f"{ROOT}/tests/a.py", old_string="a", new_string="b"),
        facts=RuleFacts(task="7c3f"),
    )

    assert found == (
        Finding(
            rule="no-test-edit",
            verdict="block",
            message="Modifying test suites requires explicit approval",
            evidence="the rule is for tests/a.py",
            action="ask a person to allow it: osiris approve no-test-edit --task 7c3f --for 10m",
        ),
    )


def test_a_commit_is_free_while_the_state_holds_and_no_file_is_newer() -> None:
    assert findings(rules(), bash("git commit"), PASSED, RuleFacts(newest=UNCHANGED)) == ()


@pytest.mark.parametrize(
    ("standing", "newest", "evidence"),
    [
        (None, None, "tests_passed was never set"),
        (Standing(1, ok=False, by="pytest failed"), None, "does not hold: pytest failed"),
        (Standing(5, ok=True), None, "is stale: its files could not be looked up"),
        (Standing(5, ok=True), Newest("src/a.py", 6), "is stale: src/a.py changed after it"),
        (Standing(5, ok=True), Newest("x\x1b[2J", 6), "is stale: x\\u001b[2J changed after it"),
        (Standing(5, ok=True), Newest(too_many=True), "is stale: more than 20,000 files"),
    ],
)
def test_a_state_that_does_not_hold_says_why(
    standing: Standing | None, newest: Newest | None, evidence: str
) -> None:
    states = {} if standing is None else {"tests_passed": standing}
    looked_up = {} if newest is None else {"tests_passed": newest}

    [found] = findings(rules(), bash("git commit"), states, RuleFacts(newest=looked_up))

    assert evidence in found.evidence
    assert found.action == RUN_THEM


def test_of_several_required_states_each_is_told() -> None:
    both = rule("tool = 'git.push'", "require = { state = ['tests_passed', 'lint_passed'] }")

    [found] = findings(both, bash("git push"))

    assert found.evidence == "tests_passed was never set; lint_passed was never set"


def test_a_rule_may_only_warn_and_every_rule_has_its_say() -> None:
    both = rules(
        b"[[invariant]]\nid='a'\nwhen={tool='git.push'}\nverdict='warn'\n"
        b"[[invariant]]\nid='b'\nwhen={tool='git.*'}"
    )

    assert [(one.rule, one.verdict) for one in findings(both, bash("git push"))] == [
        ("a", "warn"),
        ("b", "block"),
    ]


@pytest.mark.parametrize(
    ("approval", "lifts"),
    [
        (Approval("no-test-edit", "7c", NOW_MS + 1), True),
        (Approval("no-test-edit", "7c", NOW_MS), False),
        (Approval("no-test-edit", "8d", NOW_MS + 1), False),
        (Approval("other", "7c", NOW_MS + 1), False),
    ],
)
def test_an_approval_lifts_its_rule_for_its_task_until_its_time(
    approval: Approval, *, lifts: bool
) -> None:
    facts = RuleFacts("7c", NOW_MS, approvals=(approval,))

    assert (findings(rules(), bash("rm -r tests"), facts=facts) == ()) is lifts


@pytest.mark.parametrize(
    "asked",
    [
        bash("osiris approve no-test-edit --task 7c --for 10m"),
        bash("true && .venv/bin/osiris --json approve x"),
        bash("python -m osiris approve x"),
        bash("uvx mcp-osiris approve x"),
        call("osiris.approve", rule="x"),
        call("mcp__osiris__osiris_approve", rule="x"),
    ],
)
@pytest.mark.parametrize("file", [b"", SEED])
def test_no_agent_approves_whatever_the_file_says_and_whoever_has_approved(
    asked: ToolCall, file: bytes
) -> None:
    facts = RuleFacts("7c", 0, approvals=(Approval("osiris.approve", "7c", NOW_MS),))

    [found] = findings(rules(file), asked, facts=facts)

    assert (found.rule, found.verdict) == ("osiris.approve", "block")


@pytest.mark.parametrize(
    "asked",
    [
        call("Write", file_path=f"{ROOT}/.osiris/invariants.toml", content=""),
        call("edit_file", path=".OSIRIS\\Invariants.toml"),
        bash("echo > .osiris/invariants.toml"),
        bash("cd .osiris && sed -i s/block/warn/ invariants.toml"),
        bash("rm -rf .osiris"),
        call("apply_patch", input="*** Begin Patch\n*** Delete File: .osiris/invariants.toml\n"),
    ],
)
def test_agents_do_not_rewrite_the_rules_but_may_write_the_first(asked: ToolCall) -> None:
    assert fired(rules(SEED), asked) == ["osiris.rules"]
    assert fired(rules(b""), asked) == []


def test_reading_the_rules_is_free() -> None:
    assert fired(rules(), call("Read", file_path=f"{ROOT}/.osiris/invariants.toml")) == []
    assert fired(rules(), bash("cat .osiris/invariants.toml")) == []


def test_a_call_too_large_to_be_read_whole_is_taken_for_the_worst() -> None:
    asked = bash("true; " * 10_000 + "git commit")

    assert fired(rules(), asked) == ["osiris.rules", "tests-before-commit", "no-test-edit"]
    assert fired(rules(b""), asked) == []
    assert {(one.evidence, one.action) for one in findings(rules(), asked)} == {
        ("a call too long to be read whole", "make it shorter, or put it into a script")
    }


def test_only_the_states_that_a_call_needs_are_looked_up() -> None:
    assert required_states(rules(), bash("git commit")) == ("tests_passed",)
    assert required_states(rules(), bash("git status")) == ()
    assert required_states(rules(), bash("rm tests/a")) == ()


def test_an_explanation_says_how_a_call_is_read_and_what_it_meets() -> None:
    assert explain(rules(), bash("git commit -m x | cat > tests/log")) == (
        "read as bash, git, git.commit, git.commit.x, exit status not reported",
        "read as bash, cat, changes tests/log",
        "block unless tests_passed: tests-before-commit (git.commit)",
        "  Cannot commit while tests are failing",
        "block: no-test-edit (tests/log)",
        "  Modifying test suites requires explicit approval",
    )
    assert explain(rules(), bash("pytest")) == (
        "read as bash, pytest",
        "allow: no rule is for this call",
        "if it succeeds: tests_passed holds",
    )


EXAMPLE = """
[[example]]
call = { tool = "Bash", args = { command = "git commit" } }
expect = "block"
rule = "tests-before-commit"

[[example]]
call = { tool = "Bash", args = { command = "git commit" } }
states = ["tests_passed"]
expect = "allow"

[[example]]
call = { tool = "Edit", args = { file_path = "tests/a.py" }, agent = "codex-1" }
expect = "warn"

[[example]]
call = { tool = "Edit", args = { file_path = "tests/a.py" } }
expect = "block"
rule = "tests-before-commit"
"""


def test_examples_are_tried_with_the_states_they_name_and_no_others() -> None:
    tried = try_examples(rules(SEED.decode() + EXAMPLE), (ROOT,))

    assert [(one.got, one.rules, one.ok) for one in tried] == [
        ("block", ("tests-before-commit",), True),
        ("allow", (), True),
        ("block", ("no-test-edit",), False),
        ("block", ("no-test-edit",), False),
    ]


def test_an_example_of_an_unknown_rule_or_state_is_refused() -> None:
    head = "[[example]]\ncall = { tool = 'x' }\nexpect = 'allow'\n"

    assert refusal(f"{head}rule = 'r'").what == "line 1, example 1: no rule 'r'"
    assert refusal(f"{head}states = ['test_passed']").fix == "write tests_passed"
