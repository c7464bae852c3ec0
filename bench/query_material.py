"""Payloads of 10 MB for the bench of queries: what tools print, and what is hard to read.

Each is made from its name alone, so that two runs ask the same.
"""

from collections.abc import Callable, Iterator

import msgspec

SIZE = 10_000_000
WHOLE = 4_000_000  # what an expression may see at once
_LEVELS = ("INFO", "DEBUG", "INFO", "WARN", "INFO", "INFO", "ERROR")
_WORDS = ("fetch", "parse", "commit", "retry", "accept", "render", "index", "close")
_DEEP = 400


def _filled(pieces: Iterator[str], most: int = SIZE) -> str:
    """Return pieces joined up to so many bytes of ASCII."""
    taken: list[str] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            break
        taken.append(piece)
    return "".join(taken)


def _log(salt: int = 0) -> str:
    """Return a log; another salt changes one line in 997."""

    def lines() -> Iterator[str]:
        number = 0
        while True:
            number += 1
            word = _WORDS[number * 7919 % len(_WORDS)]
            took = number * 31 % 1_733 + (salt if number % 997 == 0 else 0)
            level = _LEVELS[number % len(_LEVELS)]
            day = f"2026-03-{number // 90_000 + 1:02}"
            clock = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
            yield (
                f"{day}T{clock}Z {level} worker-{number % 16} {word} id={number:08x} "
                f"took {took} ms path=/srv/app/{word}/{number % 613}\n"
            )

    return _filled(lines())


def _record(number: int) -> dict[str, object]:
    return {
        "id": number,
        "name": f"item {number}",
        "state": _WORDS[number % len(_WORDS)],
        "size": number * 37 % 5_003,
        "tags": [f"t{number % 7}", f"t{number % 11}"],
        "owner": {"login": f"user{number % 97}", "admin": number % 13 == 0},
    }


def _json(size: int = SIZE) -> str:
    rows = _filled((msgspec.json.encode(_record(n)).decode() + "," for n in range(1 << 20)), size)
    return '{"total":1,"items":[' + rows.rstrip(",") + '],"next":null}'


def _jsonl() -> str:
    return _filled(msgspec.json.encode(_record(n)).decode() + "\n" for n in range(1 << 20))


def _minified() -> str:
    return _filled(
        f"function f{n}(a,b){{return a?b+{n}:f{n // 2}(b,a-1)}}var v{n}=f{n}(1,{n}),s{n}='x{n}';"
        for n in range(1 << 20)
    )


def _code() -> str:
    return _filled(
        f"class Thing{n}:\n    def method_{n}(self, value: int) -> int:\n"
        f'        """Return {n} more."""\n        return value + {n}\n\n\n'
        for n in range(1 << 20)
    )


def _deep() -> str:
    one = "[" * _DEEP + "1" + "]" * _DEEP
    return "[" + ",".join([one] * (SIZE // (len(one) + 1) - 1)) + "]"


def _keys() -> str:
    return "{" + _filled(f'"key{n}":{n},' for n in range(1 << 20)).rstrip(",") + "}"


# name -> its text
MATERIAL: dict[str, Callable[[], str]] = {
    "log": _log,
    "log, changed": lambda: _log(1),
    "json": _json,
    "jsonl": _jsonl,
    "minified": _minified,
    "code": _code,
    "json of numbers": lambda: "[" + "1," * (SIZE // 2 - 2) + "1]",
    "json of keys": _keys,
    "json of brackets": _deep,
    "json, 4 MB": lambda: _json(WHOLE),
    "json of texts, 4 MB": lambda: "[" + '"a",' * (WHOLE // 4 - 2) + '"b"]',
    "jsonl of nothing": lambda: "{}\n" * (SIZE // 3),
    "one string": lambda: '{"text":"' + "a" * (SIZE - 20) + '"}',
    "line ends": lambda: "\n" * SIZE,
    "one letter": lambda: "a" * SIZE,
    "emoji": lambda: "\U0001f600" * (SIZE // 4),
}
