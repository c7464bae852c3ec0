"""States: which finished calls set and clear them, and which files make them stale."""

import pytest

from osiris.core.invariant_calls import ToolCall
from osiris.core.invariant_states import MAX_ENTRIES, Newest, StateChange, newest
from osiris.core.invariants import observe_states
from tests.core.invariant_cases import bash, call, rules

OWN = rules(
    """
[[state]]
name = "built"
set_by = ["make.all", "build_*"]
cleared_by = ["src/**", "*.lock"]
cleared_by_tool = "git.pull"

[[state]]
name = "reviewed"
set_by = "review"

[[state]]
name = "tests_passed"
set_by = "make.verify"
cleared_by = "src/**"
files = ["src/**/*.py"]
"""
)


def said_of_tests(asked: ToolCall, *, ok: bool | None) -> bool | None:
    """Return what a finished call says about tests_passed, None for nothing."""
    changes = {one.state: one.ok for one in observe_states(rules(), asked, ok=ok)}
    return changes.get("tests_passed")


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "cd a && pytest -q tests 2>&1",
        "python -m pytest",
        ".venv/bin/python3 -m unittest discover",
        "uv run pytest",
        "poetry run -q pytest",
        "npm test",
        "npm run test:unit",
        "npm --prefix web t",
        "pnpm test && echo ok",
        "npx jest --ci",
        "go test ./...",
        "cargo +nightly test --all",
        "make -C lib -j4 test",
        "./gradlew test",
        "dotnet test",
        "bundle exec rspec",
        "./run_tests.sh",
        "timeout 600 make check",
        "set -o pipefail; pytest | tail -5",
        "bash -lc 'pytest'",
    ],
)
def test_a_test_run_sets_tests_passed_by_its_own_status(command: str) -> None:
    assert said_of_tests(bash(command), ok=True) is True
    assert said_of_tests(bash(command), ok=False) is False
    assert said_of_tests(bash(command), ok=None) is None


@pytest.mark.parametrize(
    "command",
    [
        "pytest | tail -5",
        "pytest || true",
        "pytest; echo done",
        "pytest &",
        "! pytest",
        "if pytest; then echo ok; fi",
        "echo $(pytest)",
    ],
)
def test_a_status_that_the_tool_does_not_report_proves_no_success(command: str) -> None:
    assert said_of_tests(bash(command), ok=True) is None
    assert said_of_tests(bash(command), ok=False) is False


@pytest.mark.parametrize(
    "command",
    [
        "pytest --collect-only",
        "pytest --version",
        "cargo test --no-run",
        "test -f a",
        "echo pytest",
        "pip install pytest",
        "cat tests/test_a.py",
        "command -v pytest",
    ],
)
def test_what_runs_no_tests_sets_nothing(command: str) -> None:
    assert said_of_tests(bash(command), ok=True) is None
    assert said_of_tests(bash(command), ok=False) is None


def test_a_command_left_in_the_background_sets_nothing() -> None:
    asked = call("Bash", command="pytest", run_in_background=True)

    assert said_of_tests(asked, ok=True) is None


@pytest.mark.parametrize(
    "command", ["ruff check .", "npm run lint", "golangci-lint run", "eslint src"]
)
def test_a_linter_sets_lint_passed_and_nothing_else(command: str) -> None:
    [change] = observe_states(rules(), bash(command), ok=True)

    assert (change.state, change.ok) == ("lint_passed", True)


def test_a_formatter_is_no_linter() -> None:
    assert observe_states(rules(), bash("ruff format ."), ok=True) == ()


@pytest.mark.parametrize(
    ("asked", "ok", "cleared_by"),
    [
        (call("Edit", file_path="src/a.py"), True, "src/a.py changed"),
        (call("Edit", file_path="src/a.py"), None, "src/a.py changed"),
        (call("Edit", file_path="src/a.py"), False, ""),
        (call("Read", file_path="src/a.py"), True, ""),
        (call("Write", file_path="README.md"), True, ""),
        (bash("sed -i s/a/b/ src/a.py"), True, "src/a.py changed"),
        (bash("sed -i s/a/b/ src/a.py && false"), False, "src/a.py changed"),
        (bash("cat > src/a.py <<'E'\nx\nE"), True, "src/a.py changed"),
        (bash("pytest && echo x > src/a.py"), True, "src/a.py changed"),
    ],
)
def test_a_change_of_the_sources_clears_tests_passed(
    asked: ToolCall, *, ok: bool | None, cleared_by: str
) -> None:
    changes = {one.state: one for one in observe_states(rules(), asked, ok=ok)}
    expected = StateChange("tests_passed", ok=False, by=cleared_by) if cleared_by else None

    assert changes.get("tests_passed") == expected


def test_a_run_after_the_change_in_one_line_counts() -> None:
    assert said_of_tests(bash("sed -i s/a/b/ src/a.py && pytest"), ok=True) is True


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        (bash("make all"), StateChange("built", ok=True, by="make.all")),
        (call("mcp__ci__build_all"), StateChange("built", ok=True, by="build.all")),
        (call("Edit", path="src/x"), StateChange("built", ok=False, by="src/x changed")),
        (call("Edit", path="uv.lock"), StateChange("built", ok=False, by="uv.lock changed")),
        (bash("git pull -q"), StateChange("built", ok=False, by="git.pull ran")),
        (call("review"), StateChange("reviewed", ok=True, by="review")),
    ],
)
def test_own_states_are_set_and_cleared_as_the_file_says(
    asked: ToolCall, change: StateChange
) -> None:
    assert change in observe_states(OWN, asked, ok=True)


def test_a_file_may_say_anew_what_tests_passed_means() -> None:
    assert observe_states(OWN, bash("pytest"), ok=True) == ()
    assert observe_states(OWN, bash("make verify"), ok=True) == (
        StateChange("tests_passed", ok=True, by="make.verify"),
    )


def test_the_newest_file_is_that_of_the_states_own_globs() -> None:
    state = OWN.states["tests_passed"]
    entries = [("src/a.py", 5), ("src/deep/er/b.py", 7), ("src/c.txt", 9), ("docs/d.py", 9)]

    assert newest(state, entries) == Newest("src/deep/er/b.py", 7)
    assert newest(state, []) == Newest()


def test_files_are_by_default_what_clears_the_state() -> None:
    assert OWN.states["built"].files.texts == ("src/**", "*.lock")


def test_more_entries_than_the_limit_are_too_many() -> None:
    state = OWN.states["tests_passed"]
    entries = (("docs/a", 1) for _ in range(MAX_ENTRIES))

    assert newest(state, entries) == Newest()
    assert newest(state, (("docs/a", 1) for _ in range(MAX_ENTRIES + 1))) == Newest(too_many=True)
