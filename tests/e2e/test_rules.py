"""Rules of a project from a file to an agent: the real bridge, the real owner, restarts between."""

import os
import sys
import time
from pathlib import Path

import pytest

from tests.core.invariant_cases import SEED
from tests.e2e.living import OSIRIS, Living, Talk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners are stopped by signals")

COMMIT = {"tool": "Bash", "args": {"command": "git commit -m fix"}}
LIST = {"tool": "Bash", "args": {"command": "ls"}}
TESTED = {"kind": "action", "tool": "Bash", "args": {"command": "pytest -q"}, "ok": True}
FORBIDDEN = "allow=no verdict=block code=invariant rule=tests-before-commit "
ALLOWED = "allow=yes verdict=none"
PATIENCE_S = 30.0


@pytest.fixture
def project(home: Living) -> Path:
    """Return a project with the seed's own rules; everything starts in it."""
    root = home.real.folder / "project"
    (root / ".osiris").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "src" / "cart.py").write_text("x = 1\n")
    (root / ".osiris" / "invariants.toml").write_bytes(SEED)
    home.folder = root
    return root


def until(client: Talk, said: str) -> str:
    """Return the first answer to a precheck of `ls` that begins with the line `said`."""
    deadline = time.monotonic() + PATIENCE_S
    while (answer := client.call("precheck", **LIST)).partition("\n")[0] != said:
        assert time.monotonic() < deadline, answer
    return answer


@pytest.mark.promise("S8-invariants")
def test_a_commit_waits_for_tests_that_passed_after_the_last_change(
    home: Living, project: Path
) -> None:
    client = home.client()
    client.plan("mend the cart")

    never = client.call("precheck", **COMMIT)
    client.call("observe", **TESTED)
    passed = client.call("precheck", **COMMIT)
    home.real.stop()
    after_restart = client.call("precheck", **COMMIT)
    other = home.client()
    other.plan("release")
    of_another = other.call("precheck", **COMMIT)
    later = time.time() + 60
    os.utime(project / "src" / "cart.py", (later, later))
    stale = client.call("precheck", **COMMIT)

    assert never.startswith(FORBIDDEN)
    assert (passed, after_restart, of_another) == (ALLOWED, ALLOWED, ALLOWED)
    assert stale.startswith(FORBIDDEN)
    assert "tests_passed is stale: src/cart.py changed after it" in stale
    assert home.real.complaints() == []


@pytest.mark.promise("S8-invariants")
def test_a_rule_for_paths_holds_however_the_path_is_written(home: Living, project: Path) -> None:
    home.folder = project / "src"
    (project / ".git").mkdir()
    client = home.client()
    client.plan("mend the cart")

    paths = ["../tests/a.py", f"{project}/tests/a.py", "../../project/src/../tests/A.py"]
    answers = [client.call("precheck", tool="Edit", args={"file_path": path}) for path in paths]
    free = client.call("precheck", tool="Edit", args={"file_path": "tests/cart.py"})

    said = "allow=no verdict=block code=invariant rule=no-test-edit "
    assert [answer.startswith(said) for answer in answers] == [True] * len(paths)
    assert free == ALLOWED


def test_a_broken_file_of_rules_is_said_everywhere_and_mended_without_a_restart(
    home: Living, project: Path
) -> None:
    file = project / ".osiris" / "invariants.toml"
    client = home.client()
    client.plan("mend the cart")
    client.call("precheck", **COMMIT)

    file.write_text("[[invariant]]\nid = 'a'\nwhen = { tol = 'git.commit' }\n")
    until(client, f"{ALLOWED} rules=broken")
    held = client.call("precheck", **COMMIT)
    health = home.run("health")
    file.write_bytes(SEED)
    until(client, ALLOWED)

    assert held.startswith(FORBIDDEN)
    assert "error bad_rules: .osiris/invariants.toml line 1, invariant 'a': when has" in held
    assert health.returncode == 1
    assert b"invariants.toml line 1, invariant 'a': when has no key 'tol'" in health.stderr


def test_bad_files_of_rules_get_a_clear_reply_and_lose_nothing(home: Living, project: Path) -> None:
    file = project / ".osiris" / "invariants.toml"
    client = home.client()
    task = client.plan("mend the cart")
    client.call("observe", **TESTED)

    file.write_text(f"[[invariant]]\nid = 'a'\nwhen = {{ path_glob = '{'*' * 10_000}' }}\n")
    until(client, f"{ALLOWED} rules=broken")
    many_stars = client.call("precheck", **LIST)
    rewritten = client.call("precheck", tool="Write", args={"file_path": str(file)})
    file.write_text("[[invariant]]\nid = 'all'\nwhen = { tool = '*' }\nmessage = 'stop'\n")
    everything = f"osiris approve all --task {task} --for 10m"
    until(
        client,
        "allow=no verdict=block code=invariant rule=all "
        f'required_action="ask a person to allow it: {everything}"',
    )
    file.write_bytes(SEED)
    until(client, ALLOWED)
    after = client.call("precheck", **COMMIT)

    assert "has 10,000 wildcards | fix: at most 16 wildcards" in many_stars
    assert rewritten.startswith("allow=no verdict=block code=invariant rule=osiris.rules ")
    assert after == ALLOWED
    assert home.real.complaints() == []


def test_a_person_at_a_terminal_lifts_a_rule_and_a_pipe_does_not(
    home: Living, project: Path
) -> None:
    client = home.client()
    task = client.plan("mend the cart")
    edit = {"tool": "Edit", "args": {"file_path": "tests/a.py"}}
    argv = ("approve", "no-test-edit", "--task", task, "--for", "10m")

    denied = client.call("precheck", **edit)
    piped = home.run(*argv)
    still = client.call("precheck", **edit)
    said, status = at_terminal(home, *argv)
    lifted = client.call("precheck", **edit)
    home.real.stop()
    after_restart = client.call("precheck", **edit)
    shown = home.run("show", task)

    assert denied == still
    assert denied.startswith("allow=no verdict=block code=invariant rule=no-test-edit ")
    assert (piped.returncode, piped.stdout) == (1, b"")
    assert piped.stderr.startswith(b"error not_a_terminal: approvals come from a person")
    assert (said, status) == (f"no-test-edit is lifted in task {task} for 10 min", 0)
    assert (lifted, after_restart) == (ALLOWED, ALLOWED)
    assert b"  allowed   what no-test-edit forbids, for 10 min\n" in shown.stdout
    assert "RuleApproved" in {kind for _, kind in home.real.events(f"task/{task}")}


def at_terminal(home: Living, *argv: str) -> tuple[str, int]:
    """Run a command as a person does, and return what the terminal shows and its status."""
    ours, theirs = os.openpty()
    try:
        process = home.start((*OSIRIS, *argv), stdin=theirs, stdout=theirs)
        status = process.wait(PATIENCE_S)
        return os.read(ours, 4_096).decode().strip(), status
    finally:
        os.close(theirs)
        os.close(ours)
