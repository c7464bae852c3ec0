"""What the house asks of every file, where the import contracts cannot say it.

Rule 1: a check is a function from a syntax tree to what it found, tried on a bad example here.
Rule 2: contracts between modules stand in pyproject.toml; here is only that none is left out.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = sorted([*ROOT.glob("osiris/**/*.py"), *ROOT.glob("actors/**/*.py")])
ALL = sorted([*CODE, *ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/**/*.py"), ROOT / "dev.py"])
CORE = [path for path in CODE if path.is_relative_to(ROOT / "osiris/core")]

LONGEST_FILE = 500
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
CONSOLE = {"open", "print", "input", "breakpoint", "exec", "eval"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
UNIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}

READS_ENVIRONMENT = {"osiris/home.py", "osiris/config.py"}


def _layers(contract: str) -> list[set[str]]:
    """Return the layers of a contract, highest first, each the set of its modules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [
        found["layers"]
        for found in contracts
        if found["type"] == "layers" and found["name"].startswith(contract)
    ]
    return [set(re.findall(r"[\w.]+", layer)) for layer in layers]


def _floor(room: str) -> set[str]:
    """Return the modules of the layer that a module stands in."""
    [floor] = [layer for layer in _layers("The house") if room in layer]
    return floor


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted name of every import, of `from a import b` both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_at_start(tree: ast.Module) -> Iterator[str]:
    """Yield what is imported while the module loads: not within a function, not under an `if`."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imports(node)


def foreign_imports(tree: ast.AST) -> set[str]:
    """Return the top-level packages that are neither the standard library nor OSIRIS."""
    tops = {name.partition(".")[0] for name in imports(tree)}
    return tops - sys.stdlib_module_names - {"osiris"}


def own_imports(tree: ast.AST) -> set[str]:
    """Return the modules of OSIRIS that are imported."""
    return {name for name in imports(tree) if name.startswith("osiris") and _module_file(name)}


def environment_reads(tree: ast.AST) -> set[int]:
    """Return the lines that touch the process environment."""
    named = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ENVIRONMENT
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    }
    imported = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "os"
        and ENVIRONMENT & {alias.name for alias in node.names}
    }
    return named | imported


def console_calls(tree: ast.AST) -> set[str]:
    """Return the built-in functions called that reach outside the program."""
    return {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in CONSOLE
    }


@pytest.mark.parametrize(
    "source",
    [
        "os.environ['A']",
        "os.getenv('A')",
        "from os import environ",
        "def f():\n    os.putenv('A', '')",
    ],
)
def test_reading_the_environment_is_seen(source: str) -> None:
    assert environment_reads(ast.parse(source))


def test_foreign_imports_are_seen_wherever_they_stand() -> None:
    source = (
        "import os, trio\ndef f():\n    from msgspec.json import decode\nimport osiris.core.canon\n"
    )

    assert foreign_imports(ast.parse(source)) == {"trio", "msgspec"}
    assert own_imports(ast.parse(source)) == {"osiris.core.canon"}


def test_only_what_loads_with_the_module_counts_as_imported_at_start() -> None:
    source = (
        "import json\nif sys.platform == 'linux':\n    import fcntl\ndef f():\n    import pwd\n"
    )

    assert list(imports_at_start(ast.parse(source))) == ["json"]


def test_console_calls_are_seen() -> None:
    assert console_calls(ast.parse("print(open('x').read())\nself.print()")) == {"print", "open"}


def test_only_home_and_config_read_the_environment() -> None:
    found = {_name(path): lines for path in CODE if (lines := environment_reads(_tree(path)))}

    assert {name: lines for name, lines in found.items() if name not in READS_ENVIRONMENT} == {}


@pytest.mark.parametrize("module", sorted({"osiris", "osiris.bridge"} | _floor("osiris.home")))
def test_what_every_client_starts_imports_the_standard_library_only(module: str) -> None:
    tree = _tree_or_skip(module)

    assert foreign_imports(tree) == set()
    assert own_imports(tree) <= {"osiris"} | _floor("osiris.home")


def test_nothing_unix_only_is_imported_at_start_where_windows_must_run() -> None:
    rooms = {"osiris.__main__", "osiris.bridge", "osiris.config"} | _floor("osiris.home")
    files = [
        path for path in CODE if _module(path) in rooms or _module(path).startswith("osiris.cli")
    ]
    found = {_name(path): UNIX_ONLY & set(imports_at_start(_tree(path))) for path in files}

    assert {name: modules for name, modules in found.items() if modules} == {}


def test_the_core_calls_nothing_that_reaches_outside_the_program() -> None:
    found = {_name(path): calls for path in CORE if (calls := console_calls(_tree(path)))}

    assert found == {}


def test_no_file_is_longer_than_500_lines() -> None:
    lengths = {_name(path): len(path.read_text("utf-8").splitlines()) for path in ALL}

    assert {name: n for name, n in lengths.items() if n > LONGEST_FILE} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [_name(path) for path in ALL if path.stem in VAGUE_NAMES] == []


def test_every_module_says_in_one_line_what_it_is() -> None:
    assert [_name(path) for path in CODE if not ast.get_docstring(_tree(path))] == []


def test_every_core_module_has_a_layer() -> None:
    modules = {path.stem for path in CORE} - {"__init__"}

    assert modules - set[str]().union(*_layers("The core")) == set(), "its layer: pyproject.toml"


def test_every_room_has_its_floor() -> None:
    rooms = {
        _module(path) for path in [*ROOT.glob("osiris/*.py"), *ROOT.glob("osiris/*/__init__.py")]
    }

    assert rooms - {"osiris"} - set[str]().union(*_layers("The house")) == set()


def _module_file(name: str) -> Path | None:
    path = ROOT / name.replace(".", "/")
    found = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]
    return found[0] if found else None


def _tree_or_skip(module: str) -> ast.Module:
    file = _module_file(module)
    if file is None:
        pytest.skip(f"{module} is not built yet")
    return _tree(file)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
