"""Every hash in OSIRIS is made here.

Rule 1: a hash is sha256 over a version tag, a purpose tag and length-prefixed parts, so that
        no two inputs of different shape can collide ("ab"+"c" is not "a"+"bc").
Rule 2: cache identity is over exact bytes; semantic identity is over `meaning`.
Rule 3: JSON is hashed in one canonical form: sorted keys, UTF-8, no spaces, no NaN.
"""

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import msgspec

VERSION = b"osiris/1"

_json = msgspec.json.Encoder(order="deterministic")


def digest(purpose: str, parts: Iterable[str | bytes]) -> bytes:
    """Return the 32 byte hash of `parts` under `purpose`."""
    pieces = [_purpose(purpose)]
    for part in parts:
        raw = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        pieces += (len(raw).to_bytes(8, "big"), raw)
    return hashlib.sha256(b"".join(pieces)).digest()


@lru_cache(maxsize=256)
def _purpose(purpose: str) -> bytes:
    """Return the two tags that all hashes of a purpose begin with."""
    raw = purpose.encode()
    return b"".join(len(tag).to_bytes(8, "big") + tag for tag in (VERSION, raw))


def hexdigest(purpose: str, parts: Iterable[str | bytes]) -> str:
    """Return the hash of `parts` under `purpose` as 64 hex digits."""
    return digest(purpose, parts).hex()


def sha256_hex(data: bytes) -> str:
    """Return the plain sha256 that names a ref."""
    return hashlib.sha256(data).hexdigest()


def meaning(text: str) -> str:
    """Return the semantic normal form: NFC, LF line ends, trimmed."""
    folded = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", folded).strip()


def canonical_json(value: object) -> bytes:
    """Return the one byte form of a JSON value; NaN and infinity raise ValueError."""
    raw = _json.encode(value)
    # msgspec writes NaN as null; the standard library can refuse it, at ten times the cost.
    if b"null" in raw:
        json.dumps(value, allow_nan=False, default=msgspec.to_builtins)
    return raw
