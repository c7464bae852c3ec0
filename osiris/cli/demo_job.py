"""The demo's job: two agents learn their way around a code base and lose their server half way.

Rule 1: each fact the job needs has an answer worked out without OSIRIS; a fact that cannot be
        recalled fails the demo.
Rule 2: everything the model would read is counted twice: by the ledger, and here, text by text.
Rule 3: the owner is killed with a call under way.
"""

import json
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import trio
from msgspec import Struct

from osiris.cli import demo_material as material
from osiris.cli.demo_material import Output
from osiris.cli.demo_result import Payload, Tally

SECOND = "reader"
Say = Callable[..., Awaitable[str]]
Ask = Callable[[str, Mapping[str, Any], bytes], tuple[dict[str, Any], bytes]]


class ToolCaller(Protocol):
    async def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]: ...

    async def listing(self) -> tuple[str, str]: ...


class DemoError(Exception):
    """The demo found OSIRIS wanting."""


class Outside(Struct, frozen=True):
    """What the job does besides calling tools: the shell's side, the killer's, the narrator's."""

    ask: Ask
    owner_pid: Callable[[], int]
    project: str
    say: Callable[[str], None]


class Job:
    """One agent at work."""

    def __init__(self, caller: ToolCaller, second: ToolCaller, outside: Outside) -> None:
        self.tally = Tally()
        self._caller = caller
        self._second = second
        self._outside = outside
        self._say = outside.say
        self._root = material.stdlib()
        self._last_ref = ""
        self._lesson = "json.loads on source text fails at the first character"

    async def run(self) -> str:
        """Do the whole job; return the task's id."""
        self.tally.spoken.extend(await self._caller.listing())
        self.tally.spoken.extend(await self._second.listing())
        self._say("plan the task")
        steps = ["read the sources", "measure the imports", "hand over the listing", "report"]
        started = await self._call(
            "osiris_plan",
            mode="start",
            objective="understand how argparse and heapq are built and what imports cost",
            steps=steps,
        )
        task = started.partition("task=")[2][:8]
        await self._read_sources()
        await self._measure_imports()
        await self._hand_over()
        await self._remember()
        await self._step(4)
        await self._call("osiris_checkpoint", mode="report")
        return task

    async def _read_sources(self) -> None:
        self._say("read sources by path")
        argparse = await self._file("argparse.py")
        number, line = material.line_of(argparse.text, r"^class ArgumentParser")
        ref = self._last_ref
        await self._fact(f"{number}:{line}", "grep", ref=ref, q="^class ArgumentParser")
        following = "\n".join(argparse.text.split("\n")[number - 1 : number + 9])
        last = number + 9
        lines: dict[str, Any] = {"from": number, "to": last}
        await self._fact(following, "range", ref=ref, **lines)
        await self._file("typing.py")
        await self._file("heapq.py")
        code = await self._piped(material.disassembly())
        tail = [line for line in code.text.split("\n") if line.strip()][-1]
        await self._fact(tail, "tail", ref=self._last_ref, n=3)
        await self._step(1)

    async def _measure_imports(self) -> None:
        self._say("measure imports, see a command fail")
        times = await self._piped(material.import_times())
        _, line = material.line_of(times.text, r"\| +asyncio$")
        await self._fact(line, "grep", ref=self._last_ref, q=r"\| +asyncio$")
        failed = material.failure()
        error = failed.text.strip().split("\n")[-1]
        await self._piped(failed)
        await self._fact(error, "tail", ref=self._last_ref, n=1)
        await self._call("osiris_observe", kind="decision", id="d-json", text=self._lesson)
        self.tally.acknowledged.append("d-json")
        await self._step(2)

    async def _hand_over(self) -> None:
        """Let a second agent find the largest module; the owner dies between offer and accept."""
        self._say("offer a part of the job to a second agent")
        listed = await self._piped(material.listing())
        offered = await self._call(
            "osiris_handoff",
            op="offer",
            to=SECOND,
            goal="name the largest source file of the listing",
            inputs=[self._last_ref],
            checks=["schema"],
            schema={"type": "object", "required": ["path"]},
        )
        contract = offered.partition("contract=")[2].split()[0]
        self.tally.acknowledged.append(contract)
        await self._lose_the_owner()
        self._say("the second agent accepts, queries the listing, returns")
        await self._by_second("osiris_handoff", op="accept", contract=contract, agent=SECOND)
        largest = material.largest(listed.text)
        expression = "max_by(@, &bytes).path"
        ref = self.tally.refs[listed.name]
        await self._fact(largest, "jsonl", ref=ref, expr=expression, by=self._by_second)
        result = json.dumps({"path": largest})
        await self._by_second("osiris_handoff", op="return", contract=contract, result=result)
        verified = await self._call("osiris_handoff", op="verify", contract=contract)
        if "status=verified" not in verified:
            raise DemoError(f"the handoff was not verified: {verified}")
        self.tally.handoff = "verified"
        await self._step(3)

    async def _lose_the_owner(self) -> None:
        """Kill the owner with a call under way; the answer comes all the same."""
        self._say("kill -9 the owner between offer and accept, in the middle of a call")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._file, "tarfile.py")
            os.kill(self._outside.owner_pid(), signal.SIGKILL)
        self.tally.owner_killed = True

    async def _remember(self) -> None:
        self._say("recall what was decided before the kill")
        await self._fact(self._lesson, "memory", q="json.loads")

    async def _file(self, name: str) -> Payload:
        """Observe a file by its path: OSIRIS reads it, the model reads the stub."""
        path = self._root / name
        payload = Payload(name, path.read_text(encoding="utf-8"), "read")
        self.tally.payloads.append(payload)
        said = await self._call("osiris_observe", kind="action", tool="read", path=str(path))
        self._last_ref = _ref(said)
        self.tally.acknowledged.append(self._last_ref)
        return payload

    async def _piped(self, output: Output) -> Payload:
        """Pipe a command's output through `osiris put`: the model reads what put prints."""
        payload = Payload(output.command, output.text, "bash")
        self.tally.payloads.append(payload)
        head, _ = await trio.to_thread.run_sync(self._put, output)
        if "error" in head:
            raise DemoError(f"put: {head}")
        self.tally.spoken.extend((str(head["piped"]), str(head["text"])))
        self._last_ref = _ref(str(head["text"]))
        self.tally.acknowledged.append(self._last_ref)
        self.tally.refs[payload.name] = self._last_ref
        return payload

    def _put(self, output: Output) -> tuple[dict[str, Any], bytes]:
        args = {"tool": "bash", "host": "whole", "project": self._outside.project}
        return self._outside.ask("put", args, output.text.encode())

    async def _fact(
        self, expected: str, op: str, *, by: Say | None = None, **arguments: object
    ) -> None:
        """Recall one needed fact and compare it with what the material itself says."""
        self.tally.facts_needed += 1
        said = await (by or self._call)("osiris_recall", op=op, **arguments)
        if expected.strip() not in said:
            raise DemoError(f"recall {op} {arguments} did not bring back {expected!r} but {said!r}")
        self.tally.facts_found += 1

    async def _call(self, name: str, /, **arguments: object) -> str:
        return await self._said(self._caller, name, arguments)

    async def _by_second(self, name: str, /, **arguments: object) -> str:
        return await self._said(self._second, name, arguments)

    async def _said(self, caller: ToolCaller, name: str, arguments: Mapping[str, Any]) -> str:
        text, is_error = await caller.call(name, arguments)
        said = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
        self.tally.spoken.extend((said, text))
        if is_error:
            raise DemoError(f"{name} {arguments}: {text}")
        return text

    async def _step(self, number: int) -> None:
        await self._call("osiris_plan", mode="update", step=number)
        self.tally.acknowledged.append(f"step {number}")


def _ref(text: str) -> str:
    return text.partition("ref=")[2].split()[0]
