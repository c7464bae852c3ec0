import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from bench.footprint import BUDGETS, broken, measure_listing
from osiris.core.commands import arguments_of
from osiris.server.tools import OPERATIONS, Flavour, instructions, operation, schemas_json, specs
from tests.server.fake_service import FakeService
from tests.server.raw_client import FLAVOURS, initialized, settings_of

# what is understood without being listed; see rule 4 of osiris/server/tools.py
UNLISTED = {
    "plan": {"key"},
    "precheck": {"key"},
    "observe": {"key"},
    "recall": {"key"},
    "checkpoint": {"key"},
    "handoff": {"key", "cursor"},
}


def listed(flavour: Flavour) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = json.loads(schemas_json(flavour))
    return tools


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema inside `schema`, itself first."""
    yield schema
    for child in schema.get("properties", {}).values():
        yield from objects_in(child)
    if "items" in schema:
        yield from objects_in(schema["items"])


@pytest.mark.promise("budget-footprint")
def test_listings_and_instructions_stay_inside_their_budgets() -> None:
    measured = measure_listing()

    assert {name: n for name, n in measured.items() if n > BUDGETS.get(name, n)} == {}
    assert measured.keys() - BUDGETS.keys() == {"six_tools_as_json_tokens"}


def test_each_broken_budget_is_named() -> None:
    listing = {**BUDGETS, "dispatch_tokens": 61}

    assert broken(listing, 121, {"plan": 40, "resume": 601}) == [
        "dispatch_tokens: 61, the budget is 60",
        "reply of resume: 601, the budget is 600",
        "manifest_tokens: 121, the budget is 120",
    ]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_no_provider_finds_anything_to_reject(flavour: Flavour) -> None:
    for tool in listed(flavour):
        schema = tool["inputSchema"]
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) < set(schema["properties"])
        for part in objects_in(schema):
            keys = {"type", "properties", "required", "additionalProperties", "items", "enum"}
            assert set(part) <= keys
            assert isinstance(part["type"], str)
            assert part["type"] != "array" or part["items"] == {"type": "string"}
        if flavour != "dotted":
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_tool_lists_the_arguments_its_command_has(name: str) -> None:
    spec = next(spec for spec in specs("portable") if spec.name == name)

    arguments = set(arguments_of(name))

    assert set(spec.input_schema["properties"]) == arguments - UNLISTED[name]
    assert UNLISTED[name] <= arguments


def test_enumerations_are_the_ones_the_commands_know() -> None:
    from osiris.core import commands  # noqa: PLC0415  read as data below

    enums = {
        (spec.name, argument): part["enum"]
        for spec in specs("portable")
        for argument, part in spec.input_schema["properties"].items()
        if "enum" in part
    }

    assert enums == {
        ("plan", "mode"): list(get_args(commands.PlanMode)),
        ("observe", "kind"): list(get_args(commands.ObserveKind)),
        ("recall", "op"): list(get_args(commands.RecallOp)),
        ("checkpoint", "mode"): list(get_args(commands.CheckpointMode)),
        ("handoff", "op"): list(get_args(commands.HandoffOp)),
    }


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_first_line_of_the_instructions_says_when_to_plan(flavour: Flavour) -> None:
    first = instructions(flavour).splitlines()[0]

    expected = {"portable": "osiris_plan(", "dotted": "osiris.plan(", "dispatch": "op=plan"}
    assert first.startswith("Call osiris")
    assert expected[flavour] in first
    assert "when" in first


def test_names_and_descriptions_carry_the_words_agents_search_for() -> None:
    text = " ".join(f"{spec.name} {spec.description}" for spec in specs("portable")).lower()

    words = "task state memory resume handoff grep search large output delegate loop duplicate"
    assert [word for word in words.split() if word not in text] == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("osiris_plan", "plan"),
        ("osiris.handoff", "handoff"),
        ("osiris.call", "call"),
        ("plan", None),
        ("osiris_Plan", None),
        ("osiris_", None),
        ("osiris-plan", None),
    ],
)
def test_a_tool_is_known_by_its_portable_and_its_dotted_name(name: str, found: str | None) -> None:
    assert operation(name) == found


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_what_is_listed_is_what_was_measured(flavour: Flavour) -> None:
    async with initialized(FakeService(), settings_of(flavour)) as client:
        result = (await client.ask("tools/list"))["result"]

    shown = [
        {key: tool[key] for key in ("name", "description", "inputSchema")}
        for tool in result["tools"]
    ]
    assert shown == listed(flavour)
    assert result.keys() == {"tools"}
    for tool in result["tools"]:
        assert tool.keys() == {"name", "title", "description", "inputSchema", "annotations"}
        assert tool["title"] == "osiris." + re.split(r"[._]", tool["name"])[1]


_PRINT_LISTS = """
import json, trio
from tests.server.fake_service import FakeService
from tests.server.raw_client import ENVELOPE, FLAVOURS, connected, new_host, request, settings_of

async def main():
    for flavour in FLAVOURS:
        async with connected(new_host(FakeService(), settings_of(flavour))) as client:
            await client.send(request(1, "tools/list", {"_meta": ENVELOPE}))
            print(json.dumps(await client.reply()))

trio.run(main)
"""


def test_lists_are_the_same_bytes_in_every_process() -> None:
    root = Path(__file__).parents[2]
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_LISTS],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(printed) == 1
    for line in printed.pop().splitlines():
        result = json.loads(line)["result"]
        assert (result["cacheScope"], result["ttlMs"]) == ("private", 3_600_000)
