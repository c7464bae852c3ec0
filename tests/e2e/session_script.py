"""One agent's session with a real server, the same for every client that can call tools.

Rule 1: it asks for nothing but the names of the tools and the text of answers.
Rule 2: what it expects it works out from the material itself.
Rule 3: what was said is returned with ids, seals and costs blotted out, so that the sessions of
        different clients can be compared.
"""

import re
import shutil
import textwrap
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from osiris.core.errors import CODES
from tests.e2e.real_home import RealHome, sprung

TOOLS = [
    f"osiris_{name}" for name in ("plan", "precheck", "observe", "recall", "checkpoint", "handoff")
]
SOURCE = "textwrap.txt"
LOG = "build.log"
FAULT = "ERROR module_237.c: undefined reference to 'seal'"
LINES = 420
READ = {"file_path": SOURCE}
DECISION = "keep wrap and fill; indent goes last"
LESSON = "the build log names each module, so grep for ERROR first"
LONGEST_LINE = 2_000
PARTS = 50

_BLOCK = re.compile(r"^--- data ([0-9a-f]{8}) .*?\n(.*)\n--- end \1$", re.DOTALL | re.MULTILINE)
_BLOTS = (
    (re.compile(r"holder=\S+"), "holder=HOLDER"),
    (re.compile(r"\(project, \S+, [-\d]+\)"), "(project, HOLDER, DAY)"),
    (re.compile(r"(calls|overhead|net)=-?\d+"), r"\1=COST"),
    (re.compile(r"(SEAL=sha256:|seal=)[0-9a-f]{16}"), r"\1SEAL"),
    (re.compile(r"--- (data|end) [0-9a-f]{8}"), r"--- \1 MARK"),
)


class Reply(Struct, frozen=True):
    """A tool's answer as a client hands it on; `shape` names what else the result carried."""

    text: str
    is_error: bool
    shape: tuple[str, ...] = ()


class Stranger(Protocol):
    """Somebody else's client, connected. `version` is the protocol's that it speaks."""

    version: str

    async def names(self) -> list[str]: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Reply: ...


Connect = Callable[[Path], AbstractAsyncContextManager[Stranger]]


class Told(Struct, frozen=True):
    """What a session came to: the task, the protocol's version, and all that was said."""

    task: str
    version: str
    said: list[str]


async def hold(home: RealHome, name: str, connect: Connect) -> Told:
    """Hold the session in a project of its own, with whatever `connect` connects."""
    project = home.project(name)
    shutil.copy(textwrap.__file__, project / SOURCE)
    (project / LOG).write_text("\n".join(_log()) + "\n")
    told = await _run(partial(connect, project), project)
    assert sprung(project) == []
    return told


def _log() -> list[str]:
    lines = [f"[{n}/{LINES}] compiled module_{n}.c in {n % 7 + 1} s" for n in range(1, LINES + 1)]
    lines[236] = FAULT
    return lines


async def _run(connect: Callable[[], AbstractAsyncContextManager[Stranger]], project: Path) -> Told:
    """Do a day's work over one connection, and take the task up again over a second."""
    said: list[str] = []
    async with connect() as client:
        first = _Agent(client, said)
        task = await _plan(first)
        await _keep_a_result(first, (project / SOURCE).read_text())
        await _read_a_file(first, _log())
        await _remember(first)
        await _check_seals(first)
        await _checkpoint(first, task)
        await _err_and_go_on(first, task)
        async with connect() as other:
            await _take_up(_Agent(other, said), task)
        version = client.version
    return Told(task, version, [_blot(text, task) for text in said])


class _Agent:
    """Calls tools through a client; every answer is looked at."""

    def __init__(self, client: Stranger, said: list[str]) -> None:
        self.client = client
        self.seal = ""
        self._said = said

    async def call(self, name: str, /, **arguments: Any) -> str:
        """Return the text of an answer that is no error."""
        text, is_error = await self._hear(name, arguments)
        assert not is_error, f"{name} {arguments}: {text}"
        self._said.append(text)
        if found := re.search(r"SEAL=sha256:([0-9a-f]{16})", text):
            self.seal = found[1]
        return text

    async def recall(self, op: str, /, **arguments: Any) -> list[str]:
        """Return the lines that a query finds; a busy machine answers in parts."""
        lines: list[str] = []
        cursor: dict[str, str] = {}
        for _ in range(PARTS):
            text, is_error = await self._hear("osiris_recall", {"op": op, **arguments, **cursor})
            assert not is_error, f"recall {op} {arguments}: {text}"
            lines += data(text)
            if "cursor" not in pairs(text):
                break
            cursor = {"cursor": pairs(text)["cursor"]}
        self._said.append("\n".join((op, *lines)))
        return lines

    async def refused(self, code: str, name: str, /, **arguments: Any) -> None:
        text, is_error = await self._hear(name, arguments)
        self._said.append(text)
        assert is_error, f"{name} {arguments}: {text}"
        assert code in CODES
        assert re.fullmatch(rf"error {code}: .+ \| fix: .+", text), text

    async def _hear(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        reply = await self.client.call(name, arguments)
        assert reply.shape == ("text",), f"{name} {arguments}: {reply.shape}"
        assert all(len(line) <= LONGEST_LINE for line in reply.text.split("\n"))
        return reply.text, reply.is_error


async def _plan(agent: _Agent) -> str:
    assert await agent.client.names() == TOOLS
    steps = ["read the sources", "mend the build"]
    text = await agent.call("osiris_plan", mode="start", objective="mend the build", steps=steps)
    task = pairs(text)["task"]
    assert f'OSIRIS/1 task={task} obj="mend the build" plan=0/2' in text
    assert 'next="1:read the sources"' in text
    return task


async def _keep_a_result(agent: _Agent, source: str) -> None:
    """Store a large result, read it back in part, and be told when about to do it again."""
    text = await agent.call(
        "osiris_observe", kind="action", tool="Read", args=READ, ok=True, result=source
    )
    assert 4_000 < int(pairs(text)["tokens"]) < 7_000
    assert len(text) < len(source) // 10
    ref = pairs(text)["ref"]
    lines = source.split("\n")
    number, line = next((n, t) for n, t in enumerate(lines, 1) if t.startswith("def fill"))
    found = await agent.recall("grep", ref=ref, q="^def fill")
    assert found == [f"{number}:{line}"]
    found = await agent.recall("range", ref=ref, **{"from": 3, "to": 5})
    assert found == lines[2:5]
    again = await agent.call("osiris_precheck", tool="Read", args=READ)
    assert (pairs(again)["allow"], pairs(again)["verdict"]) == ("yes", "suggest_alternative")
    assert ref in again


async def _read_a_file(agent: _Agent, lines: list[str]) -> None:
    """OSIRIS reads the file: the agent gets what matters, and the same by ref and by path."""
    text = await agent.call("osiris_observe", kind="action", tool="bash", ok=True, path=LOG)
    assert FAULT in text
    assert len(text) < 2_000
    ref = pairs(text)["ref"]
    for where in ({"ref": ref}, {"path": LOG}):
        found = await agent.recall("grep", q="ERROR", **where)
        assert found == [f"237:{FAULT}"]
        found = await agent.recall("range", **{"from": 236, "to": 238}, **where)
        assert found[1] == FAULT
        found = await agent.recall("head", n=2, **where)
        assert found == lines[:2]
        found = await agent.recall("tail", n=1, **where)
        assert found == lines[-1:]


async def _remember(agent: _Agent) -> None:
    text = await agent.call("osiris_observe", kind="decision", id="d-order", text=DECISION)
    assert pairs(text)["verdict"] == "normal_growth"
    text = await agent.call("osiris_observe", kind="lesson", text=LESSON, scope="project")
    assert pairs(text)["scope"] == "project"
    found = await agent.recall("memory", q="grep for ERROR")
    assert LESSON in found[0]


async def _check_seals(agent: _Agent) -> None:
    """Show the newest seal, the one before the decision, which is stale, and a foreign one."""
    stale = agent.seal
    text = await agent.call("osiris_plan", mode="status")
    assert agent.seal != stale
    text = await agent.call("osiris_observe", kind="action", tool="ls", seal=agent.seal)
    assert pairs(text).keys() == {"ok"}
    text = await agent.call("osiris_observe", kind="action", tool="pwd", seal=stale)
    assert pairs(text) == {"ok": "", "stale": "1"}
    text = await agent.call("osiris_precheck", tool="ls", seal=stale)
    assert pairs(text)["allow"] == "yes"
    text = await agent.call("osiris_observe", kind="action", tool="date", seal="0" * 16)
    assert pairs(text)["drift"] == "unknown_seal"
    assert f"SEAL=sha256:{agent.seal}" in text
    text = await agent.call("osiris_precheck", tool="ls", seal="0" * 16)
    assert (pairs(text)["allow"], pairs(text)["code"]) == ("no", "unknown_seal")


async def _checkpoint(agent: _Agent, task: str) -> None:
    text = await agent.call("osiris_checkpoint", mode="snapshot", id="before-lunch")
    assert pairs(text)["snapshot"] == "before-lunch"
    text = await agent.call("osiris_checkpoint", mode="resume")
    assert f"decision d-order: {DECISION}" in data(text)
    text = await agent.call("osiris_checkpoint", mode="report")
    assert pairs(text)["refs"] == "2"
    assert f"reports/{task}.md" in text


async def _err_and_go_on(agent: _Agent, task: str) -> None:
    await agent.refused("unknown_tool", "osiris_fly")
    await agent.refused("unknown_argument", "osiris_plan", mode="status", speed=9)
    await agent.refused("bad_argument", "osiris_plan", mode="update", step="one")
    await agent.refused("missing_argument", "osiris_observe", text="of what kind?")
    await agent.refused("unknown_task", "osiris_plan", mode="status", task="ffffffff")
    text = await agent.call("osiris_plan", mode="update", step=1)
    assert f"task={task}" in text
    assert "plan=1/2" in text
    await agent.call("osiris.plan", mode="status")


async def _take_up(agent: _Agent, task: str) -> None:
    """Resume over a connection that knows nothing but the first digits of the task."""
    await agent.refused("no_task", "osiris_observe", kind="action", tool="ls")
    text = await agent.call("osiris_plan", mode="resume", task=task[:5])
    assert pairs(text)["task"] == task
    assert "step 1 [x] read the sources" in data(text)
    assert f"decision d-order: {DECISION}" in data(text)
    await agent.call("osiris_observe", kind="action", tool="whoami", seal=agent.seal)
    found = await agent.recall("memory", q="grep for ERROR")
    assert LESSON in found[0]
    text = await agent.call("osiris_plan", mode="update", done=True)
    assert pairs(text)["verdict"] == "done"


def pairs(text: str) -> dict[str, str]:
    """Return what the first line of an answer says."""
    words = text.partition("\n")[0].split(" ")
    return {key: value for key, _, value in (word.partition("=") for word in words)}


def data(text: str) -> list[str]:
    """Return the lines of the data block of an answer."""
    found = _BLOCK.search(text)
    return found[2].split("\n") if found else []


def _blot(text: str, task: str) -> str:
    for pattern, blot in _BLOTS:
        text = pattern.sub(blot, text)
    return text.replace(task, "TASK")
