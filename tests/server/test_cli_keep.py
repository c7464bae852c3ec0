"""The commands that look after the store, over a fake desk: what is asked and what is said."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.server.fake_desk import ANSWERS, Cli

COUNTS: dict[str, Any] = {"streams": 2, "events": 1_234, "blobs": 56, "damage": []}
DAMAGE = [{"record": "event task/7c3f90d1@12", "why": "does not match its checksum"}]


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Cli:
    cli = Cli(capsysbinary, monkeypatch)
    cli.desk.answers |= {
        "verify": {**COUNTS, "ok": True, "records": 9_999},
        "backup": {**COUNTS, "path": "/b", "size": 3 << 20, "records": 9_999},
        "export": {**COUNTS, "ok": True, "path": "/x", "size": 1_536},
    }
    return cli


def test_a_sound_store_is_exit_0(cli: Cli) -> None:
    assert cli.run("verify", "--deep") == 0

    assert cli.desk.asked == [("verify", {"deep": True}, b"")]
    assert cli.said.splitlines() == [
        "the store is sound",
        "  journal   1,234 events in 2 streams",
        "  payloads  56",
        "  records   9,999 checked",
    ]


def test_counters_that_are_off_are_exit_1_until_they_are_put_right(cli: Cli) -> None:
    sound = {**COUNTS, "records": 9, "counters_off": 2}
    cli.desk.answers["verify"] = {**sound, "ok": False, "mended": False}

    assert cli.run("verify") == 1
    assert "COUNTERS ARE OFF, nothing is lost: put them right with --mend\n" in cli.said
    assert "  counters  2 off\n" in cli.said

    cli.desk.answers["verify"] = {**sound, "ok": True, "mended": True}
    assert cli.run("verify", "--mend") == 0
    assert cli.desk.asked[-1] == ("verify", {"deep": False, "mend": True}, b"")
    assert "the store is sound\n" in cli.said
    assert "  counters  2 put right\n" in cli.said


def test_damage_is_exit_1_and_every_record_is_named(cli: Cli) -> None:
    cli.desk.answers["verify"] = {**COUNTS, "ok": False, "records": 9, "damage": DAMAGE}

    assert cli.run("verify") == 1

    assert "THE STORE IS DAMAGED" in cli.said
    assert "damaged:\n  event task/7c3f90d1@12: does not match its checksum\n" in cli.said


@pytest.mark.parametrize("command", ["backup", "export"])
def test_a_path_is_that_of_whoever_asks(
    cli: Cli, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert cli.run(command, "there") == 0

    assert cli.desk.asked == [(command, {"path": str(tmp_path / "there")}, b"")]
    assert {"backup": "3.0 MiB", "export": "1.5 KiB"}[command] in cli.said


def test_one_task_is_exported_when_one_is_named(cli: Cli) -> None:
    cli.run("export", "/x", "--task", "7c3f")

    assert cli.desk.asked == [("export", {"path": str(Path("/x").absolute()), "task": "7c3f"}, b"")]


def test_an_export_with_something_left_out_is_exit_1(cli: Cli) -> None:
    cli.desk.answers["export"] = {**COUNTS, "ok": False, "path": "/x", "size": 9, "damage": DAMAGE}

    assert cli.run("export", "/x") == 1
    assert "event task/7c3f90d1@12: does not match its checksum" in cli.said


def test_a_restore_says_where_the_old_store_is(cli: Cli) -> None:
    asked: list[tuple[Path, bool]] = []

    def restore(source: Path, *, force: bool) -> tuple[dict[str, Any], bytes]:
        asked.append((source, force))
        return {**COUNTS, "kept_aside": "/home/store.before-1"}, b""

    cli.change = lambda context: replace(context, restore=restore)

    assert cli.run("restore", "/b", "--force") == 0
    assert asked == [(Path("/b").absolute(), True)]
    assert cli.told == "the old store is in /home/store.before-1\n"


def test_a_refused_restore_is_one_line_and_exit_1(cli: Cli) -> None:
    def restore(source: Path, *, force: bool) -> tuple[dict[str, Any], bytes]:
        return {"error": "busy", "what": "process 9 owns this home", "fix": "end it"}, b""

    cli.change = lambda context: replace(context, restore=restore)

    assert cli.run("restore", "/b") == 1
    assert cli.told == "error busy: process 9 owns this home | fix: end it\n"


def test_a_bundle_is_audited_without_a_store(cli: Cli) -> None:
    asked: list[Path] = []

    def audit_bundle(path: Path) -> tuple[dict[str, Any], bytes]:
        asked.append(path)
        return {**ANSWERS["audit"], "scope": "bundle"}, b""

    cli.change = lambda context: replace(context, audit_bundle=audit_bundle)

    assert cli.run("audit", "--bundle", "/x") == 0
    assert (asked, cli.desk.asked) == ([Path("/x").absolute()], [])
    assert cli.said.startswith("audit of bundle: lossless\n")


def test_trouble_with_the_store_is_said_by_health(cli: Cli) -> None:
    trouble = {"code": "storage_full", "why": "the disk is full", "fix": "free space"}
    cli.desk.answers["health"] = {
        **cli.json("health")[1],
        "ok": False,
        "trouble": trouble,
        "copied_from": "/old/store",
    }

    assert cli.run("health") == 1
    assert "trouble      the store takes no writes, see below" in cli.said
    assert "copy of      /old/store" in cli.said
    assert "error storage_full: the disk is full | fix: free space\n" in cli.told
