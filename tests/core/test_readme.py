"""The README and its neighbours say what the code says.

Rule 1: what is generated must be what the generator makes now: `make docs ARGS=--tables` mends it.
Rule 2: what is written by hand may name only what exists: commands, settings, codes, files, links.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dev
from bench import footprint, promises, readme, readme_script, readme_tables
from osiris import config
from osiris.cli.commands import COMMANDS
from osiris.config import Settings
from osiris.core import commands, prices
from osiris.core.errors import CODES, Refusal
from osiris.core.prices import Prices
from osiris.home import Home
from osiris.prices_data import with_override

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "DECISIONS.md", "CHANGELOG.md")
TEXTS = {name: (ROOT / name).read_text("utf-8") for name in DOCUMENTS}
README = TEXTS["README.md"]

NOT_SETTINGS = {"OSIRIS_PYTHON"}
NETWORK = {
    "aiohttp", "anthropic", "ftplib", "httpx", "openai", "requests", "smtplib", "ssl", "urllib",
    "urllib3", "websockets",
}  # fmt: skip
DIALS = {"connect", "create_connection", "open_tcp_stream", "open_unix_socket"}


def calls(text: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield tool, arguments and the first line of the reply of every call that is shown."""
    shown = re.findall(r"^> (?:\(\w+\) )?osiris_(\w+) (\{.*\})\n(.*)$", text, re.MULTILINE)
    yield from ((tool, json.loads(args), reply) for tool, args, reply in shown)


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


def dialled(tree: ast.AST) -> set[str]:
    """Return the calls that could reach another machine, and the libraries made for it."""
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return (imported & NETWORK) | (called & DIALS)


@pytest.mark.promise("readme")
@pytest.mark.parametrize("name", readme.TABLES)
def test_a_generated_table_is_what_the_code_says_now(name: str) -> None:
    assert readme.parts(README)[name] == readme.TABLES[name](), "make docs ARGS=--tables"


def test_a_table_that_differs_is_called_stale() -> None:
    changed = readme.filled(README, {"exits": "| nothing |"})

    assert set(readme.stale(changed)) == {"exits", *readme.stale(README)}


def test_filling_a_part_leaves_the_others_alone() -> None:
    text = (
        "a\n<!-- generated: x -->\nold\n<!-- end: x -->\nb\n<!-- generated: y -->\n<!-- end: y -->"
    )

    assert readme.filled(text, {"x": "new"}) == text.replace("\nold\n", "\n\nnew\n\n")
    assert readme.parts(readme.filled(text, {"x": "new"})) == {"x": "new", "y": ""}


def test_every_part_is_made_and_everything_made_has_a_part() -> None:
    examples = {f"example-{name}" for name in (*readme_script.SESSION, *readme_script.TYPED)}

    assert readme.parts(README).keys() == readme.TABLES.keys() | examples | {"numbers"}
    assert [name for name, text in readme.parts(README).items() if not text] == []


def test_every_setting_has_a_text() -> None:
    fields = {field.name for field in msgspec.structs.fields(Settings)}

    assert fields - readme_tables.SETTINGS.keys() == set(), "write it in bench/readme_tables.py"


@pytest.mark.promise("readme")
def test_every_call_that_is_shown_is_one_the_tools_take() -> None:
    wrong = [
        (tool, args)
        for tool, args, reply in calls(README)
        if isinstance(commands.parse(tool, args), Refusal) and not reply.startswith("error ")
    ]

    assert wrong == []
    assert {tool for tool, _, _ in calls(README)} == set(commands.TYPES)


@pytest.mark.promise("readme")
def test_every_command_that_is_shown_exists() -> None:
    typed = re.findall(r"(?:^\$ |\| |`)osiris (\w+)", README, re.MULTILINE)
    made = re.findall(
        r"`?make (\w+)", "\n".join([*blocks(README, "sh"), *re.findall("`.*?`", README)])
    )
    benches = re.findall(r"python -m (bench\.\w+)", README)

    assert set(typed) - COMMANDS.keys() == set()
    assert set(made) - dev.COMMANDS.keys() == set()
    assert [name for name in benches if not (ROOT / f"{name.replace('.', '/')}.py").is_file()] == []


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md"])
def test_every_setting_and_code_that_is_named_exists(document: str) -> None:
    text = TEXTS[document]
    known = {f"OSIRIS_{field.name.upper()}" for field in msgspec.structs.fields(Settings)}

    assert set(re.findall(r"OSIRIS_[A-Z_]+", text)) - known - NOT_SETTINGS == set()
    assert set(re.findall(r"error (\w+):", text)) - CODES.keys() == set()


@pytest.mark.promise("readme")
def test_every_configuration_that_is_shown_can_be_read(tmp_path: Path) -> None:
    said = [json.loads(block) for block in blocks(README, "json")]
    clients = [each["mcpServers"]["osiris"] for each in said if "mcpServers" in each]
    [codex, own] = [tomllib.loads(block) for block in blocks(README, "toml")]
    (tmp_path / "config.toml").write_text(blocks(README, "toml")[1])

    assert [client["args"] for client in clients] == [[], ["-P", "-m", "osiris"]]
    assert codex["mcp_servers"]["osiris"]["env"] == clients[0]["env"]
    loaded = config.load(Home(str(tmp_path)), {})
    assert loaded.problems == ()
    assert {key for key, origin in loaded.origins.items() if origin == "config.toml"} == set(own)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_relative_link_leads_somewhere(document: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", TEXTS[document])
    broken = [
        link
        for link in links
        if not link.startswith("https://")
        for path, _, anchor in [link.partition("#")]
        if not (ROOT / path).exists()
        or (anchor and anchor not in anchors((ROOT / (path or document)).read_text("utf-8")))
    ]

    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_is_named_exists(document: str) -> None:
    rooms = "osiris|actors|tests|bench|stubs"
    named = re.findall(rf"`((?:{rooms})/[\w./-]*(?:\.\w+|/))`", TEXTS[document])

    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.promise("budget-replies")
def test_replies_and_the_manifest_stay_inside_their_budgets() -> None:
    manifest, replies = footprint.measure_replies()

    assert footprint.broken({}, manifest, replies) == []
    assert replies.keys() == footprint.REPLY_BUDGETS.keys()


def test_every_mark_names_a_promise() -> None:
    assert promises.marks().keys() - promises.PROMISES.keys() - promises.AHEAD.keys() == set()


def test_what_could_reach_another_machine_is_seen() -> None:
    source = "import urllib.request\nfrom httpx import get\nsock.connect(('example.org', 80))"

    assert dialled(ast.parse(source)) == {"urllib", "httpx", "connect"}


@pytest.mark.promise("local-only")
def test_nothing_dials_but_the_client_of_the_own_owner() -> None:
    code = [*ROOT.glob("osiris/**/*.py"), *ROOT.glob("actors/**/*.py")]
    found = {
        path.relative_to(ROOT).as_posix(): reached
        for path in code
        if (reached := dialled(ast.parse(path.read_text("utf-8"))))
    }

    assert found == {"osiris/reach.py": {"connect", "create_connection"}}


@pytest.mark.promise("readme")
def test_the_price_file_of_the_readme_can_be_used() -> None:
    [shown] = [block for block in blocks(README, "json") if '"models"' in block]

    found = with_override(shown.encode())

    assert isinstance(found, Prices)
    assert prices.find(found, "house-model") == prices.find(found, "claude-opus-5")
    assert prices.find(found, "my-own-model") is not None
