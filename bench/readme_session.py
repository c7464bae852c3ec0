"""A real session for the README: its agents, one home, the command line, every reply as it came.

Rule 1: nothing is written by hand but the calls; replies are what the running program says.
Rule 2: it works on this checkout, in a home of its own that is removed afterwards.
Rule 3: the places of home and checkout are replaced by the ones a reader has, and long arguments
        are cut where they are shown; nothing else is changed.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import trio

from bench.owners import stop
from bench.readme_script import PIPE, ROOT, RULES, SESSION, TEXTS, TYPED, Call
from osiris.server.sdk_client import ToolCaller, connected

COMMAND = (sys.executable, "-P", "-m", "osiris")
LIMIT_S = 300.0
SHOWN = 240  # characters of an argument


def examples() -> dict[str, str]:
    """Run the session and return the README's example blocks by name."""
    with tempfile.TemporaryDirectory(prefix="osiris-readme-") as folder:
        user = Path(folder).resolve()
        try:
            return trio.run(_run, user)
        finally:
            stop(user / ".osiris")


async def _run(user: Path) -> dict[str, str]:
    """Hold the session as a user whose folder is `user`."""
    environ = {key: text for key, text in os.environ.items() if not key.startswith("OSIRIS_")}
    environ |= {"HOME": str(user), "OSIRIS_ROOTS": "@project"}
    shop = user / "shop"
    (shop / ".osiris").mkdir(parents=True)
    (shop / ".osiris" / "invariants.toml").write_text(RULES)
    with trio.fail_after(LIMIT_S):
        async with (
            connected(COMMAND, environ, str(ROOT), name="claude-code") as author,
            connected(COMMAND, environ, str(ROOT), name="codex") as reviewer,
            connected(COMMAND, environ, str(shop), name="claude-code") as keeper,
        ):
            agents = {"author": author, "reviewer": reviewer, "shop": keeper}
            names = dict(TEXTS)
            found = {
                block: "\n\n".join([await _told(call, agents, names) for call in calls])
                for block, calls in SESSION.items()
            }
        for block, lines in TYPED.items():
            place = shop if block == "invariants" else ROOT
            typed = [_typed(line, place, environ, names) for line in lines]
            found[block] = "\n\n".join(typed)
    return {block: _placed(text, user) for block, text in found.items()}


async def _told(call: Call, agents: Mapping[str, ToolCaller], names: dict[str, str]) -> str:
    """Make one call and return it with its reply."""
    args = {name: _filled_in(value, names) for name, value in call.args.items()}
    text, _ = await agents[call.by].call(f"osiris_{call.tool}", args)
    for word in text.partition("\n")[0].split(" "):
        name, equals, value = word.partition("=")
        if equals and name in ("task", "ref", "contract") and call.by != "shop":
            names.setdefault(name, value)
            names[f"last_{name}"] = value
    who = f"({call.by}) " if call.by == "reviewer" else ""
    shown = {name: _shortened(value) for name, value in args.items()}
    return f"> {who}osiris_{call.tool} {json.dumps(shown, ensure_ascii=False)}\n{text}"


def _typed(line: str, place: Path, environ: Mapping[str, str], names: dict[str, str]) -> str:
    """Run one line in `place` as a shell would, and return it with what it printed."""
    shown = _filled(line, names)
    meant = shown.replace("osiris ", f"{' '.join(COMMAND)} ", 1)
    if line == PIPE:
        made, _, put = shown.partition(" | osiris ")
        meant = f"{made.replace('python', sys.executable)} | {' '.join(COMMAND)} {put}"
    done = subprocess.run(
        ["sh", "-c", meant],
        cwd=place,
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    if line == PIPE:
        names["piped"] = done.stdout.partition("ref=")[2].split()[0]
    return f"$ {shown}\n{done.stdout.rstrip()}"


def _filled_in(value: object, names: Mapping[str, str]) -> object:
    """Return an argument with what earlier replies named in its texts."""
    if isinstance(value, list):
        return [_filled_in(item, names) for item in cast("list[object]", value)]
    return _filled(value, names) if isinstance(value, str) else value


def _shortened(value: object) -> object:
    """Return an argument as a page can show it."""
    if not isinstance(value, str) or len(value) <= SHOWN:
        return value
    return f"{value[: SHOWN // 2]}... {len(value):,} characters"


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _placed(text: str, user: Path) -> str:
    """Return `text` with the reader's folder and checkout in place of ours."""
    return text.replace(str(user), "~").replace(str(ROOT), "~/osiris")
