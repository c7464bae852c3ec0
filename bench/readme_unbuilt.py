"""What is not built yet, found by asking the code itself.

Rule 1: an answer that the core refuses with `not_yet` is not built; every mode and kind is asked.
Rule 2: a setting that no code outside `config` and `values` reads has no effect.
Rule 3: a module of the core that nothing behind the tools imports is not asked by any tool.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec

from bench.readme_tables import table
from osiris.cli.commands import COMMANDS
from osiris.config import Settings
from osiris.core import events as ev
from osiris.core.commands import Checkpoint, CheckpointMode, Command, Observe, ObserveKind, Plan
from osiris.core.decide import decide
from osiris.core.decision import Facts
from osiris.core.errors import Refusal
from osiris.core.task_state import TaskState, apply

ROOT = Path(__file__).parents[1]
CORE = ROOT / "osiris" / "core"
READERS = {"osiris/config.py", "osiris/values.py"}

FACTS = Facts(now_ms=0, agent="a", nonce="n", project="p", task="00000000")
OPENED = ev.Stamped(0, "a", ev.TaskStarted("00000000", "ask what is there", "p"))


def unbuilt() -> str:
    """Return the table of what answers `not_yet` or does nothing."""
    refused = [call for call, command in _asked() if _is_unbuilt(command)]
    later = [f"`osiris {name}`" for name, entry in COMMANDS.items() if not entry.place]
    idle = [f"`{name}`" for name in sorted(idle_settings())]
    rows = [
        ("tool calls that answer `error not_yet`", ", ".join(refused)),
        ("commands that end with exit 3", ", ".join(later)),
        ("settings that are read and checked, without effect", ", ".join(idle)),
        ("rules of `osiris/core` that no tool asks", ", ".join(f"`{m}`" for m in unasked())),
    ]
    return table(("not yet", ""), [row for row in rows if row[1]])


@cache
def idle_settings() -> set[str]:
    """Return the settings that nothing uses."""
    code = [*ROOT.glob("osiris/**/*.py"), *ROOT.glob("actors/**/*.py")]
    others = [path for path in code if path.relative_to(ROOT).as_posix() not in READERS]
    trees = [ast.parse(path.read_text("utf-8")) for path in others]
    named = {n.attr for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    begun = tuple(start for tree in trees for start in _names_begun(tree))
    fields = {field.name for field in msgspec.structs.fields(Settings)} - named - {"home"}
    return {name for name in fields if not name.startswith(begun)}


def _names_begun(tree: ast.AST) -> Iterator[str]:
    """Yield `x_` of every `getattr(settings, f"x_{...}")`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="getattr"),
                args=[_, ast.JoinedStr(values=[ast.Constant(value=str(start)), *_])],
            ):
                yield start
            case _:
                pass


def unasked() -> list[str]:
    """Return the modules of the core that no tool reaches, without what only they import."""
    behind = [*ROOT.glob("actors/**/*.py"), *ROOT.glob("osiris/server/*.py")]
    reached: set[str] = set()
    waiting = set[str]().union(*map(_core_imports, behind))
    while waiting:
        reached |= waiting
        waiting = set[str]().union(*(_core_imports(CORE / f"{name}.py") for name in waiting))
        waiting -= reached
    left = {path.stem for path in CORE.glob("*.py")} - reached - {"__init__"}
    below = set[str]().union(*(_core_imports(CORE / f"{name}.py") for name in left))
    return sorted(left - below)


def _core_imports(path: Path) -> set[str]:
    """Return the modules of the core that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [alias.name for alias in node.names] if node.module == "osiris.core" else []
            found |= {node.module.removeprefix("osiris.core."), *names}
    return {name for name in found if (CORE / f"{name}.py").is_file()}


def _asked() -> Iterator[tuple[str, Command]]:
    yield "`plan` `query=`", Plan("status", query="which tool")
    for mode in get_args(CheckpointMode):
        yield f"`checkpoint` `{mode}`", Checkpoint(mode)
    for kind in get_args(ObserveKind):
        yield f"`observe` `{kind}`", Observe(kind, tool="Read", text="x", ref="mem://x")


def _is_unbuilt(command: Command) -> bool:
    reply = decide(apply(TaskState(), OPENED), command, FACTS).reply
    return isinstance(reply, Refusal) and reply.code == "not_yet"
