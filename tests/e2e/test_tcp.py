"""The loopback path that Windows takes, with its token."""

import socket
import sys

import pytest

from osiris.doors import frames
from tests.e2e.living import Living, Talk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners are stopped by signals")


def dialled(home: Living, kind: str) -> socket.socket:
    scheme, host, port = home.record().endpoints[kind].split(":")
    assert scheme == "tcp"
    return socket.create_connection((host, int(port)), 60)


@pytest.mark.parametrize("home", ["tcp"], indirect=True)
def test_who_has_the_token_comes_in_and_nobody_else(home: Living) -> None:
    client = home.client()
    assert client.plan("go by TCP")
    listed = home.run("tasks")
    assert (listed.returncode, listed.stderr) == (0, b"")
    assert home.real.ask("health")["ok"]

    with dialled(home, "mcp") as sock:
        stranger = Talk(sock.makefile("wb"), sock.makefile("rb"))
        hello = {"version": "0.1.0", "nonce": "ab" * 16, "token": "0" * 64}
        stranger.send_raw({"osiris": 1, "hello": hello})
        [refused] = stranger.rest()
    with dialled(home, "doors") as sock:
        answer, _ = frames.ask(sock, "tasks", {}, token="0" * 64)
    with dialled(home, "doors") as sock:
        tokenless, _ = frames.ask(sock, "tasks", {})

    assert refused["error"]["message"] == (
        "error bad_hello: the first line carries no valid token"
        " | fix: read run/token of the home and send it in the hello"
    )
    assert answer == tokenless
    assert (answer["error"], answer["what"]) == ("bad_request", "no valid token")
    assert "run/token" in answer["fix"]
    assert "result" in client.ask("tools/list")
