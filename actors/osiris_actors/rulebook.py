"""The rules of each project, read from its `.osiris/invariants.toml`.

Rule 1: a file is looked at LOOK_S after the last look at the earliest, away from the event loop;
        until then a call costs a look-up in a dict. It is read when mtime, size or inode changed.
Rule 2: a broken file changes nothing but what is said of it: the last good rules hold. Where there
        never were any, only what is built in holds, and the file itself is guarded.
Rule 3: without a file no call is judged, but one that may be an approval.
"""

import os
import stat
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final

import trio
from msgspec import Struct

from osiris.core.commands import Command, Observe, Precheck
from osiris.core.errors import Refusal
from osiris.core.invariant_file import BARE, GUARDED, MAX_BYTES, parse
from osiris.core.invariant_rules import Rules
from osiris.core.loop_kinds import COMMAND_KEYS
from osiris.service import Caller
from osiris_actors.env import Env

PLACE: Final = ".osiris/invariants.toml"
LOOK_S: Final = 1.0
PROJECTS: Final = 1_024

_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_SAID: Final = (*COMMAND_KEYS, "args")
_UNQUOTED: Final = str.maketrans("", "", "'\"\\`^")

Stamp = tuple[int, int, int]


class Held(Struct, frozen=True):
    """What is known of a project's file: its last good `rules`, and what is wrong with it now.

    `rules` None: there is no file.
    """

    rules: Rules | None = None
    trouble: Refusal | None = None
    stamp: Stamp | None = None


_NOTHING: Final = Held()


class _Project:
    """A file, when it is looked at again, and who looks."""

    __slots__ = ("held", "look_at", "looking")

    def __init__(self) -> None:
        self.held = _NOTHING
        self.look_at = 0.0
        self.looking = trio.Lock()


class RuleBook:
    """One for all connections, by the real path of a project's root."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._projects: OrderedDict[str, _Project] = OrderedDict()

    async def judging(self, caller: Caller, command: Command) -> Held | None:
        """Return the rules that a command is judged by; None when there are none for it."""
        is_action = isinstance(command, Observe) and command.kind == "action" and command.tool
        if not (is_action or isinstance(command, Precheck)):
            return None
        held = await self.of(caller.root)
        if held.rules is not None:
            return held
        if isinstance(command, Precheck) and _may_approve(command.tool, command.args or {}):
            return Held(BARE)
        return None

    async def of(self, root: str) -> Held:
        """Return what holds in the project at `root`; nothing for a caller without one."""
        if not root:
            return _NOTHING
        project = self._projects.get(root)
        if project is None:
            project = self._projects[root] = _Project()
            if len(self._projects) > PROJECTS:
                self._projects.popitem(last=False)
        if self._env.monotonic() >= project.look_at:
            async with project.looking:
                if self._env.monotonic() >= project.look_at:
                    project.held = await self._env.run_sync(_looked, root, project.held)
                    project.look_at = self._env.monotonic() + LOOK_S
        return project.held

    async def broken(self) -> dict[str, Refusal]:
        """Return what is wrong with files; those that were wrong are looked at again."""
        for root in [root for root, project in self._projects.items() if project.held.trouble]:
            await self.of(root)
        known = self._projects.items()
        found = ((str(Path(root, PLACE)), project.held.trouble) for root, project in known)
        return {file: trouble for file, trouble in found if trouble is not None}


def _may_approve(tool: str, args: dict[str, Any]) -> bool:
    """Say whether a call could be an approval: asked of each call where there are no rules."""
    if _names_approve(tool):
        return True
    return any(_names_approve(str(args[key])) for key in _SAID if key in args)


def _names_approve(said: str) -> bool:
    if "'" in said or '"' in said or "\\" in said or "`" in said or "^" in said:
        said = said.translate(_UNQUOTED)
    return "approve" in said.lower()


def _looked(root: str, before: Held) -> Held:
    """Return what holds now, given what held before; blocking."""
    path = Path(root, PLACE)
    try:
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp == before.stamp:
            return before
        parsed = parse(_bytes_of(path))
    except (FileNotFoundError, NotADirectoryError):
        return _NOTHING
    except OSError as error:
        what = f"{PLACE}: {error.strerror or type(error).__name__}"
        fix = "make it a file that its owner can read"
        return Held(before.rules or GUARDED, Refusal("bad_rules", what, fix))
    if isinstance(parsed, Refusal):
        broken = Refusal(parsed.code, f"{PLACE} {parsed.what}", parsed.fix)
        return Held(before.rules or GUARDED, broken, stamp)
    return Held(parsed, None, stamp)


def _bytes_of(path: Path) -> bytes:
    """Return the bytes of a regular file, one more than are allowed at most. Raises OSError."""
    descriptor = os.open(path, _READ)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        return file.read(MAX_BYTES + 1)
