"""Short spellings of calls, and what LoopGuard says of a sequence of them."""

from collections.abc import Iterable
from typing import Any

from osiris.core.loop_call import Call, see
from osiris.core.loop_rules import Level
from osiris.core.loop_window import Evidence, Window, push, renewed
from osiris.core.loopguard import Verdict, judge

NOW_MS = 1_800_000_000_000
BUILD_ERROR = "error TS2304: Cannot find name Foo"


def call(  # noqa: PLR0913 - a test names only what matters to it
    tool: str,
    args: dict[str, Any],
    text: str | None = "",
    *,
    ok: bool = True,
    at_s: float = 0,
    batch: str = "",
    state: str = "",
    denied: bool = False,
) -> Call:
    return Call(
        tool, args, text, ok, NOW_MS + round(at_s * 1000), batch=batch, state=state, denied=denied
    )  # fmt: skip


def read(path: str, text: str, **args: Any) -> Call:
    return call("read_file", {"path": path, **args}, text)


def bash(command: str, text: str, *, ok: bool = True, at_s: float = 0) -> Call:
    return call("bash", {"command": command}, text, ok=ok, at_s=at_s)


def edit(n: int) -> Call:
    return call("edit_file", {"path": "a.py", "old": f"x{n}", "new": f"y{n}"}, "ok")


def verdicts(steps: Iterable[Call | Evidence]) -> list[Verdict]:
    window, found = Window(), list[Verdict]()
    for step in steps:
        if isinstance(step, str):
            window = renewed(window, step)
            continue
        seen = see(step)
        found.append(judge(window, seen))
        window = push(window, seen)
    return found


def levels(steps: Iterable[Call | Evidence]) -> list[Level]:
    return [verdict.level for verdict in verdicts(steps)]


def spaced(calls: Iterable[Call], every_s: float) -> list[Call]:
    return [
        call(c.tool, dict(c.args), c.text, ok=bool(c.ok), at_s=n * every_s)
        for n, c in enumerate(calls)
    ]


def first(found: list[Level], level: Level) -> int:
    """Return the number, from 1, of the first call with that level; 0: none."""
    return found.index(level) + 1 if level in found else 0
