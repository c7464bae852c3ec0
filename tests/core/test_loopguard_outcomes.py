"""What a call can do, how it ended, and what its result says of progress."""

from typing import Any

import pytest

from osiris.core.loop_call import Call, see
from osiris.core.loop_kinds import Kind, kind_of
from osiris.core.loop_outcomes import Outcome, asked_wait_ms, is_waiting, outcome_of, progress_of


@pytest.mark.parametrize(
    ("tool", "args", "kind"),
    [
        ("Read", {"file_path": "a"}, "read"),
        ("mcp__files__list_directory", {"path": "a"}, "read"),
        ("getUserDetails", {"id": 1}, "read"),
        ("Edit", {"file_path": "a"}, "write"),
        ("TodoWrite", {"todos": []}, "write"),
        ("mcp__linear-server__create_issue", {"title": "x"}, "write"),
        ("BashOutput", {"bash_id": "b"}, "poll"),
        ("ci_status", {"run": 1}, "poll"),
        ("update_status", {"id": 1}, "write"),
        ("press_key", {"key": "Down"}, "step"),
        ("deploy", {}, "run"),
        ("str_replace_editor", {"command": "view", "path": "a"}, "read"),
        ("str_replace_editor", {"path": "a"}, "read"),
        ("str_replace_editor", {"command": "create", "path": "a"}, "write"),
        ("Bash", {"command": "cd x && ls -la | grep -v 'a > b'"}, "read"),
        ("Bash", {"command": "git -h; git log --oneline | head"}, "run"),
        ("Bash", {"command": "git status --short 2>&1"}, "read"),
        ("Bash", {"command": "sudo FOO=1 env mv a b"}, "write"),
        ("Bash", {"command": "echo hi > out.txt"}, "write"),
        ("Bash", {"command": "echo hi 2>/dev/null"}, "read"),
        ("Bash", {"command": "sed -i s/a/b/ f"}, "write"),
        ("Bash", {"command": "sed -n '1,5p' f"}, "read"),
        ("Bash", {"command": "find . -name x"}, "read"),
        ("Bash", {"command": "find . -name x -delete"}, "run"),
        ("Bash", {"command": "npm install left-pad"}, "write"),
        ("Bash", {"command": "sleep 5; cat log"}, "poll"),
        ("Bash", {"command": "pytest -q"}, "run"),
        ("execute_bash", {"command": ""}, "poll"),
        ("run_commands", {"commands": ["ls", "rm x"]}, "write"),
    ],
)
def test_a_call_is_known_by_what_it_can_do(tool: str, args: dict[str, Any], kind: Kind) -> None:
    assert kind_of(tool, args) == kind


@pytest.mark.parametrize(
    ("command", "text", "exit_code", "outcome"),
    [
        ("curl u", "HTTP 429 Too Many Requests", 22, "transient"),
        ("git commit", "Unable to create '/r/.git/index.lock': File exists", 128, "transient"),
        ("curl u", "connect ECONNREFUSED 127.0.0.1", 7, "transient"),
        ("cat x", "cat: x: No such file or directory", 1, "lookup"),
        ("ls /root", "ls: cannot open: Permission denied", 2, "deterministic"),
        ("make", "Exit code 2\nmake: *** [all] Error", None, "deterministic"),
        ("grep a b", "", 1, "informational"),
        ("cd x && grep a b", "Exit code 1", None, "informational"),
        ("grep a b", "a.py:1: a b", None, "deterministic"),
        ("grep a b", "grep: b: No such file or directory", 2, "lookup"),
        ("diff a b", "1c1\n< a\n> b", 1, "informational"),
        ("git diff --quiet", "", 1, "informational"),
        ("pytest", "1 failed: timeout", 1, "informational"),
        ("go test ./...", "--- FAIL: TestX (0.00s)\n", 1, "informational"),
        ("rm x", "The user doesn't want to proceed with this tool use.", None, "denied"),
        ("ls", "Sibling tool call errored", None, "skipped"),
    ],
)
def test_a_failed_command_falls_in_one_class(
    command: str, text: str, exit_code: int | None, outcome: Outcome
) -> None:
    found = outcome_of("Bash", {"command": command}, text, ok=False, exit_code=exit_code)

    assert found == outcome


@pytest.mark.parametrize(
    ("args", "text", "outcome"),
    [
        ({"old_string": "a", "new_string": "a"}, "saved", "noop"),
        ({"old_string": "a", "new_string": "b"}, "saved", "ok"),
        ({}, "No changes made to a.py", "noop"),
        ({}, "everything up to date: already up-to-date", "noop"),
        ({}, "x" * 700 + " no change", "ok"),
    ],
)
def test_a_write_that_changed_nothing_says_so(
    args: dict[str, Any], text: str, outcome: Outcome
) -> None:
    assert outcome_of("Edit", args, text, ok=True, exit_code=None) == outcome


def test_an_unreported_success_is_told_from_the_exit_code() -> None:
    def ended(text: str) -> Outcome:
        return outcome_of("Bash", {"command": "make"}, text, ok=None, exit_code=None)

    assert ended("Command exited with code 2") == "deterministic"
    assert ended("exit code: 0") == "ok"
    assert ended("built") == "ok"


@pytest.mark.parametrize(
    ("text", "progress"),
    [
        ("running 5%", 50),
        ("[8%] a\n[20.5%] b", 205),
        ("step 3/12", 250),
        ("3 of 4 done", 750),
        ("100%", 1000),
        ("300%", 1000),
        ("5/3", -1),
        ("src/a/12/13.py", -1),
        ("", -1),
    ],
)
def test_progress_is_the_last_share_a_result_names(text: str, progress: int) -> None:
    assert progress_of(text) == progress


@pytest.mark.parametrize(
    ("text", "waiting"),
    [
        ('{"state": "queued"}', True),
        ("in_progress", True),
        ("45%", True),
        ("0%", True),
        ("100%", False),
        ("success", False),
        ("the job is running " + "x" * 700, False),
    ],
)
def test_a_short_result_may_report_unfinished_work(text: str, *, waiting: bool) -> None:
    assert is_waiting(text) is waiting


@pytest.mark.parametrize(
    ("text", "wait_ms"),
    [
        ("Retry-After: 30", 30_000),
        ('{"retry_after": 5}', 5_000),
        ("please try again in 2 minutes", 120_000),
        ("retry after 1500 ms", 1_500),
        ("wait 99999", 3_600_000),
        ("no hint", 0),
    ],
)
def test_the_wait_a_service_asks_for_is_read(text: str, wait_ms: int) -> None:
    assert asked_wait_ms(text) == wait_ms


def test_a_file_that_speaks_of_running_is_read_and_no_poll() -> None:
    file = see(Call("Read", {"file_path": "a"}, "state: running", ok=True, at_ms=0))
    job = see(Call("job_info", {"id": 3}, "state: running", ok=True, at_ms=0))

    assert (file.kind, job.kind) == ("read", "poll")


@pytest.mark.parametrize(
    ("tool", "args", "lines"),
    [
        ("Read", {"file_path": "a", "offset": 41, "limit": 40}, (41, 80)),
        ("Read", {"file_path": "a", "limit": 40}, (1, 40)),
        ("Read", {"file_path": "a", "offset": 5}, (5, 7)),
        ("Read", {"file_path": "a"}, (0, 0)),
        ("view", {"path": "a", "view_range": [3, 9]}, (3, 9)),
        ("view", {"path": "a", "view_range": [3, -1]}, (3, 5)),
        ("read_file", {"path": "a", "start_line": 9, "end_line": 3}, (0, 0)),
        ("Bash", {"command": "sed -n '10,20p' a"}, (10, 20)),
        ("Write", {"file_path": "a", "limit": 4}, (0, 0)),
        ("Read", {"file_path": "a", "offset": -4, "limit": 10**30}, (0, 0)),
        ("Read", {"file_path": "a", "offset": True, "limit": "x"}, (0, 0)),
    ],
)
def test_the_lines_of_a_ranged_read_are_known(
    tool: str, args: dict[str, Any], lines: tuple[int, int]
) -> None:
    seen = see(Call(tool, args, "one\ntwo\nthree", ok=True, at_ms=0))

    assert (seen.first, seen.last) == lines
