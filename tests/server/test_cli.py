"""The command line over a fake desk: what it asks, prints and returns."""

import json

import pytest
from msgspec.structs import replace

from osiris.cli.commands import COMMANDS
from osiris.cli.context import Context
from osiris.cli.exits import MEANINGS
from osiris.cli.layout import width
from osiris.home import HomeError
from tests.server.fake_desk import ANSWERS, REF, Cli, FakeDesk

# design 11: everything the command line promises to know
PROMISED = """
    health audit demo serve put get grep tasks show events savings export backup
    restore metrics config invariants approve install uninstall doctor hook wrap
    statusline top dashboard verify prices
"""
UNBUILT = [name for name, entry in COMMANDS.items() if not entry.place]
ASKING: dict[str, list[str]] = {
    "health": ["health"],
    "audit": ["audit"],
    "tasks": ["tasks"],
    "show": ["show", "7c3f"],
    "events": ["events", "7c3f"],
    "savings": ["savings"],
    "put": ["put"],
    "get": ["get", REF],
    "grep": ["grep", "line", REF],
}


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(capsysbinary, monkeypatch)


def test_every_promised_command_is_known() -> None:
    assert sorted(COMMANDS) == sorted(PROMISED.split())


def test_help_lists_every_command_and_every_exit_code(cli: Cli) -> None:
    assert cli.run("--help") == 0

    listed = {line.split()[0] for line in cli.said.splitlines() if line.startswith("  ")}
    assert listed >= {*COMMANDS, *(str(code.value) for code in MEANINGS)}
    assert max(map(len, cli.said.splitlines())) <= 80


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in UNBUILT])
def test_every_command_explains_itself_and_takes_json(cli: Cli, name: str) -> None:
    argv = [name, "show"] if name in ("config", "prices") else [name]

    assert cli.run(*argv, "--help") == 0
    assert "--json" in cli.said
    assert cli.desk.asked == []


@pytest.mark.parametrize("name", UNBUILT)
def test_a_command_that_is_not_built_says_so_whatever_it_is_given(cli: Cli, name: str) -> None:
    code = cli.run(name, "--for", "10m", "--", "x", "-y")

    assert code == 3
    assert cli.told.startswith(f"error not_yet: `osiris {name}` is not built yet | fix: ")
    assert cli.json(name, "x")[1]["error"] == "not_yet"


@pytest.mark.parametrize("op", ASKING)
def test_json_is_one_line_of_ascii_and_alone_on_stdout(cli: Cli, op: str) -> None:
    code, answer = cli.json(*ASKING[op])

    assert code == 0
    assert "error" not in answer
    assert "body_bytes" not in answer
    assert cli.said.isascii()
    assert cli.said.count("\n") == 1
    assert cli.told == ""


@pytest.mark.parametrize("op", sorted(set(ASKING) - {"tasks"}))
def test_json_holds_what_the_desk_answered(cli: Cli, op: str) -> None:
    _, answer = cli.json(*ASKING[op])

    assert {name: answer[name] for name in ANSWERS[op]} == ANSWERS[op]


def test_json_may_stand_before_the_command(cli: Cli) -> None:
    assert cli.run("--json", "savings") == 0

    assert json.loads(cli.said)["net"] == 115_566


@pytest.mark.parametrize("op", ASKING)
def test_people_read_at_most_80_columns_and_no_control_characters(cli: Cli, op: str) -> None:
    assert cli.run(*ASKING[op]) == 0

    laid_out = [] if op in ("put", "get", "grep") else cli.said.splitlines()
    assert [line for line in laid_out if width(line) > 80 or not line.isprintable()] == []
    assert cli.said


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["show"], "missing_argument"),
        (["events"], "missing_argument"),
        (["events", "7c3f", "--stream", "global"], "missing_argument"),
        (["events", "7c3f", "--limit", "0"], "bad_argument"),
        (["tasks", "--al-projects"], "unknown_argument"),
        (["savings", "--scope", "week"], "bad_argument"),
        (["audit", "--task"], "bad_argument"),
        (["halth"], "bad_argument"),
        (["config"], "bad_argument"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_2(cli: Cli, argv: list[str], code: str) -> None:
    assert cli.run(*argv) == 2

    assert cli.told.startswith(f"error {code}: ")
    assert " | fix: " in cli.told
    assert cli.told.count("\n") == 1
    assert cli.said == ""
    assert cli.desk.asked == []


def test_a_misspelt_option_is_met_with_the_right_one_and_where_to_look(cli: Cli) -> None:
    cli.run("tasks", "--al-projects")

    assert "--all-projects" in cli.told
    assert "see `osiris tasks --help`" in cli.told


def test_a_wrong_command_line_is_json_when_json_was_asked_for(cli: Cli) -> None:
    code, answer = cli.json("show")

    assert code == 2
    assert answer["error"] == "missing_argument"
    assert cli.told == ""


def test_a_refusal_is_one_line_whatever_it_quotes(cli: Cli) -> None:
    cli.desk.answers["show"] = {
        "error": "unknown_task",
        "what": "no task 'a\x1b[2J\nerror ok: b'",
        "fix": "see `osiris tasks`",
    }

    assert cli.run("show", "x") == 1
    assert cli.told == (
        "error unknown_task: no task 'a\\u001b[2J\\nerror ok: b' | fix: see `osiris tasks`\n"
    )


def test_a_refusal_is_json_when_json_was_asked_for(cli: Cli) -> None:
    refusal = {"error": "unknown_task", "what": "no such task", "fix": "see `osiris tasks`"}
    cli.desk.answers["show"] = refusal

    assert cli.json("show", "x") == (1, refusal)


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (HomeError("nobody answers", "run `osiris serve`"), "no_owner"),
        (ConnectionResetError(104, "reset"), "owner_died"),
    ],
)
def test_without_an_owner_the_exit_code_is_4(cli: Cli, broken: Exception, code: str) -> None:
    cli.desk.answers["get"] = broken

    assert cli.run("get", REF) == 4
    assert cli.told.startswith(f"error {code}: ")


def test_a_home_that_cannot_be_used_is_no_traceback(cli: Cli) -> None:
    def unusable(_: Context) -> Context:
        raise HomeError("/x is not a folder", "move it away")

    cli.change = unusable

    assert cli.run("tasks") == 4
    assert cli.told == "error no_owner: /x is not a folder | fix: move it away\n"


@pytest.mark.parametrize("op", ["health", "audit", "tasks", "show", "events", "savings"])
def test_looking_asks_the_store_and_starts_no_owner(cli: Cli, op: str) -> None:
    store = FakeDesk()
    cli.change = lambda context: replace(context, is_owned=lambda: False, ask_offline=store.ask)

    assert cli.run(*ASKING[op]) == 0
    assert [asked[0] for asked in store.asked] == [op]
    assert cli.desk.asked == []


def test_looking_asks_the_owner_while_there_is_one(cli: Cli) -> None:
    store = FakeDesk()
    cli.change = lambda context: replace(context, ask_offline=store.ask)

    assert cli.run("tasks") == 0
    assert store.asked == []
    assert [op for op, _, _ in cli.desk.asked] == ["tasks"]


def test_an_owner_that_comes_between_look_and_question_is_asked(cli: Cli) -> None:
    owned = iter([False, True])
    busy = FakeDesk(tasks={"error": "busy", "what": "an owner has just started", "fix": "again"})
    cli.change = lambda context: replace(
        context, is_owned=lambda: next(owned), ask_offline=busy.ask
    )

    assert cli.run("tasks") == 0
    assert [op for op, _, _ in cli.desk.asked] == ["tasks"]
