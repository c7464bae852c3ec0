"""Which calls are the same call.

Rule 1: identity is the tool's name and its arguments in canonical form: sorted keys, nulls
        dropped, defaults dropped, paths in normal form.
Rule 2: an argument is volatile only by name and table: what only labels or times a call. A uuid
        or a time that is not in the table is part of what was asked.
Rule 3: a plan is known by the states of its steps, not by its wording.
Rule 4: path normal form is lexical. `a/link/../b` is `a/b` here even where `link` leads
        elsewhere; results tell such calls apart.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeGuard, cast

from osiris.core.canon import canonical_json, hexdigest
from osiris.core.loop_kinds import COMMAND_KEYS, kind_of, words_of

# Arguments that only label, trace or time a call, whatever the tool.
VOLATILE_ANYWHERE: Final = frozenset({
    "request_id", "requestid", "x_request_id", "trace_id", "traceid", "span_id", "correlation_id",
    "correlationid", "idempotency_key", "idempotencykey", "client_request_id", "tool_call_id",
    "tool_use_id", "nonce", "cache_bust", "cachebuster", "nocache", "retry_count", "_", "_t", "_ts",
})  # fmt: skip

# Clocks: of a read they say which moment is asked for, of any other call when it was made.
CLOCKS: Final = frozenset({"ts", "timestamp", "now", "sent_at", "client_time"})

# A word of the tool's name -> arguments that only label or time its calls.
VOLATILE_KEYS: Final[dict[str, frozenset[str]]] = {
    "bash": frozenset({"description", "timeout", "timeout_ms", "yield_time_ms"}),
    "shell": frozenset({"description", "timeout", "timeout_ms", "justification"}),
    "exec": frozenset({"description", "timeout", "timeout_ms", "yield_time_ms"}),
    "send": frozenset({"message_id", "messageid", "client_msg_id"}),
    "post": frozenset({"message_id", "messageid", "client_msg_id"}),
    "publish": frozenset({"message_id", "messageid", "event_id"}),
    "wait": frozenset({"timeout", "timeout_ms"}),
    "fetch": frozenset({"timeout", "timeout_ms"}),
}

# A word of the tool's name -> arguments that say what absence says.
DEFAULTS: Final[dict[str, dict[str, tuple[Any, ...]]]] = {
    "read": {"offset": (0, 1), "encoding": ("utf-8", "utf8")},
    "bash": {"run_in_background": (False,), "restart": (False,), "workdir": (".",)},
    "edit": {"replace_all": (False,), "replaceAll": (False,)},
    "grep": {"-i": (False,), "multiline": (False,), "path": (".",), "head_limit": (0,)},
    "glob": {"path": (".",)},
    "list": {"path": (".",), "recursive": (False,)},
    "ls": {"path": (".",)},
}

# Arguments whose text is a path.
PATHS: Final = frozenset({
    "path", "paths", "file", "files", "file_path", "filepath", "filename", "file_name", "dir",
    "directory", "cwd", "workdir", "folder", "notebook_path", "target_file", "absolute_path",
    "relative_path", "old_path", "new_path",
})  # fmt: skip

# Tools that write a plan.
PLANNERS: Final = frozenset({"todo", "todos", "plan"})

_WINDOWS: Final = re.compile(r"^(?:[A-Za-z]:\\|\\\\|\.{1,2}\\)")


def call_key(tool: str, args: Mapping[str, Any]) -> str:
    """Return the 16 hex of a call. Total: any JSON object has one."""
    return hexdigest("loop-call", (tool, _canonical(_plain(tool, args))))[:16]


def normal_path(path: str) -> str:
    """Return the lexical normal form; `/` separates, and a drive letter is small. Not of a URL."""
    if "://" in path:
        return path
    if _WINDOWS.match(path):
        path = path.replace("\\", "/")
        path = path[:1].lower() + path[1:]
    return _collapsed(path) or "."


def _plain(tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    words = words_of(tool)
    volatile, defaults = _rules(words, has_clocks=kind_of(tool, args) != "read")
    planner = not PLANNERS.isdisjoint(words)
    return {
        key: _states(value) if planner else _normal(key, value)
        for key, value in args.items()
        if value is not None
        and key.lower() not in volatile
        and not _is_one_of(value, defaults.get(key, ()))
    }


@lru_cache(maxsize=1024)
def _rules(
    words: tuple[str, ...], *, has_clocks: bool
) -> tuple[frozenset[str], dict[str, tuple[Any, ...]]]:
    """Return the volatile arguments of a tool, and the defaults of the others."""
    clocks = CLOCKS if has_clocks else ()
    volatile = VOLATILE_ANYWHERE.union(clocks, *(VOLATILE_KEYS.get(word, ()) for word in words))
    return volatile, {key: at for word in words for key, at in DEFAULTS.get(word, {}).items()}


def _states(value: object) -> object:
    if not isinstance(value, list):
        return _normal("", value)
    items = cast("list[object]", value)
    return [item["status"] if _is_step(item) else _normal("", item) for item in items]


def _is_step(item: object) -> TypeGuard[dict[str, object]]:
    return isinstance(item, dict) and "status" in item


def _is_one_of(value: object, candidates: tuple[Any, ...]) -> bool:
    return any(value == other and type(value) is type(other) for other in candidates)


def _normal(key: str, value: object) -> object:
    if isinstance(value, str):
        if key.lower() in PATHS:
            return normal_path(value)
        return value.strip() if key in COMMAND_KEYS else value
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {name: _normal(name, item) for name, item in members.items() if item is not None}
    if isinstance(value, list):
        return [_normal(key, item) for item in cast("list[object]", value)]
    return value


def _collapsed(path: str) -> str:
    kept: list[str] = []
    for part in path.split("/"):
        if part in {"", "."}:
            continue
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part != ".." or not path.startswith("/"):
            kept.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(kept)


def _canonical(value: object) -> bytes:
    """Return canonical JSON; a lone surrogate or NaN, which it refuses, is spelled in ASCII."""
    try:
        return canonical_json(value)
    except ValueError:
        ascii_form = json.dumps(value, sort_keys=True)
    try:
        return canonical_json(json.loads(ascii_form))  # joins the two halves of one character
    except ValueError:
        return ascii_form.encode()
