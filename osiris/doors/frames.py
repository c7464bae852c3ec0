"""Frames of doors.sock, and the blocking client of it. Standard library only.

A frame is 4 bytes, big-endian: the length of the header; the header, one JSON object; and the
`body_bytes` raw bytes that the header announces.

Rule 1: a request's header is {"op", "args", "body_bytes"} and over TCP "token"; a reply's header
        is what the desk answered, with "body_bytes".
Rule 2: a refusal is {"error", "what", "fix"}.
Rule 3: headers end at 1 MiB and bodies at 64 MiB; nothing longer is read or sent.
Rule 4: a reply that is too long for a header and has no body comes as the body, behind the header
        {"answer_in": "body"}.
"""

import json
import socket
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LENGTH_BYTES = 4
MAX_HEADER_BYTES = 1024 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024
PIECE_BYTES = 256 * 1024

_IN_BODY = {"answer_in": "body"}


class FrameError(Exception):
    """The other side sent no frame; the connection is of no more use."""

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.fix = fix


def refusal(code: str, what: str, fix: str) -> "dict[str, Any]":
    """Return the header that says no."""
    return {"error": code, "what": what, "fix": fix}


def pack(header: "Mapping[str, Any]", body_bytes: int) -> bytes:
    """Return length and header of a frame whose body has `body_bytes`. Raises FrameError."""
    raw = json.dumps({**header, "body_bytes": body_bytes}, separators=(",", ":")).encode()
    if len(raw) > MAX_HEADER_BYTES or body_bytes > MAX_BODY_BYTES:
        what = f"a header of {len(raw):,} and a body of {body_bytes:,} bytes do not fit a frame"
        raise FrameError("payload_too_large", what, "send at most 1 MiB of header, 64 MiB of body")
    return len(raw).to_bytes(LENGTH_BYTES, "big") + raw


def reply(answer: "Mapping[str, Any]", body: bytes) -> tuple[bytes, bytes]:
    """Return what is sent before the body, and the body (rule 4). Raises FrameError."""
    try:
        return pack(answer, len(body)), body
    except FrameError:
        if body:
            raise
    raw = json.dumps(answer, separators=(",", ":")).encode()
    return pack(_IN_BODY, len(raw)), raw


def header_length(raw: bytes) -> int:
    """Return what a frame's first 4 bytes announce. Raises FrameError."""
    length = int.from_bytes(raw, "big")
    if not 0 < length <= MAX_HEADER_BYTES:
        what = f"a header of {length:,} bytes"
        raise FrameError("bad_request", what, "send a header of 1 byte to 1 MiB, after its length")
    return length


def parse_header(raw: bytes) -> "tuple[dict[str, Any], int]":
    """Return a header and the length of the body that follows it. Raises FrameError."""
    try:
        header: Any = json.loads(raw)
        body_bytes: Any = header.get("body_bytes", 0)
    except (ValueError, RecursionError, AttributeError):
        fix = "send one JSON object in UTF-8"
        raise FrameError("bad_json", "the header is no JSON object", fix) from None
    if type(body_bytes) is not int or body_bytes < 0:
        fix = "send the length of the body, 0 for none"
        raise FrameError("bad_request", "body_bytes is no length", fix)
    if body_bytes > MAX_BODY_BYTES:
        what = f"a body of {body_bytes:,} bytes"
        raise FrameError("payload_too_large", what, "send at most 64 MiB")
    return header, body_bytes


def ask(
    sock: socket.socket,
    op: str,
    args: "Mapping[str, Any]",
    body: bytes = b"",
    *,
    token: str | None = None,
) -> "tuple[dict[str, Any], bytes]":
    """Send one request and return the reply's header and body; the socket's timeout holds.

    Raises OSError when the other side is gone, FrameError when it speaks something else.
    """
    header: dict[str, Any] = {"op": op, "args": args}
    if token is not None:
        header["token"] = token
    sock.sendall(pack(header, len(body)))
    for start in range(0, len(body), PIECE_BYTES):
        sock.sendall(memoryview(body)[start : start + PIECE_BYTES])
    length = header_length(_receive(sock, LENGTH_BYTES))
    answer, body_bytes = parse_header(_receive(sock, length))
    raw = _receive(sock, body_bytes)
    if answer.get("answer_in") == "body":
        return json.loads(raw), b""
    return answer, raw


def _receive(sock: socket.socket, size_bytes: int) -> bytes:
    held = bytearray()
    while len(held) < size_bytes:
        piece = sock.recv(min(PIECE_BYTES, size_bytes - len(held)))
        if not piece:
            raise ConnectionError("the owner closed the connection")
        held += piece
    return bytes(held)
