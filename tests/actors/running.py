"""A running system over the memory store, for tests of what agents and people see."""

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from msgspec import Struct

from osiris.core import tokens
from osiris.core.errors import Refusal
from osiris.prices_data import PriceBook
from osiris.service import Answer, Ask, Caller
from osiris_actors.charges import Charges
from osiris_actors.desk import RuntimeDesk
from osiris_actors.files import FileRead
from osiris_actors.gateway import Gateway
from osiris_actors.ingest import Ingest
from osiris_actors.store.backend import RecordBackend
from osiris_actors.store.lane import InlineLane
from osiris_actors.store.memory import MemoryBackend
from osiris_actors.stream import Tools
from osiris_actors.system import Options, running
from osiris_actors.writer import Writer
from tests.sim.clients import NoTurn
from tests.sim.world import NoSecrets, SimEnv

CALLER = Caller("a" * 32, "whole", "uid:0", "proj", ())


class Texts:
    """Files by path."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    async def read(self, path: str, roots: tuple[str, ...]) -> Any:
        await trio.lowlevel.checkpoint()
        if path not in self.texts:
            return Refusal("not_found", f"no {path}", "look at the path")
        data = self.texts[path].encode()
        return FileRead(path, data, 0, len(data), "")


class Agent(Struct):
    """Calls tools one after the other, each under its own request id."""

    gateway: Gateway
    caller: Caller = CALLER
    calls: int = 0

    async def call(self, name: str, /, **arguments: object) -> Answer:
        self.calls += 1
        ask = Ask(name, arguments, f"i:{self.calls}")
        return await self.gateway.call(self.caller, ask, NoTurn())


@asynccontextmanager
async def system(
    backend: RecordBackend | None = None,
    texts: dict[str, str] | None = None,
    book: PriceBook | None = None,
    reports: Path | None = None,
) -> AsyncGenerator[tuple[Agent, RuntimeDesk]]:
    """Run a system; leave in order, so that nothing is pending afterwards."""
    env = SimEnv(random.Random(1))
    store = Writer(backend or MemoryBackend("5" * 32), env, lane=InlineLane())
    prices = book or PriceBook()
    tools = Tools(store, env, Charges(), tokens.estimate, prices=prices)
    ingest = Ingest(env, NoSecrets(), Texts(texts or {}), tokens.estimate)
    ingest.ready.set()
    async with running(store, ingest, tools, Options(reports=reports)) as whole:
        gateway = Gateway(whole)
        yield Agent(gateway), RuntimeDesk(gateway)
