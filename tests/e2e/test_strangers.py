"""Clients that others wrote hold the session, and hear what the SDK's own client hears.

`make strangers` installs them.
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
import trio

from tests.e2e import puppet, session_script
from tests.e2e.real_home import RealHome
from tests.e2e.sdk_stranger import sdk_client
from tests.e2e.session_script import Stranger, Told

HERE = Path(__file__).with_name("strangers")

BOTH_ERAS = pytest.mark.parametrize(
    ("era", "version"),
    [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")],
    ids=["handshake", "discover"],
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners are stopped by signals")


@pytest.fixture(scope="module")
def node() -> str:
    """Return the interpreter of the node project, if both are installed."""
    found = which("node")
    if found is None:
        pytest.skip("there is no node: install it, then run `make strangers`")
    if not (HERE / "node_modules").is_dir():
        pytest.skip("the TypeScript SDKs are not installed: run `make strangers`")
    return found


@pytest.fixture(scope="module")
def python() -> str:
    """Return an interpreter that has fastmcp."""
    if find_spec("fastmcp") is None:
        pytest.skip("fastmcp is not installed: run `make strangers`")
    return sys.executable


@asynccontextmanager
async def _connected(
    home: RealHome, player: tuple[str, ...], era: str, project: Path
) -> AsyncGenerator[Stranger]:
    settings = {"command": home.command(), "cwd": str(project), "era": era, "name": "session"}
    async with puppet.on_strings(player, settings) as client:
        yield client


async def _told(home: RealHome, interpreter: str, script: str, era: str) -> Told:
    player = (interpreter, str(HERE / script))
    connect = partial(_connected, home, player, era)
    return await session_script.hold(home, f"{script}-{era}", connect)


@pytest.fixture(scope="module")
def heard_by_the_sdk(real_home: RealHome) -> list[str]:
    connect = partial(sdk_client, real_home, "auto")
    return trio.run(session_script.hold, real_home, "sdk", connect).said


async def test_the_first_typescript_sdk(
    node: str, real_home: RealHome, heard_by_the_sdk: list[str]
) -> None:
    told = await _told(real_home, node, "typescript_v1.mjs", "legacy")

    assert told.version == "2025-11-25"
    assert told.said == heard_by_the_sdk


@BOTH_ERAS
async def test_the_second_typescript_sdk(
    node: str, real_home: RealHome, heard_by_the_sdk: list[str], era: str, version: str
) -> None:
    told = await _told(real_home, node, "typescript_v2.mjs", era)

    assert told.version == version
    assert told.said == heard_by_the_sdk


@BOTH_ERAS
async def test_fastmcp(
    python: str, real_home: RealHome, heard_by_the_sdk: list[str], era: str, version: str
) -> None:
    told = await _told(real_home, python, "fastmcp_client.py", era)

    assert told.version == version
    assert told.said == heard_by_the_sdk


async def test_typescript_over_tcp(
    node: str, tcp_home: RealHome, heard_by_the_sdk: list[str]
) -> None:
    told = await _told(tcp_home, node, "typescript_v2.mjs", "2026-07-28")

    assert told.said == heard_by_the_sdk
    assert tcp_home.complaints() == []


async def test_fastmcp_over_tcp(
    python: str, tcp_home: RealHome, heard_by_the_sdk: list[str]
) -> None:
    told = await _told(tcp_home, python, "fastmcp_client.py", "legacy")

    assert told.said == heard_by_the_sdk
    assert tcp_home.complaints() == []
