"""A project with rules in a running system, and an agent that works in it."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from osiris.service import Answer, Caller
from osiris_actors.desk import RuntimeDesk
from osiris_actors.store.backend import RecordBackend
from tests.actors.running import Agent, system
from tests.core.invariant_cases import SEED

LONG_AGO_S = 1_000_000_000
PYTEST = {"command": "pytest -q"}
COMMIT = {"command": "git commit -m x"}
FORBIDDEN = "allow=no verdict=block code=invariant rule=tests-before-commit "


class Worker(Struct):
    """An agent in a project of its own."""

    agent: Agent
    desk: RuntimeDesk
    root: Path

    async def begin(self, objective: str = "x") -> str:
        answer = await self.agent.call("plan", mode="start", objective=objective)
        return answer.text.partition("task=")[2][:8]

    async def precheck(self, tool: str = "Bash", **args: object) -> str:
        return (await self.agent.call("precheck", tool=tool, args=args or COMMIT)).text

    async def observe(self, tool: str = "Bash", *, ok: bool | None = True, **args: object) -> str:
        said = {} if ok is None else {"ok": ok}
        answer: Answer = await self.agent.call(
            "observe", kind="action", tool=tool, args=args or PYTEST, **said
        )
        return answer.text

    def write(self, rules: str | bytes) -> None:
        """Write the file of rules, as a person does."""
        place = self.root / ".osiris" / "invariants.toml"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(rules.encode() if isinstance(rules, str) else rules)

    def file(self, name: str, *, at_s: int = LONG_AGO_S) -> Path:
        """Make a file that was changed at `at_s`."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (at_s, at_s))
        return path

    def other(self, nonce: str) -> "Worker":
        """Return another agent in the same project."""
        caller = Caller(nonce * 32, "other", "uid:0", "proj", root=str(self.root))
        return Worker(Agent(self.agent.gateway, caller), self.desk, self.root)


@asynccontextmanager
async def working(
    root: Path, rules: str | bytes | None = SEED, backend: RecordBackend | None = None
) -> AsyncGenerator[Worker]:
    """Run a system with an agent in a project at `root`."""
    async with system(backend) as (agent, desk):
        caller = Caller("a" * 32, "whole", "uid:0", "proj", root=str(root))
        worker = Worker(Agent(agent.gateway, caller), desk, root)
        if rules is not None:
            worker.write(rules)
        yield worker
