"""Which file a path means: tables, for both kinds of system."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.errors import Refusal
from osiris.core.fileops import Place, resolve

ROOTS = ("/home/me/project", "/srv/data")
WINDOWS = ("C:\\Users\\Me\\Project", "\\\\server\\share\\data")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/home/me/project/a/b.txt", Place("/home/me/project", ("a", "b.txt"))),
        ("/home/me/project/./a//b.txt", Place("/home/me/project", ("a", "b.txt"))),
        ("/home/me/project/a/../b.txt", Place("/home/me/project", ("b.txt",))),
        ("/home/me/other/../project/b", Place("/home/me/project", ("b",))),
        ("/srv/data/x y-é'.txt", Place("/srv/data", ("x y-é'.txt",))),
        ("/home/me/project", Place("/home/me/project", ())),
        ("a\\b", Place("/home/me/project", ("a\\b",))),
        ("C:/x", Place("/home/me/project", ("C:", "x"))),
        ("~/x", Place("/home/me/project", ("~", "x"))),
    ],
)
def test_a_path_under_a_root_is_its_parts_below_it(path: str, place: Place) -> None:
    places = resolve(path, ROOTS)

    assert not isinstance(places, Refusal)
    assert places[0] == place


def test_a_relative_path_is_tried_under_each_root() -> None:
    assert resolve("a/../b", ROOTS) == tuple(Place(root, ("b",)) for root in ROOTS)


def test_the_innermost_root_comes_first() -> None:
    assert resolve("/a/b/c", ("/a", "/a/b")) == (Place("/a/b", ("c",)), Place("/a", ("b", "c")))


@pytest.mark.parametrize(
    "path",
    [
        "/home/me/project-evil/x",
        "/home/me/projec",
        "/home/me/project/../x",
        "/home/me/project/../project-evil/x",
        "/home/me/PROJECT/x",
        "/etc/passwd",
        "/",
        "../x",
        "a/../../x",
        "//home/me",
        "/home/me/project/../../../etc/passwd",
    ],
)
def test_a_path_out_of_the_roots_is_refused(path: str) -> None:
    answer = resolve(path, ROOTS)

    assert isinstance(answer, Refusal)
    assert answer.code == "outside_roots"


@pytest.mark.parametrize("roots", [(), ("",), ("relative",), ("./x",), ("/a\x00b",), ("/../x",)])
def test_without_a_root_no_file_is_read(roots: tuple[str, ...]) -> None:
    answer = resolve("/etc/passwd", roots)

    assert isinstance(answer, Refusal)
    assert answer.code == "no_roots"


@pytest.mark.parametrize("path", ["", "a\x00b", "/srv/data/a\x00", "x" * 5_000, "a\ud800"])
def test_a_path_that_is_no_path_is_refused(path: str) -> None:
    answer = resolve(path, ROOTS)

    assert isinstance(answer, Refusal)
    assert answer.code == "bad_argument"
    assert len(answer.text()) < 400


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("C:\\Users\\Me\\Project\\a.txt", Place(WINDOWS[0], ("a.txt",))),
        ("c:\\users\\me\\project\\A.txt", Place(WINDOWS[0], ("A.txt",))),
        ("C:/Users/Me/Project/a/../b.txt", Place(WINDOWS[0], ("b.txt",))),
        ("\\\\SERVER\\Share\\data\\x", Place(WINDOWS[1], ("x",))),
        ("//server/share/data/x", Place(WINDOWS[1], ("x",))),
        ("sub\\a.txt", Place(WINDOWS[0], ("sub", "a.txt"))),
        ("a b-c'é.txt", Place(WINDOWS[0], ("a b-c'é.txt",))),
        (".gitignore", Place(WINDOWS[0], (".gitignore",))),
        ("console.txt", Place(WINDOWS[0], ("console.txt",))),
    ],
)
def test_windows_paths_ignore_case_and_take_both_separators(path: str, place: Place) -> None:
    places = resolve(path, WINDOWS, windows=True)

    assert not isinstance(places, Refusal)
    assert places[0] == place


@pytest.mark.parametrize(
    "path",
    [
        "C:\\Users\\Me\\Project-evil\\a.txt",
        "D:\\Users\\Me\\Project\\a.txt",
        "C:a.txt",
        "C:",
        "C:..\\x",
        "\\Users\\Me\\Project\\a.txt",
        "\\\\?\\C:\\Users\\Me\\Project\\a.txt",
        "\\\\.\\PhysicalDrive0",
        "\\\\.\\pipe\\x",
        "\\??\\C:\\Users\\Me\\Project\\a.txt",
        "\\\\server",
        "\\\\server\\other\\data\\x",
        "..\\x",
        "a\\..\\..\\x",
        "a/..\\../x",
        "NUL",
        "nul.txt",
        "sub\\COM1",
        "COM\u00b9.log",
        "aux .txt",
        "a.txt:stream",
        "a.txt::$DATA",
        "a.txt.",
        "a.txt ",
        "sub.\\a.txt",
        "a*.txt",
        "a|b",
        "é:\\x",
    ],
)
def test_windows_shapes_that_mean_another_file_are_refused(path: str) -> None:
    answer = resolve(path, WINDOWS, windows=True)

    assert isinstance(answer, Refusal)
    assert answer.code == "outside_roots"


PARTS = st.sampled_from(["a", "..", ".", "", "project", "b.txt", "~", "\\", "C:", "..."])


CASES = st.sampled_from(
    [
        ("", ROOTS, False),
        ("/home/me/project/", ROOTS, False),
        ("", WINDOWS, True),
        ("C:/Users/Me/Project/", WINDOWS, True),
    ]
)


@given(CASES, st.lists(PARTS, max_size=8).map("/".join))
def test_no_path_is_resolved_to_parts_that_climb(
    case: tuple[str, tuple[str, ...], bool], path: str
) -> None:
    prefix, roots, windows = case

    places = resolve(prefix + path, roots, windows=windows)

    for place in () if isinstance(places, Refusal) else places:
        assert place.root in roots
        assert not {"", ".", ".."} & set(place.parts)
