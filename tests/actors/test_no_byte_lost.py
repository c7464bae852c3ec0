"""Whatever leaves a prompt, every byte of it stays: prepared, dropped, resumed, and read back."""

from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from osiris.core import refs
from osiris.core.canon import sha256_hex
from osiris_actors.refstore import Fetch
from osiris_actors.store.memory import MemoryBackend
from tests.actors.running import system

LINES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
TEXTS = st.builds(str.__mul__, LINES, st.integers(1, 400))
MOVES = st.sampled_from(["compact", "trim", "clear", "drop", "resume", "snapshot"])


@pytest.mark.promise("S6-never-deletes")
@pytest.mark.promise("S9-lossless")
@settings(max_examples=25, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.lists(MOVES, max_size=8))
def test_no_prune_loses_a_byte(texts: list[str], moves: list[str]) -> None:
    found, audit = trio.run(_lived, texts, moves)

    assert found == {sha256_hex(text.encode()): text.encode() for text in texts}
    assert (audit["lossless"], audit["items_missing"]) == (True, 0)
    assert audit["items_externalized"] == audit["items_verified"] == len(found)


async def _lived(texts: list[str], moves: list[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Observe texts, do with the prompt what `moves` say, and read everything from a new owner."""
    backend = MemoryBackend("5" * 32)
    names = [sha256_hex(text.encode()) for text in texts]
    async with system(backend) as (agent, _):
        await agent.call("plan", mode="start", objective="x")
        for number, text in enumerate(texts):
            args = {"n": number}
            await agent.call("observe", kind="action", tool="t", args=args, result=text)
        for number, move in enumerate(moves):
            if move == "drop":
                ref = refs.short(names[number % len(names)])
                await agent.call("observe", kind="dropped", ref=ref)
            else:
                await agent.call("checkpoint", mode=move)
    async with system(backend.reopen()) as (agent, desk):
        found: dict[str, bytes] = {}
        for name in names:
            data = await agent.gateway.system.refstore.ask(Fetch(name))
            assert isinstance(data, bytes), data
            found[name] = data
        audit, _ = await desk.ask("audit", {}, b"")
    return found, audit
