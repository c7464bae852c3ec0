"""`osiris health`: one look at owner, store and settings."""

from collections.abc import Mapping
from typing import Any

import click

from osiris.cli.context import Context
from osiris.cli.exits import Exit
from osiris.cli.layout import Screen, many, pairs
from osiris.cli.output import Shown, answers


@click.command()
@answers
def health(context: Context) -> Shown:
    """Say whether everything is in order; exit 1 if not. Starts nothing."""
    is_running = context.is_owned()
    found = context.read("health", {})
    problems = context.settings.problems
    is_ok = bool(found.get("ok")) and not any(problem.is_error for problem in problems)
    answer = {
        **found,
        "ok": is_ok,
        "owner_running": is_running,
        "pid": found.get("pid") if is_running else None,
        "problems": [problem.text() for problem in problems],
    }
    return Shown(
        answer,
        lambda at: _text(answer, at),
        notes=(*_troubles(found), *(problem.text() for problem in problems)),
        exit=Exit.OK if is_ok else Exit.WRONG,
    )


def _troubles(said: Mapping[str, Any]) -> tuple[str, ...]:
    """Return why the store takes no writes, and which rules are broken, as error lines."""
    broken: Mapping[str, str] = said.get("rules") or {}
    rules = tuple(f"{why} ({file})" for file, why in broken.items())
    trouble = said.get("trouble")
    if not trouble:
        return rules
    return (f"error {trouble['code']}: {trouble['why']} | fix: {trouble['fix']}", *rules)


def _text(said: Mapping[str, Any], screen: Screen) -> str:
    rows = [
        (
            "owner",
            f"process {said['pid']}" if said["owner_running"] else "none; a client starts it",
        ),
        ("home", said.get("home", "")),
        ("store", said.get("store_id", "")),
        ("started", many(said.get("starts", 0), "time")),
    ]
    if said["owner_running"]:
        ruler = "ready" if said.get("ruler_ready") else "loading; counts are estimates until then"
        rows[3:3] = [("ruler", ruler), ("in memory", many(said.get("tasks_resident", 0), "task"))]
    held: Mapping[str, str] = said.get("quarantined") or {"nothing": ""}
    rows += [("quarantined", f"{name}: {why}" if why else name) for name, why in held.items()]
    if said.get("trouble"):
        rows.append(("trouble", "the store takes no writes, see below"))
    if said.get("copied_from"):
        rows.append(("copy of", f"{said['copied_from']}; both answer for the same tasks"))
    if said.get("rules"):
        rows.append(("rules", f"{many(len(said['rules']), 'broken file')}, named below"))
    if said["problems"]:
        rows.append(("settings", f"{many(len(said['problems']), 'problem')}, named below"))
    head = f"OSIRIS {said.get('version', '')}: {'all is well' if said['ok'] else 'NOT WELL'}"
    return f"{head}\n{pairs(rows, screen)}"
