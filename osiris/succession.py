"""Which version of OSIRIS owns a home next. Standard library only.

Rule 1: an owner that meets a newer bridge names its version in `run/heir` and ends.
Rule 2: who starts an owner leaves a newer heir HEIR_S to come first; else two versions would take
        the home from each other in turn.
Rule 3: the next owner, whichever it is, takes the file away.
Rule 4: versions are compared by the numbers they begin with; without one it is older than all.
"""
# ruff: noqa: PTH105, PTH108, PTH123 (paths are text: see osiris.home)

import contextlib
import os
import re

from osiris.home import Home

HEIR_S = 3.0

_NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,5}", re.ASCII)
_HEIR_MAX = 64


def is_newer(version: str, than: str) -> bool:
    """Say whether `version` comes after `than`."""
    return _numbers(version) > _numbers(than)


def newest(*versions: str) -> str:
    """Return the one of `versions` that no other is newer than."""
    return max(versions, key=_numbers)


def name_heir(home: Home, version: str) -> None:
    """Leave word that `version` is to own the home next. Raises OSError."""
    draft = f"{home.heir_path}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as file:
        file.write(version[:_HEIR_MAX])
    os.replace(draft, home.heir_path)


def heir(home: Home) -> str:
    """Return the version that the last owner left the home to; empty for none."""
    try:
        with open(home.heir_path, encoding="utf-8", errors="replace") as file:
            return file.read(_HEIR_MAX)
    except OSError:
        return ""


def take_heir(home: Home) -> str:
    """Return the heir, and forget it. For the next owner."""
    version = heir(home)
    with contextlib.suppress(OSError):
        os.unlink(home.heir_path)
    return version


def _numbers(version: str) -> tuple[int, ...]:
    found = _NUMBERS.match(version)
    numbers = [int(text) for text in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
