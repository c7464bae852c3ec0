"""Real material for the demo: the standard library's sources and real commands' output.

Nothing is canned: every text is read or produced on this machine, and every expected answer is
worked out from the material itself, without OSIRIS.
"""

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

from msgspec import Struct

LISTING = """
import json, os, sys
rows = []
for folder, _, names in sorted(os.walk(sys.argv[1])):
    if "site-packages" in folder or "__pycache__" in folder or "/test" in folder:
        continue
    for name in sorted(names):
        if name.endswith(".py"):
            path = os.path.join(folder, name)
            size = os.path.getsize(path)
            rows.append({"path": os.path.relpath(path, sys.argv[1]), "bytes": size})
print(json.dumps(rows, indent=1))
"""
IMPORTS = (
    "import argparse, asyncio, email.mime.text, http.client, logging.config, unittest, xml.dom"
)
FAILING = "import json; json.loads(open({!r}).read())"


class Output(Struct, frozen=True):
    """What a command printed, stdout and stderr together."""

    command: str
    text: str


def stdlib() -> Path:
    """Return the folder of the standard library's sources."""
    return Path(sysconfig.get_path("stdlib"))


def listing() -> Output:
    """Return a large JSON listing of the standard library."""
    return _run("list the library as JSON", "-c", LISTING, str(stdlib()))


def import_times() -> Output:
    """Return the interpreter's own log of import times."""
    return _run("python -X importtime", "-X", "importtime", "-c", IMPORTS)


def disassembly() -> Output:
    """Return the bytecode of a module."""
    return _run("python -m dis heapq.py", "-m", "dis", str(stdlib() / "heapq.py"))


def failure() -> Output:
    """Return the traceback of a command that fails."""
    path = str(stdlib() / "json" / "__init__.py")
    return _run("python -c 'json.loads(...)'", "-c", FAILING.format(path))


def line_of(text: str, pattern: str) -> tuple[int, str]:
    """Return the number and text of the first line that matches."""
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(pattern, line):
            return number, line
    raise LookupError(pattern)


def largest(listing_text: str) -> str:
    """Return the path of the largest file of a listing."""
    rows = json.loads(listing_text)
    return str(max(rows, key=lambda row: row["bytes"])["path"])


def _run(command: str, *args: str) -> Output:
    done = subprocess.run(  # noqa: S603  the interpreter that runs us
        [sys.executable, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=60,
    )
    return Output(command, done.stdout.decode("utf-8", "replace"))
