"""Globs: what they match, compared with wcmatch, and how long they may take."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcmatch import glob as wcmatch

from osiris.core.invariant_globs import BadGlobError, Globs, Kind, folded

SAME_RULES = wcmatch.GLOBSTAR | wcmatch.DOTGLOB | wcmatch.FORCEUNIX | wcmatch.IGNORECASE


def fits(glob: str, text: str, kind: Kind = "path") -> bool:
    return Globs([glob], kind).first([text]) is not None


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("tests/**", "tests/a/b.py", True),
        ("tests/**", "tests/.hidden", True),
        ("tests/**", "tests", True),
        ("tests/**", "tests2/a", False),
        ("tests/**", "a/tests/b", False),
        ("tests/", "tests/a/b", True),
        ("./tests/*", "tests/a", True),
        ("tests/*", "tests/a/b", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("*.py", "a/b.py", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "axb", False),
        ("**", "a/b", True),
        ("*", "a/b", False),
        ("?.py", "a.py", True),
        ("?.py", "/.py", False),
        ("[a-c].py", "b.py", True),
        ("[!a-c].py", "b.py", False),
        ("[!a]b", "/b", False),
        ("[]a]", "]", True),
        ("[a-]", "-", True),
        ("*.{js,ts}", "a.ts", True),
        ("{src,lib}/**", "lib/a/b", True),
        ("{src/**,a}/x", "src/q/x", True),
        ("**/.env*", "/home/x/.env.local", True),
        ("TESTS/**", "tests/É", True),
        ("caf\u00e9/*", "cafe\u0301/a", True),
        ("a.c", "abc", False),
        ("a+(b)$|^", "a+(b)$|^", True),
        ("a,b}", "a,b}", True),
        ("**/x\u2028", "x", False),
    ],
)
def test_a_path_matches_as_in_a_shell_with_globstar(glob: str, path: str, *, matches: bool) -> None:
    if not glob.isprintable():
        with pytest.raises(BadGlobError):
            fits(glob, path)
    else:
        assert fits(glob, path) is matches


PIECES = st.lists(
    st.sampled_from(["a", "b", "ab", ".", "-", "*", "**", "/", "?", "[ab]", "[!a]"]),
    min_size=1,
    max_size=7,
)
SEGMENT = st.text("ab.-", min_size=1, max_size=3).filter(lambda name: name not in {".", ".."})
PATHS = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)


@given(PIECES.map("".join), PATHS)
def test_globs_agree_with_wcmatch(glob: str, path: str) -> None:
    """But for `a/**`, which is `a` too, `a/`, which is `a/**`, and what only one of them takes."""
    odd = glob.endswith("/") or "***" in glob or {".", ".."} & set(glob.split("/"))
    below = glob.removesuffix("/**")
    theirs = any(wcmatch.globmatch(path, each, flags=SAME_RULES) for each in {glob, below})

    assert odd or fits(glob, path) is theirs


@pytest.mark.parametrize(
    ("glob", "name", "matches"),
    [
        ("git.commit", "git.commit", True),
        ("git_commit", "git.commit", True),
        ("git commit", "git.commit", True),
        ("Git-Commit", "git.commit", True),
        ("git.*", "git.commit", True),
        ("git.*", "git", False),
        ("*commit*", "git.commit.x", True),
        ("{npm,pnpm}.test", "pnpm.test", True),
        ("git", "git.commit", False),
    ],
)
def test_a_name_matches_in_its_folded_form(glob: str, name: str, *, matches: bool) -> None:
    assert fits(glob, folded(name), "name") is matches


def test_in_a_text_a_star_stands_for_anything() -> None:
    assert fits("*--force*", "a/b\n --force\n c", "text")
    assert not fits("--force", "a --force", "text")


def test_the_first_candidate_that_matches_is_told() -> None:
    globs = Globs(["b*", "c"], "path")

    assert globs.first(["a", "bb", "c"]) == "bb"
    assert globs.first(["a"]) is None
    assert globs.first([]) is None
    assert Globs([], "path").first(["a"]) is None


@pytest.mark.parametrize(
    ("texts", "kind", "is_for_all"),
    [
        (["**"], "path", True),
        (["**/*"], "path", True),
        (["{**,a}"], "path", True),
        (["[!0]**", "0**"], "path", False),
        (["*", "*/**"], "path", True),
        (["*"], "path", False),
        (["src/**"], "path", False),
        (["*"], "name", True),
        (["?*"], "name", True),
        (["*.*"], "name", False),
        (["*"], "text", True),
    ],
)
def test_globs_that_match_everything_are_known(
    texts: list[str], kind: Kind, *, is_for_all: bool
) -> None:
    assert Globs(texts, kind).is_for_all() is is_for_all


@pytest.mark.parametrize(
    ("glob", "kind", "what"),
    [
        ("*" * 10_000, "path", "has 10,000 wildcards"),
        ("*a" * 10_000, "name", "has 10,000 wildcards"),
        ("a" * 201, "path", "of 201 characters"),
        ("", "path", "of 0 characters"),
        ("  ", "text", "of 2 characters"),
        ("a\nb", "path", "of 3 characters"),
        ("tests\\**", "path", "has a \\"),
        ("!tests/**", "path", "is a negation"),
        ("[a-c]", "name", "has a ["),
        ("[abc", "path", "does not close a bracket"),
        ("[z-a]", "path", "has a bad range"),
        ("{a,b", "path", "does not close a brace"),
        ("{a{b{c{d{e}}}}}", "path", "nests braces"),
    ],
)
def test_a_glob_that_is_not_taken_says_why_and_what_to_write(
    glob: str, kind: Kind, what: str
) -> None:
    with pytest.raises(BadGlobError) as caught:
        Globs([glob], kind)

    assert what in caught.value.what
    assert len(caught.value.what) < 120
    assert caught.value.fix


def test_a_condition_holds_a_limited_number_of_globs() -> None:
    with pytest.raises(BadGlobError, match="65 globs"):
        Globs(["a"] * 65, "path")
    with pytest.raises(BadGlobError, match="4,005 characters"):
        Globs(["a" * 89] * 45, "path")


GLOB_TEXT = st.text("[]!-^az9\\*?{},/.~&|: é$()+\u0301", max_size=12)


@given(GLOB_TEXT, st.sampled_from(["path", "name", "text"]), st.text(max_size=9))
def test_any_glob_is_taken_or_refused_in_words(glob: str, kind: Kind, text: str) -> None:
    try:
        globs = Globs([glob], kind)
    except BadGlobError:
        return
    assert globs.first([text]) in {None, text.encode("utf-8", "replace").decode()} or "\n" in text


@pytest.mark.parametrize(
    ("glob", "kind", "text"),
    [
        ("*a" * 15 + "*b", "name", "a" * 1_000_000),
        ("**/a/" * 8 + "b", "path", "a/" * 500_000),
        ("**/*" * 5 + "?b", "path", "a/" * 500_000),
        ("*" + "{a,aa}" * 4 + "*" + "[!b]*" * 4 + "b", "text", "a" * 1_000_000),
    ],
)
def test_the_worst_glob_allowed_takes_linear_time(glob: str, kind: Kind, text: str) -> None:
    globs = Globs([glob] * 4, kind)
    started = time.perf_counter()

    assert globs.first([text]) is None
    assert time.perf_counter() - started < 2  # 10 ms; wcmatch: 2.5 s at three `**/` and 1,000 `a/`
