"""How what was written for a setting becomes its value. Standard library only.

Rule 1: one parser a key, for text of the environment and for values of TOML alike.
Rule 2: a parser raises `ValueError` whose text says what would have been right.
"""

import os
import re
from collections.abc import Callable
from typing import cast

_DAY_S = 86_400
_PORT_MAX = 65_535


def _roots(value: object) -> tuple[str, ...]:
    """Split at `;`, or where there is none at the platform's separator."""
    if isinstance(value, str):
        parts = value.split(";" if ";" in value else os.pathsep)
    else:
        parts = _texts(value)
    return tuple(part.strip() for part in parts if part.strip())


def _texts(value: object) -> list[str]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise ValueError("folders separated by ;, or a list of them")
    return texts


def _whole(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return number

    return parse


def _flag(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in _FLAGS:
        raise ValueError("0 or 1")
    return _FLAGS[word]


def _choice(*options: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        word = str(value).strip().lower()
        if word not in options:
            raise ValueError(f"one of {', '.join(options)}")
        return word

    return parse


def _address(value: object) -> str:
    """Return HOST:PORT; a port alone is on the loopback."""
    text = str(value).strip()
    if not text:
        return ""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > _PORT_MAX:
        raise ValueError("HOST:PORT, a port, or empty")
    return f"{host or '127.0.0.1'}:{int(port)}"


_AMOUNT = re.compile(r"(?:(tokens|calls|seconds|minutes|usd)=)?(\d{1,15}(?:\.\d{1,6})?)")
_FLAGS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(
    ("0", "false", "no", "off"), False
)


def _amounts(value: object) -> str:
    """Return a budget as `core.policy` reads it."""
    text = value if isinstance(value, str) else ""
    words = text.replace(",", " ").split()
    found = [_AMOUNT.fullmatch(word) for word in words]
    units = [each[1] or "tokens" for each in found if each and float(each[2]) > 0]
    if (value and not text) or len(set(units)) < len(words):
        raise ValueError("amounts above zero, such as tokens=1000000 usd=20")
    return " ".join(words)


PARSERS: dict[str, Callable[[object], object]] = {
    "roots": _roots,
    "cache_ttl_s": _whole(1, 30 * _DAY_S),
    "prune_threshold_tokens": _whole(0, 100_000_000),
    "dispatch_only": _flag,
    "tool_names": _choice("portable", "dotted"),
    "transport": _choice("auto", "unix", "tcp"),
    "idle_exit_s": _whole(0, 30 * _DAY_S),
    "force_network_fs": _flag,
    "budget_day": _amounts,
    "budget_project": _amounts,
    "budget_agent": _amounts,
    "http": _address,
    "tcp": _address,
    "metrics": _address,
    "log_level": _choice("debug", "info", "warning", "error"),
}
# an empty text means "none" for these; elsewhere it means "not set"
MAY_BE_EMPTY = {
    "roots",
    "budget_day",
    "budget_project",
    "budget_agent",
    "http",
    "tcp",
    "metrics",
}
