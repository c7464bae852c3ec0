"""Each command over a fake desk: what it asks, what people read, what it returns."""

import io
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from osiris.cli.context import Context
from osiris.cli.tasks import project_here
from osiris.config import Loaded, Problem
from osiris.home import HomeError
from tests.server.fake_desk import ANSWERS, BODIES, HOSTILE, REF, SHA256, TEXT, Cli


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(capsysbinary, monkeypatch)


def test_health_is_exit_1_when_something_is_wrong_with_tasks_or_settings(cli: Cli) -> None:
    assert cli.json("health")[1]["owner_running"] is True

    cli.desk.answers["health"] = {
        **ANSWERS["health"],
        "ok": False,
        "quarantined": {"task/x": "KeyError"},
    }
    assert cli.run("health") == 1
    assert "NOT WELL" in cli.said
    assert "  quarantined  task/x: KeyError\n" in cli.said

    cli.desk.answers["health"] = ANSWERS["health"]
    cli.change = with_problem
    assert cli.run("health") == 1
    assert "  settings     1 problem, named below\n" in cli.said
    assert cli.told == "error bad_setting: cache_ttl_s is 'x' | fix: a number\n"


def test_health_names_no_process_when_no_owner_runs(cli: Cli) -> None:
    cli.change = lambda context: replace(context, is_owned=lambda: False, ask_offline=cli.desk.ask)

    code, answer = cli.json("health")
    assert (code, answer["owner_running"], answer["pid"]) == (0, False, None)
    assert cli.run("health") == 0
    assert "4711" not in cli.said


def test_tasks_are_those_of_this_project_unless_all_are_asked_for(cli: Cli) -> None:
    cli.run("tasks")
    cli.run("tasks", "--all-projects")

    assert len(project_here()) == 16
    assert [args for _, args, _ in cli.desk.asked] == [{"project": project_here()}, {"project": ""}]


def test_tasks_come_newest_first_in_aligned_columns(cli: Cli) -> None:
    cli.run("tasks")

    assert cli.said.splitlines() == [
        "task      status        when  by                objective",
        "00ff00ff  done    1970-01-01  codex-1111        short",
        "7c3f90d1  open    1970-01-01  claude-code-3407  fix \\u001b[31mżółw\\u202e 中文 o…",
    ]


def test_no_tasks_is_said_in_words(cli: Cli) -> None:
    cli.desk.answers["tasks"] = {"tasks": []}

    assert cli.run("tasks") == 0
    assert cli.said == "no tasks in this project (see --all-projects)\n"


def test_show_prints_plan_figures_and_manifest(cli: Cli) -> None:
    cli.run("show", "7c3f")

    assert cli.desk.asked == [("show", {"task": "7c3f"}, b"")]
    for line in (
        "  plan      1 of 2 steps done",
        "            [x] 1 read",
        "  pinned    4 constraints, 1 decision",
        "  kept out, by receipt       123,456",
        "  overhead                    -7,890",
        "  net tokens of 1,200 calls  115,566",
        'OSIRIS/1 task=7c3f90d1 obj="…" plan=1/2',
    ):
        assert line in cli.said.splitlines()


def test_events_are_asked_for_by_page_and_say_how_to_go_on(cli: Cli) -> None:
    cli.run("events", "7c3f", "--after", "40", "--limit", "2")

    assert cli.desk.asked == [("events", {"task": "7c3f", "after": 40, "limit": 2}, b"")]
    assert cli.told == "perhaps more: --after 2\n"
    assert f"RefStored    sha256={SHA256[:12]}" in cli.said

    cli.run("events", "--stream", "global")
    assert cli.desk.asked[-1] == ("events", {"stream": "global", "after": 0, "limit": 200}, b"")
    assert cli.told == ""


def test_an_audit_that_finds_damage_is_exit_1_and_names_it(cli: Cli) -> None:
    cli.desk.answers["audit"] = {
        **ANSWERS["audit"],
        "ok": False,
        "lossless": False,
        "missing": ["mem://sha256:00"],
        "items_missing": 1,
        "integrity_violations": [{"record": "e/task/7c/0001", "why": "checksum"}],
    }

    assert cli.run("audit", "--task", "7c") == 1
    assert cli.desk.asked == [("audit", {"task": "7c"}, b"")]
    assert "NOT LOSSLESS" in cli.said
    assert "  e/task/7c/0001: checksum\n" in cli.said
    assert "  mem://sha256:00\n" in cli.said
    assert cli.json("audit")[0] == 1


def test_an_audit_whose_accounts_are_off_is_exit_1(cli: Cli) -> None:
    cli.desk.answers["audit"] = {**ANSWERS["audit"], "ok": False, "ledger_balance": -7}

    assert cli.run("audit") == 1
    assert "lossless, but the accounts are off" in cli.said
    assert "OFF BY -7" in cli.said


def test_savings_show_the_one_net_and_what_is_not_in_it(cli: Cli) -> None:
    assert cli.run("savings") == 0

    assert cli.said == (
        "Tokens since the beginning, 1,200 calls\n\n"
        "kept out, proven by receipt  123,456\n"
        "overhead                      -7,890\n"
        "  reply                         -890\n"
        "  schema                      -7,000\n"
        "net                          115,566\n"
        "beside it: declared              500\n"
        "beside it: estimated               0\n\n"
        "in provider tokens 115,566 to 157,170 (x1.00 to x1.36, prior)\n"
    )


def test_savings_name_the_careful_end_of_a_measured_band_first(cli: Cli) -> None:
    measured = {"usual": 1.2, "low": 1.1, "high": 1.3, "how": "measured", "observations": 40}
    cli.desk.answers["savings"] = {**ANSWERS["savings"], "net": -1_000, "factor": measured}

    cli.run("savings")

    band = "(x1.10 to x1.30, measured on 40 requests)"
    assert cli.said.endswith(f"in provider tokens -1,300 to -1,100 {band}\n")


ROWS = [
    {"name": "00ff00ff", "what": "short", "net": 90, "overhead": {"reply": 10}},
    {"name": "7c3f90d1", "what": HOSTILE, "net": -40, "overhead": {"stub": 30, "reply": 10}},
]


def with_rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    kept = {"receipt": 100, "declared": 5, "estimated": 0}
    none = dict.fromkeys(kept, 0)
    said = [{"kept_out": kept if row["net"] > 0 else none, **row} for row in rows]
    return {**ANSWERS["savings"], "kept_out": kept, "overhead": {"reply": 50}, "net": 50} | {
        "rows": said
    }


def test_savings_row_by_row_end_with_the_one_net_they_sum_to(cli: Cli) -> None:
    cli.desk.answers["savings"] = with_rows(ROWS)

    assert cli.run("savings", "--by", "task") == 0
    assert cli.desk.asked == [("savings", {"scope": "all", "by": "task"}, b"")]
    assert cli.said.splitlines() == [
        "Tokens since the beginning, 1,200 calls",
        "",
        "task      kept out  overhead  net  declared  estimated",
        "00ff00ff       100       -10   90         5          0  short",
        "7c3f90d1         0       -40  -40         0          0  fix \\u001b[31mżółw\\u202…",
        "all            100       -50   50         5          0",
    ]


def test_savings_of_many_rows_name_twenty_and_sum_the_others(cli: Cli) -> None:
    rows = [
        {"name": f"t{n:02}", "what": "", "net": -1, "overhead": {"reply": 1}} for n in range(23)
    ]
    cli.desk.answers["savings"] = with_rows(rows)

    cli.run("savings", "--by", "task")

    lines = cli.said.splitlines()
    assert len(lines) == 3 + 20 + 2
    assert lines[-2].split() == [
        "3",
        "more",
        "0",
        "-3",
        "-3",
        "0",
        "0",
        "all",
        "of",
        "them:",
        "--json",
    ]
    assert len(cli.json("savings", "--by", "task")[1]["rows"]) == 23


def test_savings_of_today_are_those_of_its_utc_day(cli: Cli) -> None:
    cli.run("savings", "--scope", "day")

    [(op, args, _)] = cli.desk.asked
    scope, _, day = args["scope"].partition("/")
    assert (op, scope, len(day), day.isdecimal()) == ("savings", "day", 6, True)


def test_accounts_that_do_not_balance_are_exit_1(cli: Cli) -> None:
    cli.desk.answers["savings"] = {**ANSWERS["savings"], "balance": 3}

    assert cli.run("savings") == 1
    assert "DO NOT BALANCE: 3" in cli.said


def test_put_prints_the_stub_and_says_where_the_text_came_from(cli: Cli) -> None:
    assert cli.run("put", "--tool", "Bash", "--host", "codex", piped=TEXT) == 0

    named = {"tool": "Bash", "host": "codex", "project": project_here()}
    assert cli.desk.asked == [("put", named, TEXT)]
    assert cli.said == f"{ANSWERS['put']['text']}\n"


@pytest.mark.parametrize("piped", [b"a\0b", b"\xff\xfe\x00", "смесь".encode("cp1251")])
def test_put_refuses_what_is_no_text_without_asking(cli: Cli, piped: bytes) -> None:
    assert cli.run("put", piped=piped) == 1

    assert cli.told.startswith("error binary_file: ")
    assert cli.said == ""
    assert cli.desk.asked == []


@pytest.mark.parametrize(
    "broken",
    [
        {"error": "storage_full", "what": "no space", "fix": "make room"},
        {"text": "error storage_full: no space | fix: make room", "is_error": True},
    ],
)
def test_put_passes_a_text_through_that_could_not_be_stored(
    cli: Cli, broken: dict[str, Any]
) -> None:
    cli.desk.answers["put"] = broken

    assert cli.run("put", piped=TEXT) == 1
    assert cli.raw == TEXT
    assert cli.told == "error storage_full: no space | fix: make room\n"
    assert cli.json("put", piped=TEXT)[1]["text"] == TEXT.decode()


def test_put_passes_the_text_through_when_there_is_no_owner(cli: Cli) -> None:
    cli.desk.answers["put"] = HomeError("nobody answers", "run `osiris serve`")

    assert cli.run("put", piped=TEXT) == 4
    assert cli.raw == TEXT


def test_get_prints_the_stored_bytes_and_nothing_else(cli: Cli) -> None:
    assert cli.run("get", REF) == 0

    assert cli.raw == TEXT
    assert cli.told == ""


class _Sips(io.RawIOBase):
    """A raw output that takes 7 bytes at a time."""

    name = "sips"

    def __init__(self) -> None:
        self.taken = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.taken += bytes(memoryview(data)[:7])
        return min(7, len(memoryview(data)))


def test_get_writes_every_byte_to_an_output_that_takes_a_few_at_a_time(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = _Sips()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(output, write_through=True))

    assert cli.run("get", REF) == 0
    assert output.taken == TEXT


def test_get_writes_a_file(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"

    assert cli.run("get", REF, "-o", str(target)) == 0
    assert target.read_bytes() == TEXT
    assert cli.said == ""


def test_get_says_when_the_file_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    assert cli.run("get", REF, "-o", str(tmp_path / "none" / "out.txt")) == 2

    assert cli.told.startswith("error bad_argument: cannot write ")


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        (["a.b", REF], "a.b"),
        ([REF, "a.b"], "a.b"),
        (["-F", "a.b", REF], "a\\.b"),
        (["-i", "a.b", REF], "(?i)a.b"),
    ],
)
def test_grep_asks_for_the_pattern_in_either_order(cli: Cli, argv: list[str], asked: str) -> None:
    assert cli.run("grep", *argv) == 0

    assert cli.desk.asked == [("grep", {"q": asked, "ref": REF}, b"")]
    assert cli.raw == BODIES["grep"]
    assert cli.told == f"1 of at least 20,000 matches; the rest: osiris get {REF} | grep\n"


def test_config_shows_values_and_their_origins(cli: Cli) -> None:
    assert cli.run("config", "show", "--origin") == 0
    rows = [line.split() for line in cli.said.splitlines()]
    assert rows[0] == ["setting", "origin", "value"]
    assert ["roots", "default", "none"] in rows
    assert ["dispatch_only", "default", "0"] in rows
    assert cli.desk.asked == []

    _, answer = cli.json("config", "show")
    assert answer["settings"]["cache_ttl_s"] == 300
    assert answer["origins"]["cache_ttl_s"] == "default"


def test_config_show_is_exit_1_when_a_setting_is_wrong(cli: Cli) -> None:
    cli.change = with_problem

    assert cli.run("config", "show") == 1
    assert cli.told == "error bad_setting: cache_ttl_s is 'x' | fix: a number\n"
    assert cli.json("config", "show")[1]["problems"][0]["code"] == "bad_setting"


def test_serve_returns_what_the_owner_returns(cli: Cli) -> None:
    cli.change = lambda context: replace(context, serve=lambda: 7)

    assert cli.run("serve") == 7


def test_demo_is_run_by_whoever_brings_it_and_prints_for_itself(cli: Cli) -> None:
    assert cli.run("demo") == 3
    assert "`osiris demo` is not built yet" in cli.told

    asked: list[bool] = []

    def demo(*, as_json: bool) -> int:
        asked.append(as_json)
        return 5

    cli.change = lambda context: replace(context, demo=demo)
    assert cli.run("demo", "--json") == 5
    assert asked == [True]
    assert cli.said == ""


def with_problem(context: Context) -> Context:
    problem = Problem("bad_setting", "cache_ttl_s", "cache_ttl_s is 'x'", "a number")
    loaded = Loaded(context.settings.settings, context.settings.origins, (problem,))
    return replace(context, settings=loaded)


def test_a_list_that_is_not_whole_says_so(cli: Cli) -> None:
    row = {"task": "7c3f", "project": "", "objective": "x", "status": "open", "at_ms": 1, "by": "b"}
    cli.desk.answers["tasks"] = {"tasks": [row], "of": 12_002}

    assert cli.run("tasks", "--all-projects") == 0

    assert "the newest 1 of 12,002" in cli.told
