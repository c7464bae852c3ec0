"""Shell lines: which commands they run, whose status they report, and that any text is read."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.shell_words import MAX_COMMANDS, Simple, simple_commands
from osiris.core.shell_wrappers import command_names


def lines(text: str, *, escape: str = "\\") -> list[str]:
    """Return the commands of a line, each as its words."""
    return [" ".join(one.words) for one in simple_commands(text, escape=escape).commands]


def reporting(text: str) -> list[str]:
    """Return the first words of the commands whose own status the line reports."""
    return [one.words[0] for one in simple_commands(text).commands if one.reports and one.words]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("cd x && git commit -m 'a b'", ["cd x", "git commit -m a b"]),
        ("echo \"a;b\" 'c&&d' e\\;f", ["echo a;b c&&d e;f"]),
        ("a|b||c;d&e\nf", ["a", "b", "c", "d", "e", "f"]),
        ("a \\\n b # c; d\ne", ["a b", "e"]),
        ("echo a#b", ["echo a#b"]),
        ("A=1 B='x y' git commit", ["git commit"]),
        ("echo \"a'b\" 'a\"b' $'c\\'d'", ["echo a'b a\"b c'd"]),
        ('type "C:\\dir\\a.txt"', ["type C:\\dir\\a.txt"]),
        ("'unclosed; git commit", ["unclosed; git commit"]),
        ("", []),
        (" ; ;; && ) } fi ", []),
    ],
)
def test_a_line_is_split_as_a_shell_splits_it(text: str, commands: list[str]) -> None:
    assert lines(text) == commands


@pytest.mark.parametrize(
    "text",
    [
        "env A=1 -u B git commit",
        "sudo -u bob git commit",
        "nice -n 5 git commit",
        "timeout -k 5 10m git commit",
        "nohup time -p git commit",
        "timeout 5 sudo -E env A=1 git commit",
        "xargs -n1 git commit",
        "sh -c 'git commit'",
        'bash -lc "git commit"',
        "bash -euo pipefail -c 'git commit' name",
        "sh -c \"bash -c 'git commit'\"",
        "su - bob -c 'git commit'",
        "eval git commit",
        "env -S 'git commit'",
        "exec git commit",
        'pwsh -NoProfile -Command "git commit"',
        "cmd /c git commit",
        "bash <<EOF\ngit commit\nEOF",
        "bash <<< 'git commit'",
        "(git commit)",
        "{ git commit; }",
        "! git commit",
        "if true; then git commit; fi",
        "while git commit; do :; done",
        "for f in a b; do git commit; done",
        "case x in a) git commit;; esac",
        "f() { git commit; }; f",
        "function f { git commit; }",
        "echo $(git commit)",
        'echo "$(cd "a" && git commit)"',
        "echo `git commit`",
        "diff <(git commit) b",
        "cat <<EOF\n$(git commit)\nEOF",
        "find . -name '*.py' -exec git commit {} \\;",
        "true && git \\\n  commit",
        "git commit;",
        "git commit>log",
        "2>&1 git commit",
    ],
)
def test_a_command_is_found_wherever_it_runs(text: str) -> None:
    found = simple_commands(text)

    assert found.is_whole
    assert any("git.commit" in command_names(one.words) for one in found.commands)


@pytest.mark.parametrize(
    "text",
    [
        "echo git commit",
        "echo 'x; git commit'",
        "git log --grep commit",
        "grep -r 'git commit' .",
        "cat > a.sh <<'EOF'\ngit commit\n$(git commit)\nEOF",
        "# git commit",
        "man git-x commit",
        "echo '$(git commit)'",
        "command -v git commit",
    ],
)
def test_a_command_that_is_only_spoken_of_is_not_found(text: str) -> None:
    assert not any(
        "git.commit" in command_names(one.words) for one in simple_commands(text).commands
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("git -C dir -c a=b commit -m x", ("git", "git.commit", "git.commit.x")),
        ("/usr/bin/GIT.exe commit", ("git", "git.commit")),
        ("npm --prefix web run -s test", ("npm", "npm.run", "npm.run.test")),
        ("make -j 4 -C dir test", ("make", "make.test")),
        ("cargo +nightly test", ("cargo", "cargo.test")),
        ("git -- commit", ("git", "git.commit")),
        ("python3.11 -X dev -m pytest -q", ("python3.11", "python3.11.pytest", "pytest")),
        ("uv run --project x pytest -q t", ("uv", "uv.run", "uv.run.pytest", "pytest", "pytest.t")),
        ("npx --yes jest", ("npx", "npx.jest", "jest")),
        ("ls", ("ls",)),
        ("", ()),
    ],
)  # fmt: skip
def test_a_command_goes_by_its_first_words_without_options(
    text: str, names: tuple[str, ...]
) -> None:
    assert command_names(text.split()) == names


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("pytest", ["pytest"]),
        ("pytest;", ["pytest"]),
        ("cd a && pytest -q 2>&1 && echo", ["cd", "pytest", "echo"]),
        ("pytest | tail", ["tail"]),
        ("pytest |& tail", ["tail"]),
        ("set -o pipefail; pytest | tail", ["pytest", "tail"]),
        ("set -eo pipefail\npytest | tail", ["pytest", "tail"]),
        ("set -o pipefail; set +o pipefail; pytest | tail", ["tail"]),
        ("bash -o pipefail -c 'pytest | tail'", ["pytest", "tail"]),
        ("pytest || true", []),
        ("true || pytest", []),
        ("true || false && pytest", ["pytest"]),
        ("pytest; echo", ["echo"]),
        ("pytest\necho", ["echo"]),
        ("pytest &", []),
        ("pytest & wait", ["wait"]),
        ("! pytest", []),
        ("(cd a && pytest)", ["cd", "pytest"]),
        ("(pytest; true)", ["true"]),
        ("{ pytest; } | tail", ["tail"]),
        ("sh -c 'pytest' || true", []),
        ("timeout 9 pytest", ["pytest"]),
        ("xargs pytest", []),
        ("if pytest; then :; fi", []),
        ("for x in a; do pytest; done", []),
        ("echo $(pytest)", ["echo"]),
        ("t() { pytest; }", []),
        ("find . -exec pytest {} +", ["find"]),
        ("[[ -f a || -f b ]] && pytest", ["pytest"]),
    ],
)
def test_a_line_reports_the_status_of_what_must_have_succeeded(
    text: str, commands: list[str]
) -> None:
    assert reporting(text) == commands


def test_redirections_name_the_files_they_write() -> None:
    found = simple_commands("a < in > out 2>> err &> all >&2 2>/dev/null >| 'x y'").commands

    assert found == (Simple(("a",), ("out", "err", "all", "x y")),)


def test_a_group_writes_too() -> None:
    [inside, writer] = simple_commands("{ echo a; } > tests/b").commands

    assert (inside.words, inside.writes) == (("echo", "a"), ())
    assert (writer.words, writer.writes) == ((), ("tests/b",))


def test_cd_is_followed_and_a_subshell_comes_back() -> None:
    found = simple_commands("cd a && (cd b; x) && cd ../c; y; cd /d; z").commands
    folders = {one.words[0]: one.folder for one in found if one.words[0] != "cd"}

    assert folders == {"x": "a/b", "y": "a/../c", "z": "/d"}


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("if ($?) { git commit -m x }", ["$?", "git commit -m x"]),
        ("try { git commit } catch { exit 1 }", ["try", "git commit", "catch", "exit 1"]),
        ("cd C:\\a\\b; git `\n commit", ["cd C:\\a\\b", "git commit"]),
        ('Write-Host "a`"; git commit"', ['Write-Host a"; git commit']),
    ],
)
def test_powershell_has_braces_and_backticks_of_its_own(text: str, commands: list[str]) -> None:
    assert lines(text, escape="`") == commands


def test_cmd_escapes_with_a_caret() -> None:
    assert lines("echo a ^& git commit & dir C:\\x", escape="^") == [
        "echo a & git commit",
        "dir C:\\x",
    ]


PIECES = st.sampled_from(
    [*"(){}'\"\\`$;&|<>#!\n =a", "$(", "<<E", "<(", "&&", "||", "if ", "fi ", "case ", "esac ",
     "for ", "done ", "f()", "sh -c ", "eval ", "env -S ", "git ", "-m ", "find -exec ", "é",
     "\ud800"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join)), st.sampled_from("\\`^"))
def test_any_text_is_read_and_every_command_has_words_or_writes(text: str, escape: str) -> None:
    found = simple_commands(text, escape=escape)

    assert all(one.words or one.writes for one in found.commands)
    assert all(command_names(one.words) for one in found.commands if one.words)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_what_stands_before_a_new_line_never_hides_what_follows_unless_it_opens_something(
    text: str,
) -> None:
    opens = any(sign in text for sign in ("'", '"', "`", "$(", "<(", "<<", "\\"))

    assert opens or "git commit -m now" in lines(f"{text}\n\ngit commit -m now")


@pytest.mark.parametrize(
    "piece",
    ["$(", "(", "f(", "a;", "`a ", "<<E ", "<<E\n", "sudo ", "if a\n", "{ ", "! ", "a\\", "npx ",
     "sh -c 'a' ", "env -S ", "$(a;a) ", '"$(a', "then ", "bash <<< 'x' ", "case x in "],
)  # fmt: skip
def test_a_huge_line_takes_little_time_and_says_if_it_was_not_read_whole(piece: str) -> None:
    started = time.perf_counter()

    found = simple_commands(piece * (1_000_000 // len(piece)))

    assert time.perf_counter() - started < 3  # 0.5 s on a busy machine; a square would take hours
    assert not found.is_whole
    assert len(found.commands) <= MAX_COMMANDS


def test_a_long_quoted_text_is_one_word() -> None:
    text = f"cat > a.txt <<'EOF'\n{'git commit; ' * 15_000}\nEOF\ngit commit -m '{'x; ' * 20_000}'"

    found = simple_commands(text)

    assert found.is_whole
    assert [one.words[0] for one in found.commands] == ["cat", "git"]
