"""The ledger row by row: every table over the cells sums to the one headline."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core import counting, ledger, savings
from osiris.core import events as ev
from osiris.core.savings import By, Row
from osiris.core.task_state import TaskState, add, apply

DAY_MS = 86_400_000
STREAMS = ("task/7c3f90d1", "task/00ff00ff", "project/p1", "global")
KINDS = ("reply", "stub/shell", "arguments/read", "recall/shell", "schema")
AMOUNTS = st.dictionaries(st.sampled_from(KINDS), st.integers(0, 9_000), max_size=4)
EVENTS = st.one_of(
    st.builds(ev.Charged, AMOUNTS, st.integers(0, 3)),
    st.builds(
        ev.KeptOut,
        st.just("ab" * 32),
        st.sampled_from(ledger.PROOFS),
        st.sampled_from(("shell", "read")),
        st.integers(0, 90_000),
    ),
)
BY = st.sampled_from(("ana", "b/o\nb", "", ledger.NOBODY))
LIVED = st.lists(
    st.tuples(
        st.sampled_from(STREAMS),
        st.builds(ev.Stamped, st.integers(0, 3 * DAY_MS), BY, EVENTS),
    ),
    max_size=20,
)


def counted(*lived: tuple[str, ev.Stamped]) -> dict[str, int]:
    counters: dict[str, int] = {}
    for stream, stamped in lived:
        counters = add(counters, counting.deltas(stream, (stamped,)))
    return counters


def charged(stream: str, by: str = "ana", at_ms: int = 0, **tokens: int) -> tuple[str, ev.Stamped]:
    amounts = {name.replace("_", "/"): amount for name, amount in tokens.items()}
    return stream, ev.Stamped(at_ms, by, ev.Charged(amounts, 1))


def kept(stream: str, source: str, tokens: int, proof: str = "receipt") -> tuple[str, ev.Stamped]:
    return stream, ev.Stamped(0, "ana", ev.KeptOut("ab" * 32, proof, source, tokens))


def row(name: str, receipt: int, **overhead: int) -> Row:
    kept_out = {"receipt": receipt, "declared": 0, "estimated": 0}
    return Row(name, kept_out, overhead, receipt - sum(overhead.values()))


@pytest.mark.promise("one-net")
@pytest.mark.parametrize("by", get_args(By))
@given(lived=LIVED)
def test_the_rows_of_every_table_sum_to_the_headline(
    by: By, lived: list[tuple[str, ev.Stamped]]
) -> None:
    counters = counted(*lived)
    accounts = {
        name.removeprefix("ledger/all#"): amount
        for name, amount in counters.items()
        if name.startswith("ledger/all#")
    }
    kept_out, overhead = ledger.summary(accounts)

    rows = savings.rows(counters, by)

    assert sum(r.net for r in rows) == ledger.net(kept_out, overhead)
    for proof in ledger.PROOFS:
        assert sum(r.kept_out[proof] for r in rows) == kept_out[proof]
    for kind in overhead:
        assert sum(r.overhead.get(kind, 0) for r in rows) == overhead[kind]


def test_what_belongs_to_no_task_is_a_row_of_its_own() -> None:
    counters = counted(
        kept("task/7c3f90d1", "shell", 900),
        charged("task/7c3f90d1", reply=50),
        charged("project/p1", by=ledger.NOBODY, schema=1_500, instructions=300),
    )

    assert savings.rows(counters, "task") == (
        row("7c3f90d1", 900, reply=50),
        row("(session)", 0, schema=1_500, instructions=300),
    )


def test_a_call_about_a_text_counts_for_where_the_text_came_from() -> None:
    counters = counted(
        kept("task/7c3f90d1", "shell", 900),
        charged("task/7c3f90d1", arguments_shell=40, stub_shell=110),
        charged("task/7c3f90d1", recall_shell=200),
        charged("task/7c3f90d1", arguments_read=30),
        charged("task/7c3f90d1", reply=25),
    )

    assert savings.rows(counters, "tool") == (
        row("shell", 900, arguments=40, stub=110, recall=200),
        row("(osiris)", 0, reply=25),
        row("read", 0, arguments=30),
    )


def test_days_come_in_order_under_their_dates() -> None:
    counters = counted(
        charged("global", at_ms=20_000 * DAY_MS, reply=1),
        charged("global", at_ms=19_999 * DAY_MS, reply=2),
    )

    assert savings.rows(counters, "day") == (
        row("2024-10-03", 0, reply=2),
        row("2024-10-04", 0, reply=1),
    )


def test_an_agents_name_cannot_break_out_of_its_cell() -> None:
    counters = counted(charged("global", by="a/b\nc" + "x" * 99, reply=1))

    [found] = savings.rows(counters, "agent")

    assert found.name == "a-b\\nc" + "x" * (ledger.NAME - 7) + "…"


def test_a_task_keeps_its_overhead_by_kind_alone() -> None:
    _, stamped = charged("task/7c3f90d1", stub_shell=110, stub=5, recall_read=7)

    assert apply(TaskState(), stamped).charged == {"stub": 115, "recall": 7}


def test_a_plain_observe_changes_few_counters() -> None:
    tokens = {"arguments/shell": 40, "reply/shell": 12, "stub/shell": 100}
    events = (
        ev.Stamped(0, "ana", ev.KeptOut("ab" * 32, "receipt", "shell", 900)),
        ev.Stamped(0, "ana", ev.Charged(tokens, 1)),
    )

    assert len(counting.deltas("task/7c3f90d1", events)) == 11


def test_an_outcome_of_a_gap_bucket_is_counted_from_its_event() -> None:
    event = ev.UsageDeclared("m", "anthropic", 300, 1, 2, 3, 0, 4, cell="a/300/m/1", dead=True)

    found = counting.deltas("task/7c3f90d1", (ev.Stamped(0, "ana", event),))

    assert found == {"cache/a/300/m/1/dead": 1}
