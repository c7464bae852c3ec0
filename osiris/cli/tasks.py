"""`osiris tasks`, `show`, `events`: what agents are doing, what one task is, how it came about."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from osiris.cli.context import Context
from osiris.cli.exits import CommandError
from osiris.cli.layout import Screen, ago, amounts, cell, compact, cut, lasting, many, pairs, table
from osiris.cli.output import Shown, answers
from osiris.config import project_id, project_root

PAGE = 200


def project_here() -> str:
    """Return the id of the project that the working directory belongs to; empty for none."""
    try:
        return project_id(project_root(str(Path.cwd())))
    except OSError:
        return ""


@click.command()
@click.option("--all-projects", is_flag=True, help="Not only those of this folder's project.")
@answers
def tasks(context: Context, *, all_projects: bool) -> Shown:
    """List the tasks of this project, the newest first."""
    project = "" if all_projects else project_here()
    found = context.read("tasks", {"project": project})
    rows = sorted(found["tasks"], key=lambda row: row["at_ms"], reverse=True)
    known = found.get("of", len(rows))
    notes = (f"the newest {len(rows):,} of {known:,}",) if known > len(rows) else ()
    return Shown({**found, "tasks": rows}, lambda at: _tasks(rows, project, at), notes=notes)


def _tasks(rows: list[dict[str, Any]], project: str, screen: Screen) -> str:
    if not rows:
        return "no tasks in this project (see --all-projects)" if project else "no tasks yet"
    heads = ("task", "status", "when>", "by", *(() if project else ("project",)), "objective")
    return table(heads, [_task(row, project, screen) for row in rows], screen)


def _task(row: Mapping[str, Any], project: str, screen: Screen) -> tuple[object, ...]:
    when = ago(row["at_ms"], screen.now_ms)
    where = () if project else (row["project"][:8] or "-",)
    return (row["task"], row["status"], when, row["by"], *where, row["objective"])


@click.command()
@click.argument("task")
@answers
def show(context: Context, *, task: str) -> Shown:
    """Show one task: its plan, its figures in tokens, its manifest.

    TASK is a task's id, or a prefix of it that fits one task.
    """
    found = context.read("show", {"task": task})
    return Shown(found, lambda at: _show(found, at))


def _show(said: Mapping[str, Any], screen: Screen) -> str:
    done = f"{said['steps_done']} of {many(said['steps'], 'step')} done"
    facts = [
        ("status", said["status"]),
        ("plan", done if said["steps"] else "no steps"),
        *(("", _step(n, step)) for n, step in enumerate(said["plan"], 1)),
        (
            "pinned",
            f"{many(said['constraints'], 'constraint')}, {many(said['decisions'], 'decision')}",
        ),
        ("memory", many(said["notes"], "note")),
        ("work", f"{many(said['actions'], 'action')}, {many(said['refs'], 'ref')} stored"),
        ("redacted", many(said["redacted_items"], "secret")),
        *(("allowed", _approval(one, screen)) for one in said["approvals"]),
    ]
    head = cut(cell(f"{said['task']}  {said['objective']}", screen), screen.columns, screen)
    lines = [head, pairs(facts, screen), "", _tokens(said), "", str(said["manifest"])]
    return "\n".join(lines)


def _approval(said: Mapping[str, Any], screen: Screen) -> str:
    left_s = max(1, said["until_ms"] - screen.now_ms) // 1_000
    return f"what {said['rule']} forbids, for {lasting(left_s)}"


def _step(n: int, step: Mapping[str, Any]) -> str:
    return f"[{'x' if step['done'] else ' '}] {n} {step['text']}"


def _tokens(said: Mapping[str, Any]) -> str:
    return amounts(
        [
            ("  kept out, by receipt", said["kept_out"]),
            ("  overhead", -said["overhead"]),
            (f"  net tokens of {many(said['calls'], 'call')}", said["net"]),
        ]
    )


@click.command()
@click.argument("task", required=False)
@click.option("--stream", help="A stream by its name: task/ID, project/ID, agent/ID, global.")
@click.option("--after", type=click.IntRange(min=0), default=0, help="Begin after this version.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=PAGE,
    help="At most so many.",
    show_default=True,
)
@answers
def events(
    context: Context, *, task: str | None, stream: str | None, after: int, limit: int
) -> Shown:
    """List what happened in a task or stream, in its order."""
    if bool(task) == bool(stream):
        fix = "name a TASK (see `osiris tasks`) or a --stream"
        raise CommandError("missing_argument", "events are those of one task or stream", fix)
    named = {"task": task} if task else {"stream": stream}
    found = context.read("events", {**named, "after": after, "limit": limit})
    rows = found["events"]
    is_full = len(rows) == limit
    more = (f"perhaps more: --after {rows[-1]['version']}",) if is_full else ()
    return Shown(found, lambda at: _events(rows, at), notes=more)


def _events(rows: list[dict[str, Any]], screen: Screen) -> str:
    if not rows:
        return "no events"
    agents = list(dict.fromkeys(row["by"] for row in rows))
    is_one = len(agents) == 1
    heads = ("version>", "when>", *(() if is_one else ("by",)), "event", "of it")
    listed = table(heads, [_event(row, screen, is_one=is_one) for row in rows], screen)
    return (
        f"{many(len(rows), 'event')} by {cell(agents[0], screen)}\n{listed}" if is_one else listed
    )


def _event(row: Mapping[str, Any], screen: Screen, *, is_one: bool) -> tuple[object, ...]:
    known = ("version", "at_ms", "by", "kind")
    rest = [
        f"{name}={compact(value)}"
        for name, value in row.items()
        if name not in known and value not in (None, "", [], {}, 0)
    ]
    when = ago(row["at_ms"], screen.now_ms)
    by = () if is_one else (row["by"],)
    return row["version"], when, *by, row["kind"], " ".join(rest)
