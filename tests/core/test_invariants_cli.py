"""`osiris invariants check|test|explain`: what they print and return."""

from pathlib import Path

import pytest

from tests.core.invariant_cases import SEED
from tests.core.test_invariants import EXAMPLE
from tests.server.fake_desk import Cli


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(capsysbinary, monkeypatch)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with the seed's rules; the working directory is a folder below its root."""
    for folder in (".git", ".osiris", "src"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".osiris" / "invariants.toml").write_bytes(SEED)
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path


def write(project: Path, text: str) -> None:
    (project / ".osiris" / "invariants.toml").write_text(text, "utf-8")


def test_check_lists_the_rules_of_the_project_around(cli: Cli, project: Path) -> None:
    assert cli.run("invariants", "check") == 0

    assert cli.said.splitlines()[0] == "in order: 2 rules, 2 states, 0 checks, 0 examples"
    assert "tests-before-commit  block    tests_passed  tool=git.commit" in cli.said.splitlines()
    assert cli.desk.asked == []
    code, answer = cli.json("invariants", "check")
    assert (code, answer["ok"]) == (0, True)
    assert answer["file"] == str(project / ".osiris" / "invariants.toml")
    assert [rule["id"] for rule in answer["rules"] if not rule["built_in"]] == [
        "tests-before-commit",
        "no-test-edit",
    ]


@pytest.mark.usefixtures("project")
def test_people_read_at_most_80_columns(cli: Cli) -> None:
    for argv in (["check"], ["explain", "x" * 300], ["explain", "rm tests/" + "я" * 200]):
        assert cli.run("invariants", *argv) == 0
        assert max(map(len, cli.said.splitlines())) <= 80


def test_a_rule_that_matches_everything_is_in_order_and_warned_about(
    cli: Cli, project: Path
) -> None:
    write(project, "[[invariant]]\nid = 'a'\nwhen = { tool = '*' }\n")

    assert cli.run("invariants", "check") == 0
    assert cli.told == "warning: rule a matches everything\n"
    assert cli.json("invariants", "check")[1]["warnings"] == ["rule a matches everything"]


def test_a_broken_file_is_exit_1_with_its_line_and_the_fix(cli: Cli, project: Path) -> None:
    write(project, "\n[[invariant]]\nid = 'a'\nwhn = {}\n")

    for command in (["check"], ["test"], ["explain", "x"]):
        assert cli.run("invariants", *command) == 1
        assert cli.told.startswith("error bad_rules: ")
        assert cli.told.endswith(": line 2, invariant 'a': has no key 'whn' | fix: write when\n")
    assert cli.json("invariants", "check")[1]["error"] == "bad_rules"


def test_no_file_is_said_in_words(cli: Cli, project: Path) -> None:
    (project / ".osiris" / "invariants.toml").unlink()

    assert cli.run("invariants", "check") == 1
    assert cli.told.startswith("error not_found: there is no ")


def test_a_file_may_be_named(cli: Cli, project: Path) -> None:
    (project / "other.toml").write_text("[[invariant]]\nid = 'a'\nwhen = { tool = 'x' }", "utf-8")

    code, answer = cli.json("invariants", "check", "--file", str(project / "other.toml"))

    assert code == 0
    assert "a" in [rule["id"] for rule in answer["rules"]]
    assert cli.run("invariants", "check", "--file", str(project)) == 1
    assert cli.told.startswith("error not_a_file: ")


def test_examples_that_come_out_otherwise_are_exit_1(cli: Cli, project: Path) -> None:
    write(project, SEED.decode() + EXAMPLE)
    assert cli.run("invariants", "test") == 1
    assert [line.split()[:4] for line in cli.said.splitlines()[1:]] == [
        ["1", "ok", "block", "block"],
        ["2", "ok", "allow", "allow"],
        ["3", "WRONG", "warn", "block"],
        ["4", "WRONG", "block", "block"],
    ]
    assert [one["ok"] for one in cli.json("invariants", "test")[1]["examples"]][:2] == [True, True]

    write(
        project,
        SEED.decode() + "".join(EXAMPLE.partition('[[example]]\ncall = { tool = "Edit"')[:1]),
    )
    assert cli.run("invariants", "test") == 0


def test_a_file_without_examples_says_so_and_is_in_order(cli: Cli, project: Path) -> None:
    assert cli.run("invariants", "test") == 0

    assert cli.told == f"no [[example]] in {project / '.osiris' / 'invariants.toml'}\n"
    assert cli.said == ""


@pytest.mark.parametrize(
    ("argv", "rules"),
    [
        (["git commit -m x"], ["tests-before-commit"]),
        (["Bash", '{"command": "git commit"}'], ["tests-before-commit"]),
        (["Edit", '{"file_path": "../tests/a.py"}'], ["no-test-edit"]),
        (["Edit", '{"file_path": "tests/a.py"}'], []),
        (["ls"], []),
    ],
)
@pytest.mark.usefixtures("project")
def test_explain_names_the_rules_a_call_would_meet(
    cli: Cli, argv: list[str], rules: list[str]
) -> None:
    code, answer = cli.json("invariants", "explain", *argv)

    assert (code, answer["rules"]) == (0, rules)
    assert cli.run("invariants", "explain", *argv) == 0
    assert ("allow: no rule is for this call" in cli.said) is (not rules)


@pytest.mark.parametrize("args", ["{", "[]", "[" * 100_000])
@pytest.mark.usefixtures("project")
def test_arguments_that_are_no_object_are_a_wrong_command_line(cli: Cli, args: str) -> None:
    assert cli.run("invariants", "explain", "Bash", args) == 2

    assert cli.told.startswith("error bad_argument: ARGS-JSON is no ")
