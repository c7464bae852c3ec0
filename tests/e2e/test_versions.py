"""Bridges and owners of different versions on one home."""

import sys

import pytest

from osiris.succession import name_heir
from tests.e2e.living import Living, text
from tests.e2e.on_terms import bridge_of, owner_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners are stopped by signals")

CALLS = 20


def test_an_older_owner_leaves_to_a_newer_bridge_and_nobody_loses_a_call(home: Living) -> None:
    old = home.client(bridge_of("1.0"))
    task = old.plan("outlive the old version")
    before = home.record()
    calls = [
        old.sent_call("observe", kind="decision", id=f"d{n}", text=f"decision {n}")
        for n in range(CALLS)
    ]

    new = home.client(bridge_of("2.0"))

    assert task in new.call("plan", mode="resume", task=task)
    after = home.record()
    assert (before.version, after.version) == ("1.0", "2.0")
    answers = [old.next() for _ in calls]
    assert sorted(answer["id"] for answer in answers if text(answer)) == calls
    kinds = [kind for _, kind in home.real.events(f"task/{task}")]
    assert kinds.count("DecisionPinned") == CALLS
    assert "result" in home.client(bridge_of("1.5")).ask("tools/list")
    assert home.record().is_same(after)
    assert home.real.ask("audit")["unclean_stops"] == 0
    assert home.real.complaints() == []


def test_an_owner_that_came_in_place_of_a_newer_one_stays_until_one_newer_still_comes(
    home: Living,
) -> None:
    name_heir(home.home, "2.0")
    home.serve(owner_of("1.0"))
    first = home.record()

    assert "result" in home.client(bridge_of("2.0")).ask("tools/list")
    assert home.record().is_same(first)
    assert "result" in home.client(bridge_of("3.0")).ask("tools/list")
    assert home.record().version == "3.0"
