"""How a payload is named.

Rule 1: a ref is `mem://sha256:` and the 64 hex digits of the sha256 of the stored bytes.
Rule 2: where people and models read it, the short form is `mem://` and the first 12 digits; any
        longer prefix is the same ref, a shorter one is none.
Rule 3: what is read is forgiving about case and blanks around it, never about anything else.
"""

import re

SCHEME = "mem://"
SHORT = 12
FULL = 64

_SHAPE = re.compile(r"(?:mem://)?(?:sha256:)?([0-9a-f]{12,64})", re.ASCII)


def name(sha256: str) -> str:
    """Return the whole ref of a payload with this hash (64 hex digits)."""
    return f"{SCHEME}sha256:{sha256}"


def short(sha256: str) -> str:
    """Return the form for reading: `mem://` and 12 hex digits."""
    return SCHEME + sha256[:SHORT]


def parse(text: str) -> str | None:
    """Return the 12 to 64 lower-case hex digits that `text` names, or None if it is no ref."""
    found = _SHAPE.fullmatch(text.strip().lower())
    return found[1] if found else None


def is_whole(digits: str) -> bool:
    """Say whether parsed digits are the whole hash and need no look-up."""
    return len(digits) == FULL
