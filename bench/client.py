"""A client of one bridge process: raw lines of JSON-RPC, blocking, for one thread at a time.

Rule 1: it adds nothing to what it measures but an encode, a write, a read and a decode.
Rule 2: what is outstanding at once must fit the pipe (64 KiB) or be read by the caller in time.
"""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.owners import environ_for

BRIDGE = (sys.executable, "-P", "-m", "osiris")
PROTOCOL = "2025-06-18"
_LEAVE_S = 5.0

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(dict[str, Any])


class ClientGoneError(Exception):
    """The bridge closed its output."""


class Reply(msgspec.Struct, frozen=True):
    """What came back for request `id`: the tool's text, or a JSON-RPC error's message."""

    id: int
    text: str
    is_error: bool

    @property
    def code(self) -> str:
        """The stable code of an error; empty when it is none."""
        words = self.text.split(maxsplit=2)
        return words[1].rstrip(":") if self.is_error and len(words) > 1 else ""

    @property
    def pairs(self) -> dict[str, str]:
        """The `key=value` pairs of the first line."""
        first = self.text.partition("\n")[0].split(" ")
        return {key: value for key, equals, value in (w.partition("=") for w in first) if equals}


class BridgeClient:
    """One bridge, started for a home, and the client's end of its pipes."""

    def __init__(self, home: Path, cwd: Path, command: Sequence[str] = BRIDGE) -> None:
        self._last_id = 0
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=environ_for(home),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout

    def must_begin(self) -> None:
        """Run the handshake. Raises RuntimeError when the answer is an error."""
        reply = self.begin()
        if reply.is_error:
            raise RuntimeError(f"initialize answered: {reply.text}")

    def begin(self) -> Reply:
        """Run the handshake and return the reply to `initialize`."""
        info = {"name": "bench", "version": "1"}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": info}
        self._request("initialize", params)
        reply = self.receive()
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return reply

    def send(self, tool: str, arguments: Mapping[str, Any]) -> int:
        """Send one tool call and return its id. Raises ClientGoneError."""
        return self._request("tools/call", {"name": f"osiris_{tool}", "arguments": arguments})

    def receive(self) -> Reply:
        """Return the next reply. Raises ClientGoneError."""
        line = self._from.readline()
        if not line:
            raise ClientGoneError
        return _reply(_decoder.decode(line))

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Send one tool call and return its reply; nothing else may be outstanding."""
        ident = self.send(tool, arguments)
        reply = self.receive()
        assert reply.id == ident
        return reply

    def must(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Call and return a reply that is no error. Raises RuntimeError."""
        reply = self.call(tool, arguments)
        if reply.is_error:
            raise RuntimeError(f"{tool} answered: {reply.text}")
        return reply

    def timed(self, tool: str, arguments: Mapping[str, Any]) -> float:
        """Return the seconds from the first byte of a call to the last of its answer."""
        began = time.perf_counter()
        self.must(tool, arguments)
        return time.perf_counter() - began

    def kill(self) -> None:
        """End the bridge at once; whoever waits in `receive` gets ClientGoneError."""
        self._process.kill()

    def close(self) -> int:
        """Hang up and return the bridge's exit status."""
        try:
            self._to.close()
        except OSError:
            self._process.kill()
        try:
            return self._process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._from.close()

    def _request(self, method: str, params: Mapping[str, Any]) -> int:
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def _write(self, message: Mapping[str, Any]) -> None:
        try:
            self._to.write(_encoder.encode(message) + b"\n")
            self._to.flush()
        except OSError as error:
            raise ClientGoneError from error


def _reply(message: dict[str, Any]) -> Reply:
    if "error" in message:
        return Reply(message["id"] or 0, str(message["error"]["message"]), is_error=True)
    result: dict[str, Any] = message["result"]
    texts = [part["text"] for part in result.get("content", ())]
    return Reply(message["id"], "\n".join(texts), bool(result.get("isError")))
