"""Settings: what wins, what is refused, and what a connection may decide for itself."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from osiris import config
from osiris.config import Connection, Hello, Problem, Settings, connection, parse_hello
from osiris.core import canon
from osiris.home import Home
from osiris.values import PARSERS

NONCE = "0123456789abcdef" * 2


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(str(tmp_path / "home"))
    made.make()
    return made


@pytest.fixture(autouse=True)
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the user a home folder of their own, above the projects of the tests."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("USERPROFILE" if sys.platform == "win32" else "HOME", str(folder))
    return folder


def write(home: Home, text: str) -> None:
    Path(home.config_path).write_text(text, encoding="utf-8")


def hello(cwd: Path | str = "", **settings: str) -> Hello:
    return Hello("1.2.3", NONCE, 42, str(cwd), settings)


def connect(said: Hello | None, *, is_trusted: bool = True, **settings: Any) -> Connection:
    return connection(Settings(home="/home", **settings), said, is_trusted=is_trusted)


# the owner's settings


def test_without_a_word_the_defaults_hold(home: Home) -> None:
    loaded = config.load(home, {})

    assert loaded.settings == Settings(
        home=home.root,
        roots=(),
        cache_ttl_s=300,
        prune_threshold_tokens=40_000,
        dispatch_only=False,
        tool_names="portable",
        transport="auto",
        idle_exit_s=900,
        http="",
        tcp="",
        metrics="",
        log_level="info",
    )
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.problems == ()


def test_the_environment_beats_the_file_which_beats_the_defaults(home: Home) -> None:
    write(home, 'cache_ttl_s = 60\nhttp = 8765\nroots = ["/a b", "~/c"]\ndispatch_only = true\n')
    environ = {"OSIRIS_CACHE_TTL_S": "90", "OSIRIS_TOOL_NAMES": "Dotted", "OSIRIS_HOME": home.root}

    loaded = config.load(home, environ)

    assert loaded.settings == Settings(
        home=home.root,
        roots=("/a b", "~/c"),
        cache_ttl_s=90,
        dispatch_only=True,
        tool_names="dotted",
        http="127.0.0.1:8765",
    )
    named = {key: origin for key, origin in loaded.origins.items() if origin != "default"}
    assert named == {
        "home": "OSIRIS_HOME",
        "roots": "config.toml",
        "cache_ttl_s": "OSIRIS_CACHE_TTL_S",
        "dispatch_only": "config.toml",
        "tool_names": "OSIRIS_TOOL_NAMES",
        "http": "config.toml",
    }


def test_an_empty_text_means_not_set_except_where_it_means_none(home: Home) -> None:
    write(home, 'cache_ttl_s = 60\nroots = "/a"\nmetrics = "9100"\n')
    environ = {"OSIRIS_CACHE_TTL_S": "", "OSIRIS_ROOTS": "", "OSIRIS_METRICS": ""}

    settings = config.load(home, environ).settings

    assert (settings.cache_ttl_s, settings.roots, settings.metrics) == (60, (), "")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("roots", "/a; /b c ;;", ("/a", "/b c")),
        ("roots", os.pathsep.join(("/a", "/b")), ("/a", "/b")),
        ("roots", "@project", ("@project",)),
        ("roots", "/with:colon;", ("/with:colon",)),
        ("roots", r"D:\mcp-osiris;E:\x", (r"D:\mcp-osiris", r"E:\x")),
        ("dispatch_only", "1", True),
        ("dispatch_only", "FALSE", False),
        ("idle_exit_s", "0", 0),
        ("http", "[::1]:80", "[::1]:80"),
        ("tcp", "localhost:7", "localhost:7"),
        ("log_level", "DEBUG", "debug"),
        ("transport", "tcp", "tcp"),
    ],
)
def test_texts_are_read_as_they_are_meant(home: Home, key: str, text: str, value: object) -> None:
    loaded = config.load(home, {f"OSIRIS_{key.upper()}": text})

    assert getattr(loaded.settings, key) == value
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cache_ttl_s", "0"),
        ("cache_ttl_s", "-1"),
        ("cache_ttl_s", "ten"),
        ("cache_ttl_s", "1.5"),
        ("prune_threshold_tokens", "9" * 5000),
        ("dispatch_only", "perhaps"),
        ("tool_names", "snake"),
        ("transport", "udp"),
        ("http", "localhost"),
        ("http", "localhost:99999"),
        ("log_level", "loud"),
    ],
)
def test_what_is_refused_is_reported_and_the_value_below_stands(
    home: Home, key: str, value: str
) -> None:
    loaded = config.load(home, {f"OSIRIS_{key.upper()}": value})

    assert loaded.settings == Settings(home=home.root)
    assert loaded.origins[key] == "default"
    (problem,) = loaded.problems
    assert (problem.code, problem.key, problem.is_error) == ("bad_setting", key, True)
    assert f"OSIRIS_{key.upper()}" in problem.what
    assert problem.fix


@pytest.mark.parametrize(
    "line",
    [
        "cache_ttl_s = true",
        'cache_ttl_s = "x"',
        "cache_ttl_s = 1.0",
        "roots = 5",
        "roots = [5]",
        "dispatch_only = 2",
        "tool_names = []",
        "http = {}",
    ],
)
def test_values_of_the_wrong_type_in_the_file_are_reported(home: Home, line: str) -> None:
    write(home, line)

    loaded = config.load(home, {})

    assert loaded.settings == Settings(home=home.root)
    (problem,) = loaded.problems
    assert problem.code == "bad_setting"
    assert "config.toml" in problem.what


@pytest.mark.parametrize(
    "content", [b"a = ", b"\xff = 1", b"a = 1\na = 2"], ids=["toml", "utf8", "twice"]
)
def test_a_file_that_cannot_be_read_is_one_plain_problem(home: Home, content: bytes) -> None:
    Path(home.config_path).write_bytes(content)

    loaded = config.load(home, {})

    assert loaded.settings == Settings(home=home.root)
    assert [problem.code for problem in loaded.problems] == ["bad_config"]
    assert loaded.problems[0].text().startswith("error bad_config: config.toml: ")


def test_unknown_keys_are_named_and_only_warned_of(home: Home) -> None:
    write(home, 'cach_ttl_s = 1\nhome = "/x"\n')

    loaded = config.load(home, {"OSIRIS_ROOT": "/", "OSIRIS_PYTHON": "python3", "PATH": "x"})

    found = [(problem.key, problem.is_error) for problem in loaded.problems]
    assert found == [("cach_ttl_s", False), ("home", False), ("root", False)]
    assert loaded.settings == Settings(home=home.root)
    assert "OSIRIS_HOME" in loaded.problems[1].fix
    assert "OSIRIS_ROOT is no setting" in loaded.problems[2].what


# the hello


def test_a_hello_is_read() -> None:
    said = {"version": "1", "nonce": NONCE, "pid": 7, "cwd": "/x", "settings": {"OSIRIS_ROOTS": ""}}
    line = json.dumps({"osiris": 1, "hello": said | {"token": "t", "later": 1}}).encode() + b"\n"

    assert parse_hello(line) == Hello("1", NONCE, 7, "/x", {"OSIRIS_ROOTS": ""}, "t")


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', b"\xff", b"null"]
)
def test_a_line_that_is_no_hello_is_none(line: bytes) -> None:
    assert parse_hello(line) is None


@pytest.mark.parametrize(
    "line",
    [
        b'{"osiris":2,"hello":{}}',
        b'{"osiris":1}',
        b'{"osiris":1,"hello":{"version":"1","nonce":"short"}}',
        b'{"osiris":1,"hello":{"version":1,"nonce":"0123456789abcdef0123456789abcdef"}}',
    ],
)
def test_a_broken_hello_is_a_problem(line: bytes) -> None:
    problem = parse_hello(line)

    assert isinstance(problem, Problem)
    assert problem.code == "bad_hello"


# a connection


def test_a_connection_has_its_own_settings_over_the_owners(tmp_path: Path) -> None:
    said = hello(
        tmp_path,
        OSIRIS_ROOTS=str(tmp_path),
        OSIRIS_DISPATCH_ONLY="1",
        OSIRIS_TOOL_NAMES="dotted",
        OSIRIS_CACHE_TTL_S="3600",
    )

    assert connect(said, prune_threshold_tokens=7) == Connection(
        nonce=NONCE,
        version="1.2.3",
        pid=42,
        cwd=str(tmp_path),
        project_root=str(tmp_path),
        project_id=canon.hexdigest("project", [str(tmp_path)])[:16],
        roots=(str(tmp_path),),
        cache_ttl_s=3600,
        prune_threshold_tokens=7,
        dispatch_only=True,
        tool_names="dotted",
    )


def test_a_hello_that_is_not_trusted_gives_no_folder_and_no_setting(tmp_path: Path) -> None:
    said = hello(tmp_path, OSIRIS_ROOTS=str(tmp_path), OSIRIS_DISPATCH_ONLY="1")

    found = connect(said, is_trusted=False, roots=("@project",))

    assert (found.nonce, found.cwd, found.project_root, found.project_id) == (NONCE, "", "", "")
    assert (found.roots, found.dispatch_only) == ((), False)


def test_a_client_without_a_hello_has_the_owners_settings(tmp_path: Path) -> None:
    found = connect(None, roots=(str(tmp_path),), tool_names="dotted")

    assert found.roots == (str(tmp_path),)
    assert (found.nonce, found.project_id, found.tool_names) == ("", "", "dotted")


def test_a_hello_decides_nothing_of_the_owners(tmp_path: Path) -> None:
    said = hello(tmp_path, OSIRIS_HTTP="0.0.0.0:80", OSIRIS_LOG_LEVEL="nonsense")

    assert connect(said) == connect(hello(tmp_path))


def test_a_bad_setting_in_a_hello_is_reported_and_the_owners_stands(tmp_path: Path) -> None:
    found = connect(hello(tmp_path, OSIRIS_TOOL_NAMES="x"), tool_names="dotted")

    assert found.tool_names == "dotted"
    assert [problem.key for problem in found.problems] == ["tool_names"]


def test_no_roots_means_no_files(tmp_path: Path) -> None:
    assert connect(hello(tmp_path)).roots == ()
    assert connect(hello(tmp_path, OSIRIS_ROOTS=""), roots=("/a",)).roots == ()


def test_roots_become_real_paths_once_each(tmp_path: Path, user_home: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    roots = f"{tmp_path}/link;{tmp_path}/real/;~/notes;{tmp_path}/not yet;@project;sub"

    found = connect(hello(tmp_path / "real", OSIRIS_ROOTS=roots))

    real = str(tmp_path / "real")
    assert found.roots == (real, str(user_home / "notes"), f"{tmp_path}/not yet", f"{real}/sub")
    assert found.problems == ()


@pytest.mark.parametrize("root", ["@project", ".", "..", "../.."])
@pytest.mark.parametrize("place", ["user", "", "/"])
def test_the_project_is_never_the_home_folder_or_above(
    tmp_path: Path, place: str, root: str
) -> None:
    found = connect(hello(tmp_path / place, OSIRIS_ROOTS=root))

    assert found.roots == ()
    assert [problem.key for problem in found.problems] == ["roots"]
    assert "home folder" in found.problems[0].what


def test_a_home_folder_under_git_is_no_root_of_what_lies_in_it(user_home: Path) -> None:
    (user_home / ".git").mkdir()
    (user_home / "work").mkdir()

    found = connect(hello(user_home / "work", OSIRIS_ROOTS="@project"))

    assert found.project_root == str(user_home)
    assert found.roots == ()


def test_a_root_that_was_named_outright_may_be_wide(user_home: Path) -> None:
    assert connect(None, roots=("~", "/")).roots == (str(user_home), str(Path("/")))


@pytest.mark.parametrize("root", ["@project", "relative", "a\0b", "~no-such-user-here/x"])
def test_a_root_that_leads_nowhere_is_reported(root: str) -> None:
    found = connect(None, roots=(root,))

    assert found.roots == ()
    assert [problem.code for problem in found.problems] == ["bad_setting"]


# the project


@pytest.mark.parametrize("is_worktree", [False, True])
def test_the_project_is_the_git_top_through_symlinks(tmp_path: Path, *, is_worktree: bool) -> None:
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("top/a")
    if is_worktree:
        (top / ".git").write_text("gitdir: elsewhere")
    else:
        (top / ".git").mkdir()

    assert config.project_root(str(tmp_path / "link" / "b")) == str(top)


def test_without_git_the_project_is_the_folder_itself(tmp_path: Path) -> None:
    assert config.project_root(str(tmp_path)) == str(tmp_path)
    assert config.project_root(str(tmp_path / "gone")) == str(tmp_path / "gone")


@pytest.mark.parametrize("cwd", ["", "relative", "/a\0b"])
def test_no_folder_is_no_project(cwd: str) -> None:
    assert config.project_root(cwd) == ""
    assert config.project_id(config.project_root(cwd)) == ""


def test_every_setting_has_a_parser_and_every_parser_a_setting() -> None:
    fields = {field.name for field in msgspec.structs.fields(Settings)}

    assert fields - {"home"} == set(PARSERS)
