"""The prices that hold: the built-in table, and a user's file over it that may be anything."""

import json
from pathlib import Path
from typing import Any

import pytest

from osiris.core import prices
from osiris.core.prices import Usage
from osiris.prices_data import PriceBook, shipped

OWN = {
    "as_of": "2026-12",
    "models": [
        {"model": "claude-opus-5", "cache_read": 0.4},
        {"model": "mine", "input": 1.0, "output": 2.0},
    ],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prices.json"


def written(path: Path, content: object) -> PriceBook:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return PriceBook(path)


def row(book: PriceBook, model: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = book.listing()["models"]
    [found] = [row for row in rows if row["model"] == model]
    return found


def test_without_a_file_the_built_in_table_holds_with_its_date_and_sources(path: Path) -> None:
    found = PriceBook(path).listing()

    assert (found["as_of"], found["file"], found["problem"]) == ("2026-11", "", None)
    assert len(found["sources"]) == 2
    assert len(found["models"]) == 47
    assert {row["from"] for row in found["models"]} == {"built-in"}


def test_a_file_wins_field_by_field_and_its_rows_are_marked(path: Path) -> None:
    book = written(path, OWN)

    opus, mine, other = (row(book, name) for name in ("claude-opus-5", "mine", "claude-opus-4-5"))
    assert (opus["cache_read"], opus["input"], opus["from"]) == (0.4, 5.0, "yours")
    assert (mine["effective"]["cache_write"], mine["from"]) == (1.0, "yours")
    assert other["from"] == "built-in"
    assert (book.listing()["file"], book.listing()["file_as_of"]) == (str(path), "2026-12")


@pytest.mark.promise("S2-cost", "bad-input")
@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"models": [{"input": 2}]}',
        '{"models": [{"model": "claude-opus-5", "input": -1}]}',
        '{"models": [{"model": "claude-opus-5", "input": 1e9}]}',
        '{"models": [{"model": "claude-opus-5", "input": "cheap"}]}',
        '{"models": [{"model": "", "input": 1}]}',
        " " * (1 << 20) + "{}",
    ],
    ids=[
        "empty", "no JSON", "a list", "no model", "negative", "absurd", "text", "no name", "large",
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_and_the_built_in_prices_hold(
    path: Path, content: str
) -> None:
    book = written(path, content)

    assert book.problem is not None
    assert (book.problem.code, bool(book.problem.fix)) == ("bad_prices", True)
    assert book.now == shipped()


def test_a_folder_in_place_of_the_file_is_named_too(path: Path) -> None:
    path.mkdir()

    book = PriceBook(path)

    assert book.problem is not None
    assert book.problem.what.startswith(f"{path} cannot be read: ")


def test_a_mended_file_holds_once_it_is_read_again(path: Path) -> None:
    book = written(path, "{")
    path.write_text(json.dumps(OWN))

    book.read()

    mine = prices.find(book.now, "mine")
    assert book.problem is None
    assert mine is not None
    assert prices.cost_microusd(mine, Usage(input=1_000)) == 1_000


def test_one_model_comes_with_what_its_cache_does(path: Path) -> None:
    found = PriceBook(path).listing("us.anthropic.claude-haiku-4-5-20251001-v1:0")

    [haiku] = found["models"]
    assert haiku["model"] == "claude-haiku-4-5"
    assert (haiku["cache"]["kind"], haiku["cache"]["ttl_s"]) == ("anthropic", (300, 3_600))


def test_an_unknown_model_is_named_and_gets_no_price(path: Path) -> None:
    found = PriceBook(path).listing("gpt-5-nano")

    assert (found["models"], found["unknown"]) == ([], "gpt-5-nano")
