"""`osiris approve` over a fake desk: only a person at a terminal gets through."""

import io
import sys

import pytest

from osiris.cli import approve
from osiris.config import project_root
from tests.server.fake_desk import ANSWERS, Cli

ASKED = ("approve", "no-test-edit", "--task", "7c3f")


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(capsysbinary, monkeypatch)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approve, "_is_at_terminal", lambda: True)


@pytest.mark.parametrize("argv", [ASKED, (*ASKED, "--json"), ("--json", *ASKED)])
def test_without_a_terminal_nobody_is_asked(cli: Cli, argv: tuple[str, ...]) -> None:
    assert cli.run(*argv) == 1

    assert "not_a_terminal" in cli.said + cli.told
    assert cli.desk.asked == []


def test_a_terminal_on_one_end_alone_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())

    assert not approve._is_at_terminal()


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("time", "for_s", "said"),
    [("10m", 600, "10 min"), ("90s", 90, "2 min"), ("45", 45, "45 s"), ("2h", 7_200, "2 h")],
)
def test_a_person_is_told_for_how_long(cli: Cli, time: str, for_s: int, said: str) -> None:
    assert cli.run(*ASKED, "--for", time) == 0

    [(op, args, _)] = cli.desk.asked
    assert (op, args["rule"], args["task"], args["for_s"]) == (
        "approve", "no-test-edit", "7c3f", for_s,
    )  # fmt: skip
    assert args["root"] == project_root(args["root"])
    assert cli.said == f"no-test-edit is lifted in task 7c3f90d1 for {said}\n"


@pytest.mark.usefixtures("person")
def test_json_is_the_owners_answer(cli: Cli) -> None:
    assert cli.json(*ASKED) == (0, ANSWERS["approve"])


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("time", ["0", "25h", "-1m", "soon", "", "1d"])
def test_a_time_that_is_none_is_refused(cli: Cli, time: str) -> None:
    assert cli.run(*ASKED, f"--for={time}") == 2

    assert "| fix: write 30s, 10m or 2h, 24h at most" in cli.told
    assert cli.desk.asked == []


def test_show_lists_what_is_allowed_and_for_how_long(cli: Cli) -> None:
    allowed = [{"rule": "no-test-edit", "until_ms": 1 << 52}]
    cli.desk.answers["show"] = {**ANSWERS["show"], "approvals": allowed}

    assert cli.run("show", "7c3f") == 0
    assert "  allowed   what no-test-edit forbids, for " in cli.said
