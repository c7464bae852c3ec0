"""The JSON Schema of the rules file: editors and the parser say the same."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import osiris
from osiris.core.errors import Refusal
from osiris.core.invariant_rules import Rules
from osiris.core.invariants import parse
from tests.core.invariant_cases import FULL, SEED, refusal
from tests.core.invariant_files import OF_SHAPE

SCHEMA: dict[str, Any] = json.loads(
    (Path(osiris.__file__).parent / "invariants_schema.json").read_text("utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def takes(text: str) -> bool:
    return VALIDATOR.is_valid(tomllib.loads(text))  # pyright: ignore[reportUnknownMemberType]  its stub leaves `_schema` untyped


def test_the_schema_is_one_and_every_part_of_it_is_explained() -> None:
    VALIDATOR.check_schema(SCHEMA)

    assert all("description" in table for table in SCHEMA["properties"].values())


@pytest.mark.parametrize("text", [SEED.decode(), FULL, ""])
def test_the_schema_takes_what_the_parser_takes(text: str) -> None:
    assert takes(text)


@pytest.mark.parametrize(("file", "where", "fix"), OF_SHAPE)
def test_the_schema_refuses_what_is_wrong_in_shape(file: str, where: str, fix: str) -> None:
    assert refusal(file)
    assert not takes(file)


SNIPPETS = st.sampled_from([
    "[[invariant]]\n", "[[state]]\n", "[[check]]\n", "[[example]]\n", "[invariant]\n",
    "id = 'a'\n", "id = 'b'\n", "name = 'a'\n", "when = { tool = 'x' }\n", "when = 3\n",
    "when = { path_glob = ['a', '['] }\n", "when = { args = { a = 1.5 }, agent = 'x' }\n",
    "require = { state = 'a' }\n", "set_by = 'x'\n", "files = []\n", "command = ['a', 3]\n",
    "command = 'x'\n", "expect = 'allow'\n", "states = ['a']\n", "verdict = 'warn'\n",
    "call = { tool = 'x', args = { a = [[1]] } }\n", "invariant = 3\n", "check = [3]\n",
    "args.a.b = 1\n", "a = inf\n", "when.args.'`' = {}\n", 'when."a b\\n" = 1\n',
])  # fmt: skip


@given(st.lists(SNIPPETS, max_size=12).map("".join))
def test_any_tables_are_rules_or_a_refusal_and_the_schema_takes_what_is_rules(text: str) -> None:
    found = parse(text.encode())

    assert isinstance(found, Refusal) or (isinstance(found, Rules) and takes(text))
