"""A home with a real owner in it, and projects whose folders would lead Python astray."""

import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import trio

from osiris import reach
from osiris.doors import frames
from osiris.home import Home

DEADLINE_S = 30.0
SPRUNG = "IMPORTED"
TRAPS = ("osiris", "actors", "actors/osiris_actors", "osiris_actors")
_COMPLAINT = re.compile("WARNING|ERROR|CRITICAL|Traceback|Error")
TRAP = f"""\
import pathlib
pathlib.Path(__file__).with_name("{SPRUNG}").touch()
raise ImportError("this package is the project's own")
"""


class RealHome:
    """One home; whoever runs `command` first starts its owner."""

    def __init__(self, folder: Path, transport: str = "auto") -> None:
        self.folder = folder
        self.home = Home(str(folder / "home"))
        self._transport = transport

    def environ(self, roots: str = "@project") -> dict[str, str]:
        """Return all that a client's process may know."""
        return {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "OSIRIS_HOME": self.home.root,
            "OSIRIS_ROOTS": roots,
            "OSIRIS_TRANSPORT": self._transport,
        }

    def command(self, roots: str = "@project") -> tuple[str, ...]:
        """Return what starts a bridge with this environment and no more, whatever a client adds."""
        given = (f"{key}={text}" for key, text in self.environ(roots).items())
        return ("env", "-i", *given, sys.executable, "-P", "-m", "osiris")

    def project(self, name: str) -> Path:
        """Make a project with packages named like ours; importing one leaves a mark."""
        root = self.folder / name
        for trap in TRAPS:
            (root / trap).mkdir(parents=True)
            for module in ("__init__.py", "__main__.py"):
                (root / trap / module).write_text(TRAP)
        return root

    def ask(self, op: str, **args: object) -> dict[str, Any]:
        """Ask the owner at its desk, as the command line does."""
        sock = reach.connect(self.home, "doors")
        assert sock is not None, "no owner"
        with sock:
            sock.settimeout(DEADLINE_S)
            return frames.ask(sock, op, args, token=self.home.token())[0]

    def events(self, stream: str) -> list[tuple[int, str]]:
        """Return version and kind of what was stored in a stream, its costs left out."""
        found = self.ask("events", stream=stream, limit=10_000)["events"]
        return [(row["version"], row["kind"]) for row in found if row["kind"] != "Charged"]

    def complaints(self) -> list[str]:
        """Return what the owner logged that is more than news."""
        folder = Path(self.home.log_dir)
        lines = [line for log in folder.iterdir() for line in log.read_text("utf-8").splitlines()]
        return [line for line in lines if _COMPLAINT.search(line)]

    def stop(self) -> None:
        """End the owner, and return when it has left."""
        record = self.home.record()
        if record is None or not self.home.is_owned():
            return
        sock = reach.connect(self.home, "doors")
        os.kill(record.pid, signal.SIGTERM)
        if sock is not None:
            with sock:
                sock.settimeout(DEADLINE_S)
                assert sock.recv(1) == b""
        deadline = time.monotonic() + DEADLINE_S
        while self.home.is_owned():
            assert time.monotonic() < deadline, f"owner {record.pid} goes on"


def sprung(project: Path) -> list[Path]:
    """Return the traps of a project that were imported."""
    return sorted(project.rglob(SPRUNG))


async def end(process: trio.Process) -> None:
    """Kill a process that did not end by itself."""
    if process.returncode is None:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
