"""What stands encoded in a text, decoded."""

import binascii
import re
from collections.abc import Callable

from osiris_actors.redact_rules import BASE64, URL

_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_LINE_ENDS = b"\r\n"
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")


def decoded(name: str, encoded: bytes) -> bytes:
    """Return what `encoded` says in the encoding that a row of `redact_rules` is named by."""
    return _ENCODINGS[name](encoded)


def _base64(encoded: bytes) -> bytes:
    digits = encoded.translate(_URL_SAFE, _LINE_ENDS).rstrip(b"=")
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


def _percent(encoded: bytes) -> bytes:
    return _PERCENT.sub(lambda found: bytes((int(found[1], 16),)), encoded)


_ENCODINGS: dict[str, Callable[[bytes], bytes]] = {BASE64: _base64, URL: _percent}
