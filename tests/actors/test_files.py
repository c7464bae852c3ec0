"""Reading files under roots: what is read, what is refused, and that nothing leads out."""

import hashlib
import os
import socket
from functools import partial
from pathlib import Path

import pytest
import trio

from osiris.core.errors import Refusal
from osiris.core.fileops import Place
from osiris_actors.file_walk import NotRead, open_by_path
from osiris_actors.files import LIMIT_BYTES, FileRead, Files, read_file

needs_links = pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root with files, beside a folder whose name begins like it and a secret."""
    allowed = tmp_path / "allowed é'"
    (allowed / "sub").mkdir(parents=True)
    (allowed / "a.txt").write_bytes(b"one\r\ntwo")
    (allowed / "sub" / "b.txt").write_text("b")
    evil = tmp_path / "allowed é'-evil"
    evil.mkdir()
    (evil / "secret.txt").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    return allowed


def read(path: Path | str, root: Path) -> FileRead | Refusal:
    return read_file(str(path), (str(root),), LIMIT_BYTES)


def code(path: Path | str, root: Path) -> str:
    answer = read(path, root)
    return answer.code if isinstance(answer, Refusal) else "read"


def open_files() -> set[str]:
    descriptors = Path("/proc/self/fd")
    return {entry.name for entry in descriptors.iterdir()} if descriptors.is_dir() else set()


async def test_a_file_is_read_with_hash_and_time_of_its_raw_bytes(root: Path) -> None:
    status = (root / "a.txt").stat()

    assert await Files().read("a.txt", (str(root),)) == FileRead(
        path=str(root / "a.txt"),
        data=b"one\r\ntwo",
        mtime_ns=status.st_mtime_ns,
        size=8,
        sha256=hashlib.sha256(b"one\r\ntwo").hexdigest(),
    )


async def test_the_blocking_part_is_one_call_that_can_be_replaced(root: Path) -> None:
    calls: list[object] = []

    async def in_place(work: partial[FileRead | Refusal]) -> FileRead | Refusal:
        calls.append(work)
        await trio.lowlevel.checkpoint()
        return work()

    # a stand-in for one kind of work, where the real one takes any
    answer = await Files(in_place).read("a.txt", (str(root),))  # type: ignore[arg-type]

    assert isinstance(answer, FileRead)
    assert len(calls) == 1


def test_text_of_any_shape_is_read_as_it_is(root: Path) -> None:
    for data in (b"", b"a\x00b\n", "\ufeffé漢🍸\u2028".encode(), b"\r\n\r", b"x" * 100_000):
        (root / "t").write_bytes(data)
        answer = read("t", root)
        assert isinstance(answer, FileRead)
        assert answer.data == data


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("../secret.txt", "outside_roots"),
        ("sub/../../secret.txt", "outside_roots"),
        ("{tmp}/allowed é'-evil/secret.txt", "outside_roots"),
        ("/etc/passwd", "outside_roots"),
        ("nothing.txt", "not_found"),
        ("a.txt/x", "not_found"),
        ("nothing/../a.txt", "read"),
        ("sub", "not_a_file"),
        ("", "bad_argument"),
        (".", "not_a_file"),
        ("a.txt\x00", "bad_argument"),
        ("n" * 300, "not_found"),
    ],
)
def test_what_is_not_a_file_under_the_roots_is_refused(root: Path, path: str, refused: str) -> None:
    assert code(path.replace("{tmp}", str(root.parent)), root) == refused


@pytest.mark.promise("roots")
def test_without_roots_nothing_is_read(root: Path) -> None:
    answer = read_file(str(root / "a.txt"), (), LIMIT_BYTES)

    assert isinstance(answer, Refusal)
    assert answer.code == "no_roots"


def test_a_second_root_is_tried_for_a_relative_path(root: Path) -> None:
    answer = read_file("b.txt", (str(root), str(root / "sub")), LIMIT_BYTES)

    assert isinstance(answer, FileRead)
    assert answer.data == b"b"


@needs_links
def test_links_within_a_root_are_followed(root: Path) -> None:
    (root / "inner").symlink_to("sub/b.txt")
    (root / "sub" / "up").symlink_to("../a.txt")
    (root / "whole").symlink_to(root / "sub" / "b.txt")
    (root / "folder").symlink_to("sub")
    (root / "chain").symlink_to("folder/up")

    assert [code(name, root) for name in ("inner", "sub/up", "whole", "folder/b.txt", "chain")] == [
        "read"
    ] * 5


@needs_links
@pytest.mark.promise("roots")
def test_no_link_leads_out(root: Path) -> None:
    outside = root.parent / "secret.txt"
    (root / "abs").symlink_to(outside)
    (root / "rel").symlink_to("../secret.txt")
    (root / "dir").symlink_to(root.parent)
    (root / "evil").symlink_to(root.parent / "allowed é'-evil")
    (root / "sub" / "deep").symlink_to("../../secret.txt")
    (root / "chain").symlink_to("abs")
    (root / "dangling").symlink_to(root.parent / "not-there.txt")
    (root / "etc").symlink_to("/etc")

    names = (
        "abs", "rel", "dir/secret.txt", "evil/secret.txt", "sub/deep", "chain", "dangling",
        "etc/passwd", "dir/new.txt",
    )  # fmt: skip
    assert [code(name, root) for name in names] == ["outside_roots"] * len(names)


@needs_links
def test_a_circle_of_links_ends(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    (root / "self").symlink_to("self/self/self")

    assert [code(name, root) for name in ("one", "self")] == ["not_found"] * 2


@needs_links
def test_a_root_may_itself_be_a_link(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    (root / "inner").symlink_to(root / "a.txt")

    assert code("a.txt", root.parent / "link") == "read"
    assert code("inner", root.parent / "link") == "read"


@needs_links
async def test_pipes_sockets_and_devices_are_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "to-pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(root)  # the path of a socket is short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)

        with trio.fail_after(5):
            found = [
                await Files().read(name, (str(root),)) for name in ("pipe", "to-pipe", "socket")
            ]

    assert [isinstance(answer, Refusal) and answer.code for answer in found] == ["not_a_file"] * 3
    assert code("null", Path("/dev")) == "not_a_file"


def test_a_file_above_the_limit_is_refused_before_it_is_read(root: Path) -> None:
    with (root / "large").open("wb") as file:
        file.truncate(LIMIT_BYTES + 1)

    assert code("large", root) == "payload_too_large"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_a_file_that_says_it_is_empty_is_read_to_its_end() -> None:
    answer = read("self/status", Path("/proc"))

    assert isinstance(answer, Refusal | FileRead)
    if isinstance(answer, FileRead):
        assert b"Pid:" in answer.data


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "hexdump"),
        (b"\x00" * 100, "NUL"),
        ("text".encode("utf-16"), "iconv"),
        ("é".encode("latin-1"), "UTF-8"),
        (b"ok \xed\xa0\x80", "UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_with_what_to_do(root: Path, data: bytes, word: str) -> None:
    (root / "binary").write_bytes(data)

    answer = read("binary", root)

    assert isinstance(answer, Refusal)
    assert answer.code == "binary_file"
    assert word in answer.text()


@needs_links
@pytest.mark.skipif(os.name != "nt" and os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_refused(root: Path) -> None:
    (root / "a.txt").chmod(0)

    assert code("a.txt", root) == "not_found"


@needs_links
def test_no_descriptor_is_left_open(root: Path) -> None:
    (root / "out").symlink_to("../secret.txt")
    before = open_files()

    for path in ("a.txt", "sub/b.txt", "out", "sub", "nothing", "sub/../a.txt"):
        read(path, root)

    assert open_files() == before


@needs_links
def test_by_real_path_the_same_holds(root: Path) -> None:
    (root / "inner").symlink_to("sub/b.txt")
    (root / "out").symlink_to("../secret.txt")
    roots = (str(root),)

    descriptor, path = open_by_path(Place(str(root), ("inner",)), roots, "inner")
    os.close(descriptor)

    assert path == str((root / "sub" / "b.txt").resolve())
    for name, refused in (("out", "outside_roots"), ("sub", "not_a_file")):
        with pytest.raises(NotRead) as caught:
            open_by_path(Place(str(root), (name,)), roots, name)
        assert caught.value.refusal.code == refused
    with pytest.raises(FileNotFoundError):
        open_by_path(Place(str(root), ("nothing",)), roots, "nothing")
