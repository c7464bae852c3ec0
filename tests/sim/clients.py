"""Clients with a seed: they call, lose owners, retry with the same key, cancel, and keep a log."""

import json
import random
from collections.abc import Awaitable, Callable, Mapping

import trio
from msgspec import Struct

from osiris.core import canon
from osiris.service import Answer, Ask, Caller
from tests.sim.world import LEASE_S, World

RETRIES = 40
EARLY_S = 0.05
AGAIN = ("busy", "storage_full", "storage_error", "actor_died", "timeout", "quarantined")


class Call(Struct):
    """One call: what was sent, when, and what came back; `ended` 0 means never answered."""

    marker: str
    began: int
    ended: int = 0
    answer: str = ""
    is_error: bool = False

    @property
    def is_acknowledged(self) -> bool:
        return self.ended > 0 and not self.is_error


class NoTurn:
    """A turn for callers that wait for each answer."""

    async def wait(self) -> None:
        await trio.lowlevel.checkpoint()

    def done(self) -> None:
        pass


class Client:
    """One agent on one connection."""

    def __init__(
        self, world: World, number: int, shared: list[str], offers: list[tuple[str, str]]
    ) -> None:
        self.world = world
        self.rng = random.Random(f"{world.rng.random()}/{number}")
        self.caller = Caller(f"{number:032x}", "sim", "uid:0", "proj", ())
        self.calls: list[Call] = []
        self.offers = offers
        self._own = ""
        self._shared = shared
        self._ids = 0
        self._refs: list[str] = []
        self._name = f"m{number}"

    async def work(self, count: int) -> None:
        await self._start()
        for _ in range(count):
            await trio.sleep(self.rng.random())
            await self.rng.choice(self._actions())()

    async def _hand(self) -> None:
        """Offer a part of the own task to whoever takes it first; perhaps cancel it."""
        marker = self._marker()
        arguments = {"op": "offer", "to": "any", "goal": marker, "task": self._own}
        if self.rng.random() < 0.5:
            arguments["budget"] = f"tokens={self.rng.choice((5, 20, 60))}"
        call = await self._send("handoff", arguments, marker)
        if call.is_acknowledged:
            contract = call.answer.partition("contract=")[2].split()[0]
            self.offers.append((contract, self._own))

    async def _pause(self) -> None:
        await trio.sleep(self.rng.random() * 2)

    async def _linger(self, issuer: str, child: str) -> None:
        """Come back just when the lease runs out and its issuer waits for the disk."""
        await trio.sleep(LEASE_S - EARLY_S)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._note, issuer)
            await trio.sleep(2 * EARLY_S)
            await self._note(child)

    async def _note(self, task: str) -> None:
        marker = self._marker()
        arguments = {"kind": "fact", "text": marker, "task": task}
        await self._send("observe", arguments, marker)

    async def _settle(self) -> None:
        """Verify, reject or cancel a contract of the own task."""
        mine = [contract for contract, issuer in self.offers if issuer == self._own]
        if mine:
            op = self.rng.choice(("verify", "verify", "reject", "cancel"))
            contract = self.rng.choice(mine)
            await self._send("handoff", {"op": op, "contract": contract, "task": self._own}, "")

    async def _take(self) -> None:
        """Accept somebody's contract, work on it, fall silent or return it."""
        if not self.offers:
            return
        contract, issuer = self.rng.choice(self.offers)
        call = await self._send("handoff", {"op": "accept", "contract": contract}, "")
        if not call.is_acknowledged:
            return
        child = call.answer.partition("task=")[2][:8]
        for _ in range(self.rng.randrange(4)):
            if self.rng.random() < 0.5:
                await self._linger(issuer, child)
            else:
                await self._pause()
                await self._note(child)
        if self.rng.random() < 0.7:
            done = {"op": "return", "contract": contract, "task": child, "result": self._marker()}
            await self._send("handoff", done, "")
        await self._send("plan", {"mode": "resume", "task": self._own}, "")

    def _actions(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        return (
            self._fact, self._fact, self._decision, self._action, self._action, self._lesson,
            self._constraint, self._snapshot, self._read, self._precheck, self._cancelled,
            self._again, self._hand, self._take, self._settle, self._prompt, self._file,
            self._usage, self._state, self._compact, self._drop,
        )  # fmt: skip

    async def _start(self) -> None:
        marker = self._marker()
        budget = f"tokens={self.rng.choice((100, 300, 900))}"
        arguments = {"mode": "start", "objective": marker, "budget": budget, "steps": ["a", "b"]}
        call = await self._send("plan", arguments, marker)
        if call.is_error:
            call = await self._send("plan", {"mode": "start", "objective": marker}, marker)
        if call.is_acknowledged:
            self._own = call.answer.partition("task=")[2][:8]
            self._shared.append(self._own)

    async def _fact(self) -> None:
        marker = self._marker()
        await self._send("observe", {"kind": "fact", "text": marker, **self._task()}, marker)

    async def _decision(self) -> None:
        marker = self._marker()
        arguments = {"kind": "decision", "id": marker, "text": marker, **self._task()}
        await self._send("observe", arguments, marker)

    async def _constraint(self) -> None:
        marker = self._marker()
        await self._send("plan", {"mode": "update", "constraints": [marker]}, marker)

    async def _action(self) -> None:
        marker = self._marker()
        text = f"{marker} " * self.rng.choice((1, 10, 3_000))
        arguments = {"kind": "action", "tool": marker, "result": text, **self._task()}
        call = await self._send("observe", arguments, marker)
        if call.is_acknowledged and "ref=" in call.answer:
            self._refs.append(call.answer.partition("ref=")[2].split()[0])

    async def _drop(self) -> None:
        """Say that a result has left the prompt; perhaps once more."""
        if self._refs:
            dropped = {"kind": "dropped", "ref": self.rng.choice(self._refs), **self._task()}
            await self._send("observe", dropped, "")

    async def _lesson(self) -> None:
        marker = self._marker()
        scope = self.rng.choice(("project", "agent", "global"))
        await self._send("observe", {"kind": "lesson", "scope": scope, "text": marker}, marker)

    async def _prompt(self) -> None:
        """Record a head or a list of tools; it is known by its hash."""
        name = self._marker()
        kind = self.rng.choice(("head", "contract"))
        text = json.dumps([{"name": name, "description": "a tool"}]) if kind == "contract" else name
        marker = canon.sha256_hex(text.encode())
        await self._send("observe", {"kind": kind, "text": text, **self._task()}, marker)

    async def _file(self) -> None:
        path = self._marker()
        arguments = {"kind": "file", "path": path, "text": f"{path} " * 9, **self._task()}
        await self._send("observe", arguments, path)

    async def _usage(self) -> None:
        """Tell of a request; those of one model say in pairs how its cache fared."""
        usage = {
            "model": "claude-opus-5-5",
            "input": 9_000,
            "cache_read": self.rng.choice((0, 8_000)),
        }
        await self._send("observe", {"kind": "usage", "args": usage, **self._task()}, "")

    async def _state(self) -> None:
        marker = self._marker()
        arguments = {"kind": "state", "text": marker, "ok": True, **self._task()}
        await self._send("observe", arguments, marker)

    async def _compact(self) -> None:
        mode = self.rng.choice(("compact", "trim", "clear"))
        await self._send("checkpoint", {"mode": mode, **self._task()}, "")

    async def _snapshot(self) -> None:
        marker = self._marker()
        await self._send("checkpoint", {"mode": "snapshot", "id": marker}, marker)

    async def _read(self) -> None:
        await self._send("plan", {"mode": "status", **self._task()}, "")

    async def _precheck(self) -> None:
        await self._send("precheck", {"tool": "read", "args": {"path": "a"}, **self._task()}, "")

    async def _cancelled(self) -> None:
        """Cancel a call after some steps of it; it may or may not have happened."""
        marker = self._marker()
        arguments = {"kind": "fact", "text": marker, **self._task()}
        steps = self.rng.randrange(40)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._cancel_after, nursery.cancel_scope, steps)
            await self._send("observe", arguments, marker)
            nursery.cancel_scope.cancel()

    async def _cancel_after(self, scope: trio.CancelScope, steps: int) -> None:
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        scope.cancel()

    async def _again(self) -> None:
        """Send a call twice under one key: the second answer is the first."""
        marker = self._marker()
        arguments = {"kind": "fact", "text": marker, "key": f"key-{marker}", **self._task()}
        first = await self._send("observe", arguments, marker)
        second = await self._send("observe", arguments, marker)
        if first.is_acknowledged and second.is_acknowledged:
            assert first.answer == second.answer, (first, second)
        self.calls.remove(second)

    async def _send(self, tool: str, arguments: Mapping[str, object], marker: str) -> Call:
        self._ids += 1
        ask = Ask(tool, arguments, f"i:{self._ids}")
        call = Call(marker, self.world.step())
        self.calls.append(call)
        for _ in range(RETRIES):
            answer = await self._try(ask)
            if answer is not None and not _is_passing(answer):
                call.answer, call.is_error = answer.text, answer.is_error
                call.ended = self.world.step()
                return call
            await trio.sleep(self.rng.random())
        return call

    async def _try(self, ask: Ask) -> Answer | None:
        """Return the answer, or None when the owner went before it arrived."""
        await self.world.up.wait()
        gateway = self.world.gateway
        if gateway is None or not self.world.is_up:
            return None
        with self.world.connected():
            answer = await gateway.call(self.caller, ask, NoTurn())
            return answer if self.world.gateway is gateway and self.world.is_up else None
        return None

    def _task(self) -> dict[str, object]:
        """Name one of the shared tasks, or leave it to the connection's own."""
        if self._shared and self.rng.random() < 0.5:
            return {"task": self.rng.choice(self._shared)}
        return {}

    def _marker(self) -> str:
        self._ids += 1
        return f"{self._name}x{self._ids}"


def _is_passing(answer: Answer) -> bool:
    return answer.is_error and any(answer.text.startswith(f"error {code}") for code in AGAIN)
