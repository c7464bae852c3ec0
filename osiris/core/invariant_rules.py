"""The rules of a project, and which calls they are for.

| `when` of a rule | the rule is for a call that ...                                   |
| tool             | goes by such a name, or runs such a command                       |
| path_glob        | changes such a path; with `tool`: that names such a path          |
| args             | has such values under such keys, all of them                      |
| agent            | comes from such an agent                                          |

Rule 1: all conditions of a rule must hold, `tool` and `path_glob` for the same step of the call.
Rule 2: a condition with several globs holds if one of them matches.
Rule 3: a call that could not be read whole is taken to be what a rule of the file is for.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from osiris.core.invariant_calls import Deed, Step, ToolCall, command_line
from osiris.core.invariant_globs import Globs
from osiris.core.invariant_states import State
from osiris.core.loop_kinds import COMMAND_KEYS

Verdict = Literal["warn", "block"]
Expected = Literal["allow", "warn", "block"]

UNREAD: Final = "a call too long to be read whole"


class When(Struct, frozen=True):
    """What a rule is for; a condition that is None holds for every call."""

    tool: Globs | None = None
    path_glob: Globs | None = None
    args: tuple[tuple[str, Globs], ...] = ()
    agent: Globs | None = None

    def is_for_all(self) -> bool:
        globs = (self.tool, self.path_glob, self.agent)
        return not self.args and all(one is None or one.is_for_all() for one in globs)


class Rule(Struct, frozen=True):
    """`states` must hold for a call that the rule is for; without any the call is denied.

    A rule that is not `approvable` is never lifted.
    """

    id: str
    when: When
    states: tuple[str, ...] = ()
    verdict: Verdict = "block"
    message: str = ""
    approvable: bool = True


class Check(Struct, frozen=True):
    """A command of a person's that contracts name by its id; `cwd` is below the project's root."""

    id: str
    command: tuple[str, ...]
    cwd: str = ""
    timeout_s: int = 300


class Example(Struct, frozen=True):
    """What the rules say to a call while `states` hold and no others; `rule`: which one."""

    call: ToolCall
    expect: Expected
    states: tuple[str, ...] = ()
    rule: str = ""


class Rules(Struct, frozen=True):
    """What a file says, and what is built in."""

    invariants: tuple[Rule, ...]
    states: Mapping[str, State]
    checks: tuple[Check, ...] = ()
    examples: tuple[Example, ...] = ()


class Match(Struct, frozen=True):
    """Why a rule is for a call: the name and the path that matched, empty where none was asked."""

    name: str = ""
    path: str = ""

    def text(self) -> str:
        return " on ".join(word for word in (self.name, self.path) if word)


def match(rule: Rule, call: ToolCall, deed: Deed) -> Match | None:
    """Return why `rule` is for `call`, None if it is not. Linear in the size of the call."""
    when = rule.when
    if when.agent is not None and when.agent.first([call.agent]) is None:
        return None
    if not all(_has(call, key, globs) for key, globs in when.args):
        return None
    found = next((one for step in deed.steps if (one := _in_step(when, step)) is not None), None)
    asks_what = when.tool is not None or when.path_glob is not None
    if found is None and not deed.is_whole and asks_what and rule.approvable:
        return Match(UNREAD)
    return found


def _in_step(when: When, step: Step) -> Match | None:
    name, path = "", ""
    if when.tool is not None:
        name = when.tool.first(step.names) or ""
        if not name:
            return None
    if when.path_glob is not None:
        path = when.path_glob.first(step.changed if when.tool is None else step.named) or ""
        if not path:
            return None
    return Match(name, path)


def _has(call: ToolCall, key: str, globs: Globs) -> bool:
    text = _text(call.args.get(key))
    if text is None and key in COMMAND_KEYS:
        text = command_line(call)
    return text is not None and globs.first([text]) is not None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
