"""`osiris prices show` over a fake desk, and over a home without an owner."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from osiris.home import Home
from osiris.prices_data import PriceBook
from tests.server.fake_desk import Cli


@pytest.fixture
def cli(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Cli:
    made = Cli(capsysbinary, monkeypatch)
    made.change = lambda context: replace(context, home=Home(str(tmp_path)), is_owned=lambda: False)
    return made


def test_the_table_is_dated_fits_80_columns_and_asks_nobody(cli: Cli) -> None:
    assert cli.run("prices", "show") == 0

    lines = cli.said.splitlines()
    assert lines[0] == "USD per million tokens, as of 2026-11"
    assert max(map(len, lines)) <= 80
    opus = next(line for line in lines if line.startswith("claude-opus-5-5"))
    assert opus.split()[1:] == ["4", "20", "0.2", "5", "8", "built-in"]
    assert cli.desk.asked == []


def test_an_owner_is_asked_so_that_it_reads_the_file_again(cli: Cli) -> None:
    cli.change = lambda context: context
    cli.desk.answers["prices"] = PriceBook().listing("claude-opus-5-5")

    assert cli.run("prices", "show", "claude-opus-5-5") == 0
    assert cli.desk.asked == [("prices", {"model": "claude-opus-5-5"}, b"")]
    assert "  cache write 1 h  8\n" in cli.said
    assert "  cache lives      300 s or 3,600 s\n" in cli.said


def test_an_unknown_model_is_exit_1_and_tokens_only(cli: Cli) -> None:
    assert cli.run("prices", "show", "x\x1b[1m") == 1

    assert cli.said == "no price for x\\u001b[1m: its tokens are counted, not its cost\n"


def test_a_file_that_cannot_be_used_is_exit_1_and_the_built_in_prices_are_shown(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "prices.json").write_text('{"models": [{"input": 2}]}')

    code, found = cli.json("prices", "show")
    assert (code, found["problem"]["code"], len(found["models"])) == (1, "bad_prices", 47)
    assert cli.run("prices", "show", "claude-opus-5-5") == 1
    assert cli.told.startswith("error bad_prices: model 1 of the price file is wrong: ")
    assert "the built-in prices hold" in cli.told


def test_rows_of_the_file_are_marked(cli: Cli, tmp_path: Path) -> None:
    rows = [{"model": "mine", "input": 0.1, "output": 0.2}]
    (tmp_path / "prices.json").write_text(json.dumps({"models": rows}))

    cli.run("prices", "show")

    [mine] = [line.split() for line in cli.said.splitlines() if line.startswith("mine ")]
    assert mine == ["mine", "0.1", "0.2", "0.1", "0.1", "0.1", "yours"]
