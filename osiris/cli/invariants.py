"""`osiris invariants`: check the rules of a project, try their examples, ask what one would say.

Rule 1: it reads the file and nothing else; which states hold only the owner knows.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import click
import msgspec
from msgspec import Struct

from osiris.cli.context import Context
from osiris.cli.exits import CommandError, Exit
from osiris.cli.layout import Screen, cell, cut, many, table
from osiris.cli.output import Shown, answers
from osiris.config import project_root
from osiris.core import invariants as core
from osiris.core.errors import Refusal
from osiris.core.invariant_calls import ToolCall
from osiris.core.invariant_file import MAX_BYTES
from osiris.core.invariant_rules import Rule, Rules

PLACE: Final = ".osiris/invariants.toml"

file_option = click.option("--file", metavar="FILE", help=f"Default: {PLACE} of this project.")


class Read(Struct, frozen=True):
    """The rules of a file, and the project they are for."""

    file: str
    root: str
    rules: Rules


@click.group(no_args_is_help=False)
def invariants() -> None:
    """Look at the rules of this project, .osiris/invariants.toml. Each command takes --json."""


@invariants.command()
@file_option
@answers
def check(context: Context, *, file: str | None) -> Shown:  # noqa: ARG001  every command gets it
    """Say whether the file is in order, and list its rules; exit 1 names the line and the fix."""
    read = _read(file)
    rules = [_rule(rule) for rule in read.rules.invariants]
    answer: dict[str, Any] = {
        "file": read.file,
        "ok": True,
        "rules": rules,
        "states": [_state(read.rules, name) for name in read.rules.states],
        "checks": [msgspec.to_builtins(one) for one in read.rules.checks],
        "examples": len(read.rules.examples),
        "warnings": [f"rule {rule.id} matches everything" for rule in _for_all(read.rules)],
    }
    notes = tuple(f"warning: {said}" for said in answer["warnings"])
    return Shown(answer, lambda at: _check_text(read, rules, at), notes=notes)


@invariants.command()
@file_option
@answers
def test(context: Context, *, file: str | None) -> Shown:  # noqa: ARG001  every command gets it
    """Try the [[example]] tables of the file; exit 1 if the rules say anything else."""
    read = _read(file)
    tried = core.try_examples(read.rules, (read.root,))
    failed = sum(not one.ok for one in tried)
    answer = {"file": read.file, "ok": not failed, "examples": [_tried(one) for one in tried]}
    return Shown(
        answer,
        lambda at: _test_text(tried, at),
        notes=() if tried else (f"no [[example]] in {read.file}",),
        exit=Exit.WRONG if failed else Exit.OK,
    )


@invariants.command()
@click.argument("tool")
@click.argument("args", default="{}", metavar="[ARGS-JSON]")
@click.option("--agent", default="", help="The agent that calls.")
@file_option
@answers
def explain(
    context: Context,  # noqa: ARG001  every command gets it
    *,
    tool: str,
    args: str,
    agent: str,
    file: str | None,
) -> Shown:
    """Say how a call is read and which rules are for it.

    TOOL is a tool's name with its arguments as JSON, or a shell line alone:

    osiris invariants explain "git commit -m x"
    """
    read = _read(file)
    call = ToolCall(tool, _arguments(args), agent, (read.root,), str(Path.cwd()))
    lines = core.explain(read.rules, call)
    fires = [found.rule for found in core.judge(read.rules, call, {}, core.RuleFacts())]
    answer = {"file": read.file, "rules": fires, "lines": list(lines)}
    return Shown(
        answer, lambda at: "\n".join(cut(cell(line, at), at.columns, at) for line in lines)
    )


def _read(file: str | None) -> Read:
    root = project_root(str(Path.cwd()))
    place = Path(file) if file else Path(root) / PLACE
    try:
        with place.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        fix = "write one with an [[invariant]], or name it: --file FILE"
        raise CommandError("not_found", f"there is no {place}", fix) from error
    except OSError as error:
        what = f"cannot read {place}: {error.strerror}"
        raise CommandError("not_a_file", what, "name a file: --file FILE") from error
    rules = core.parse(raw)
    if isinstance(rules, Refusal):
        raise CommandError(rules.code, f"{place}: {rules.what}", rules.fix)
    return Read(str(place), root, rules)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        fix = """write '{"command": "git commit"}', or the shell line alone as TOOL"""
        raise CommandError("bad_argument", "ARGS-JSON is no JSON", fix) from error
    if not isinstance(value, dict):
        raise CommandError("bad_argument", "ARGS-JSON is no object", "write {...}")
    return cast("dict[str, Any]", value)


def _for_all(rules: Rules) -> list[Rule]:
    """Return the rules that no call escapes: right perhaps, and a slip more often."""
    return [rule for rule in rules.invariants if rule.when.is_for_all()]


def _rule(rule: Rule) -> dict[str, Any]:
    when = rule.when
    asked = {"tool": when.tool, "path_glob": when.path_glob, "agent": when.agent}
    conditions: dict[str, Any] = {
        name: list(globs.texts) for name, globs in asked.items() if globs is not None
    }
    if when.args:
        conditions["args"] = {key: list(globs.texts) for key, globs in when.args}
    return {
        "id": rule.id,
        "verdict": rule.verdict,
        "requires": list(rule.states),
        "when": conditions,
        "message": rule.message,
        "built_in": rule.id.startswith("osiris."),
    }


def _state(rules: Rules, name: str) -> dict[str, Any]:
    state = rules.states[name]
    return {
        "name": name,
        "set_by": list(state.set_by.texts),
        "cleared_by": list(state.cleared_by.texts),
        "cleared_by_tool": list(state.cleared_by_tool.texts),
        "files": list(state.files.texts),
    }


def _tried(tried: core.Tried) -> dict[str, Any]:
    example = tried.example
    return {
        "number": tried.number,
        "tool": example.call.tool,
        "args": example.call.args,
        "expect": example.expect,
        "got": tried.got,
        "rules": list(tried.rules),
        "ok": tried.ok,
    }


def _check_text(read: Read, rules: Sequence[dict[str, Any]], screen: Screen) -> str:
    own = [rule for rule in rules if not rule["built_in"]]
    counts = (
        many(len(own), "rule"),
        many(len(read.rules.states), "state"),
        many(len(read.rules.checks), "check"),
        many(len(read.rules.examples), "example"),
    )
    rows = [
        (rule["id"], rule["verdict"], ", ".join(rule["requires"]) or "-", _when(rule["when"]))
        for rule in rules
    ]
    listed = table(("rule", "verdict", "needs", "for"), rows, screen)
    head = cut(cell(f"in order: {', '.join(counts)}", screen), screen.columns, screen)
    return f"{head}\n\n{listed}"


def _when(conditions: dict[str, Any]) -> str:
    return " ".join(f"{name}={'|'.join(globs)}" for name, globs in conditions.items())


def _test_text(tried: Sequence[core.Tried], screen: Screen) -> str:
    rows = [
        (
            one.number,
            "ok" if one.ok else "WRONG",
            one.example.expect,
            one.got,
            f"{one.example.call.tool} {json.dumps(one.example.call.args, default=str)}",
        )
        for one in tried
    ]
    return table(("n>", "", "expect", "got", "call"), rows, screen) if rows else ""
