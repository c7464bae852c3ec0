"""Which calls a rule is for: tools, commands, paths, arguments, agents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.invariant_calls import ToolCall, deed_of
from tests.core.invariant_cases import ROOT, bash, call, findings, fired, rule, rules

COMMIT = rule("tool = 'git.commit'")
TESTS = rule("path_glob = 'tests/**'")


@pytest.mark.parametrize(
    "asked",
    [
        bash("cd x && git commit -m y"),
        bash("git -C dir commit"),
        bash("env A=1 git commit"),
        bash("sh -c 'git commit'"),
        bash("git add . ; GIT_EDITOR=true sudo -E git commit --amend"),
        call("shell", command=["bash", "-lc", "git commit -m x"]),
        call("exec_command", cmd="git commit"),
        call("run_terminal_cmd", command="git commit", is_background=False),
        call("runInTerminal", command="git commit"),
        call("execute", command="git", args=["commit", "-m", "a b"]),
        call("terminal", commands=["git add .", "git commit"]),
        call("PowerShell", command="if ($?) { git commit }"),
        call("git.commit", message="x"),
        call("git_commit", message="x"),
        call("mcp__git__git_commit", message="x"),
        call("mcp__git__commit", message="x"),
        call("git/commit"),
        call("gitCommit"),
        call("git commit -m x"),
    ],
)
def test_git_commit_is_the_same_call_whoever_runs_it(asked: ToolCall) -> None:
    assert fired(COMMIT, asked) == ["r"]


@pytest.mark.parametrize(
    "asked",
    [
        bash("echo git commit"),
        bash("git log --grep commit"),
        bash("cat > a.sh <<'EOF'\ngit commit\nEOF"),
        bash("git -C commit status"),
        bash(""),
        call("Bash"),
        call("Bash", command=None),
        call("Write", file_path="a", content="git commit"),
        call("git_commit_graph"),
        call("grep", pattern="git commit"),
        call("", command="git commit"),
    ],
)
def test_what_only_names_a_commit_is_none(asked: ToolCall) -> None:
    assert fired(COMMIT, asked) == []


@pytest.mark.parametrize(
    ("when", "asked", "fires"),
    [
        ("tool = 'git.*'", bash("git push"), True),
        ("tool = 'git push'", bash("git push"), True),
        ("tool = ['git.push', 'git.tag']", bash("git tag v1"), True),
        ("tool = 'git.{push,tag}'", bash("git tag v1"), True),
        ("tool = 'npm.run.deploy'", bash("npm run -s deploy"), True),
        ("tool = 'npm.run.deploy'", bash("npm run test"), False),
        ("tool = 'WebFetch'", call("WebFetch", url="x"), True),
        ("tool = 'web.fetch'", call("WebFetch", url="x"), True),
        ("tool = 'mcp__db__*'", call("mcp__db__drop"), True),
        ("tool = 'drop'", call("mcp__db__drop"), True),
        ("tool = 'bash'", bash("ls"), True),
        ("tool = 'bash'", call("exec", cmd="bash x"), True),
        (
            "tool = 'apply_patch'",
            bash("apply_patch <<'E'\n*** Begin Patch\n*** End Patch\nE"),
            True,
        ),
        ("args = { command = '*--force*' }", bash("git push\\\n --force"), True),
        ("args = { command = '*--force*' }", call("exec", cmd="git push --force"), True),
        ("args = { command = '*--force*' }", bash("git push"), False),
        ("args = { force = true }", call("deploy", force=True), True),
        ("args = { force = true }", call("deploy", force=False), False),
        ("args = { n = 3 }", call("deploy", n=3), True),
        ("args = { env = 'prod*', force = true }", call("deploy", env="prod-1"), False),
        ("args = { tags = '*\"a\"*' }", call("deploy", tags=["a", "b"]), True),
        ("args = { env = '*' }", call("deploy"), False),
        ("tool = 'deploy', args = { env = ['prod', 'live'] }", call("deploy", env="live"), True),
    ],
)
def test_all_conditions_of_a_rule_must_hold(when: str, asked: ToolCall, *, fires: bool) -> None:
    assert fired(rule(when), asked) == (["r"] if fires else [])


def test_a_rule_may_be_for_some_agents() -> None:
    known = rule("tool = 'bash', agent = ['codex*', 'gemini-?']")

    for agent, fires in (("Codex-3407", True), ("gemini-1", True), ("claude", False), ("", False)):
        asked = ToolCall("Bash", {"command": "ls"}, agent)
        assert fired(known, asked) == (["r"] if fires else [])


@pytest.mark.parametrize(
    "asked",
    [
        call("Edit", file_path=f"{ROOT}/tests/a.py"),
        call("Write", file_path="tests/deep/.hidden"),
        call("str_replace_based_edit_tool", command="create", path=f"{ROOT}/tests/a", file_text=""),
        call("MultiEdit", file_path="./tests//x/../a.py", edits=[]),
        call("edit", filePath="tests\\a.py"),
        call("edit", uri=f"file://{ROOT}/tests/a.py"),
        call("write_files", files=[{"path": "a"}, {"path": "Tests/b"}]),
        call("move_file", source="a.py", destination="tests/a.py"),
        call("apply_patch", input="*** Begin Patch\n*** Update File: tests/a.py\n@@\n"),
        call("shell", command=["apply_patch", "*** Begin Patch\n*** Add File: tests/n\n+x\n"]),
        bash("echo x > tests/a.py"),
        bash("cat <<'E' >> tests/a.py\nx\nE"),
        bash("rm -rf tests"),
        bash("cd tests && rm a.py"),
        bash("cd src/../tests; touch b"),
        bash("cp a.py tests/"),
        bash("mv tests/a.py /tmp"),
        bash("sed -i'' -e s/a/b/ tests/a.py"),
        bash("git checkout -- tests/a.py"),
        bash("git -C tests rm a.py"),
        bash("tee tests/log < x"),
        bash("sudo sh -c 'echo > tests/a'"),
        bash("dd if=x of=tests/a"),
        call("Bash", command="rm a.py", cwd=f"{ROOT}/tests"),
        call("PowerShell", command="Set-Content -Path tests\\a.py -Value x"),
        ToolCall("Edit", {"path": "a.py"}, "", (ROOT,), f"{ROOT}/tests"),
        ToolCall("Edit", {"path": "c:\\Work\\tests\\a"}, "", ("C:\\work",)),
        ToolCall("Edit", {"path": "/tmp/p/tests/a"}, "", ("/private/tmp/p", "/tmp/p")),
    ],
)
def test_a_rule_for_paths_alone_is_for_what_changes_them(asked: ToolCall) -> None:
    assert fired(TESTS, asked) == ["r"]


@pytest.mark.parametrize(
    "asked",
    [
        call("Read", file_path=f"{ROOT}/tests/a.py"),
        call("Grep", pattern="x", path="tests"),
        call("view", path="tests/a.py"),
        call("run_tests", path="tests"),
        call("mcp__git__git_add", files=["tests/a.py"]),
        bash("pytest tests/a.py"),
        bash("cat tests/a.py > out"),
        bash("cp tests/a.py src/"),
        bash("sed -n 1,9p tests/a.py"),
        bash("git add tests && git diff tests"),
        bash("grep -r x tests 2>/dev/null"),
        call("Edit", file_path=f"{ROOT}/src/tests.py"),
        call("Edit", file_path="/other/tests/a.py"),
        call("Edit", file_path="../tests/a.py"),
        call("Edit", file_path="src/a.py", new_string="tests/a.py"),
    ],
)
def test_a_rule_for_paths_alone_is_not_for_reading_or_running(asked: ToolCall) -> None:
    assert fired(TESTS, asked) == []


@pytest.mark.parametrize(
    ("when", "asked", "fires"),
    [
        ("tool = 'read', path_glob = '**/.env'", call("Read", file_path="/x/.env"), True),
        ("tool = 'cat', path_glob = '**/.env'", bash("cat a/.env"), True),
        ("tool = 'cat', path_glob = '**/.env'", bash("cat a; ls .env"), False),
        ("tool = 'bash', path_glob = '**/.env'", bash("cat a; ls .env"), True),
        ("tool = 'curl', path_glob = '/etc/**'", bash("curl --data=/etc/passwd x"), True),
    ],
)
def test_with_a_tool_a_path_counts_however_that_tool_uses_it(
    when: str, asked: ToolCall, *, fires: bool
) -> None:
    assert fired(rule(when), asked) == (["r"] if fires else [])


def test_git_is_followed_into_the_folder_it_is_sent_to() -> None:
    one_file = rule("path_glob = 'tests/a.py'")

    assert fired(one_file, bash("git -C tests rm a.py")) == ["r"]
    assert fired(one_file, bash("git rm a.py")) == []


def test_what_an_agent_wrote_cannot_move_the_screen() -> None:
    [found] = findings(TESTS, call("Edit", file_path="tests/\x1b[2J\nallow"))

    assert found.evidence == "the rule is for tests/\\u001b[2J allow"


def test_a_path_of_broken_text_still_counts() -> None:
    assert fired(TESTS, call("Edit", file_path="tests/\udcff.py")) == ["r"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
KEYS = st.sampled_from(["command", "cmd", "commands", "path", "file_path", "files", "cwd", "x"])
TOOLS = st.sampled_from(["Bash", "Edit", "PowerShell", "cmd", "apply_patch", "git commit x"])


@given(st.one_of(TOOLS, st.text(max_size=30)), st.dictionaries(KEYS, JSON), st.text(max_size=9))
def test_any_call_is_judged(tool: str, args: dict[str, object], root: str) -> None:
    asked = ToolCall(tool, args, roots=(root,))

    assert deed_of(asked).steps
    assert fired(rules(), asked) is not None
