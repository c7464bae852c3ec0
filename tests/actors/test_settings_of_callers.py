"""Settings of a connection and the user's prices reach the decisions of its calls."""

import json
from pathlib import Path

from msgspec.structs import replace

from osiris.prices_data import PriceBook
from tests.actors.running import CALLER, Agent, system

USAGE = {"model": "claude-opus-5-5", "cache_read": 50_000, "output": 10}


async def test_each_connection_has_its_own_lifetime_of_the_cache() -> None:
    async with system() as (agent, desk):
        long = Agent(agent.gateway, replace(CALLER, nonce="b" * 32, cache_ttl_s=3_600))
        for each in (agent, long):
            await each.call("plan", mode="start", objective="x")
            await each.call("observe", kind="usage", args=USAGE)
            await each.call("observe", kind="usage", args={**USAGE, "gap_s": 600})

        counted = await desk.store.counters("cache/")

    assert counted == {
        "cache/anthropic/300/claude-opus-5-5/9/alive": 1,
        "cache/anthropic/3600/claude-opus-5-5/9/alive": 1,
    }


async def test_a_price_file_holds_for_calls_once_somebody_looks_at_the_prices(
    tmp_path: Path,
) -> None:
    path = tmp_path / "prices.json"
    book = PriceBook(path)
    async with system(book=book) as (agent, desk):
        await agent.call("plan", mode="start", objective="x")
        before = await agent.call("observe", kind="usage", args={"model": "mine", "input": 1_000})
        path.write_text(json.dumps({"models": [{"model": "mine", "input": 3.0, "output": 1.0}]}))
        found, _ = await desk.ask("prices", {"model": "mine"}, b"")
        after = await agent.call("observe", kind="usage", args={"model": "mine", "input": 1_000})
        path.write_text("{")
        broken, _ = await desk.ask("prices", {}, b"")
        still = await agent.call("observe", kind="usage", args={"model": "mine", "input": 1_000})

    assert [row["from"] for row in found["models"]] == ["yours"]
    assert broken["problem"]["code"] == "bad_prices"
    assert ["usd=0.0030" in said.text for said in (before, after, still)] == [False, True, False]
    assert not still.is_error
