"""Volatile tokens: two heads compared, one head searched, and what is only fixed."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.prices import Rates
from osiris.core.tokens import exact
from osiris.core.volatile import (
    MAX_FOUND,
    MAX_SEARCHED,
    Change,
    Report,
    Volatile,
    changes,
    inspect,
    lines,
)
from osiris.core.volatile_patterns import DAY, SORT

RATES = Rates(4.0, write=1.25, read=0.05, output=5.0)
UUID = "3f0e2b64-8a7e-4d12-9b3a-0123456789ab"
HEAD = "You are an agent.\nNow: 14:05:09\nBe brief.\n"


def found(text: str) -> list[tuple[str, str, str]]:
    return [(each.kind, each.confidence, each.text) for each in inspect(text).found]


def test_two_heads_are_compared_and_what_differs_is_volatile() -> None:
    report = inspect(
        HEAD, HEAD.replace("14:05:09", "14:04:51"), RATES, lambda text: exact(len(text))
    )

    behind = len(HEAD) - HEAD.index("14:05:09")
    assert report == Report(
        found=(
            Volatile(
                "clock",
                "seen",
                HEAD.index("14:05:09"),
                2,
                "14:05:09",
                "move it behind the last message",
                "14:04:51",
            ),
        ),
        first=HEAD.index("14:05:09"),
        tokens=exact(behind),
        units=behind * (1.25 - 0.05),
        microusd=round(behind * 1.2 * 4),
    )


def test_equal_heads_have_nothing_volatile_whatever_they_look_like() -> None:
    assert inspect(HEAD, HEAD) == Report(())


def test_a_change_that_looks_like_nothing_known_is_seen_all_the_same() -> None:
    report = inspect("mood=happy; go", "mood=sad; go")

    assert [(v.kind, v.text, v.before) for v in report.found] == [("changed", "happy", "sad")]


def test_every_changed_line_is_a_place_of_its_own() -> None:
    report = inspect("a 1\nsame\nb 2\n", "a 7\nsame\nb 8\n")

    assert [(v.line, v.text, v.before) for v in report.found] == [(1, "1", "7"), (3, "2", "8")]


def test_lines_that_came_or_went_are_one_place() -> None:
    assert changes("a\nc\n", "a\nb\nc\n") == [Change(2, 4, "")]
    assert changes("a\nb\nc\n", "a\nc\n") == [Change(2, 2, "b\n")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("alpha\nbeta\ngamma\n", "gamma\nalpha\nbeta\n"),
        ('{"tools":["read","write"]}', '{"tools":["write","read"]}'),
    ],
)
def test_the_same_words_in_another_order_are_to_be_sorted(before: str, after: str) -> None:
    report = inspect(after, before)

    assert [(v.kind, v.fix) for v in report.found] == [("order", SORT)]
    assert report.first is not None


def test_the_cost_is_everything_behind_the_first_change() -> None:
    early = inspect("1" + " word" * 1_000, "2" + " word" * 1_000, RATES)
    late = inspect(" word" * 1_000 + " 1", " word" * 1_000 + " 2", RATES)

    assert early.tokens is not None
    assert late.tokens is not None
    assert early.units is not None
    assert early.tokens.n > 100 * late.tokens.n
    assert early.units == pytest.approx(early.tokens.n * 1.2)


def test_without_prices_the_cost_is_in_tokens_only() -> None:
    report = inspect("a 1", "a 2")

    assert report.tokens is not None
    assert (report.units, report.microusd) == (None, None)
    assert lines(report)[-1] == f"rewritten each call: {report.tokens.n} tokens"


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("Generated at 2026-11-30T12:00:01Z", "datetime", "2026-11-30T12:00:01Z"),
        ("built 2026-11-30 12:00:01.123 UTC", "datetime", "2026-11-30 12:00:01.123"),
        ("Current time: 2026-11-30 12:00", "datetime", "2026-11-30 12:00"),
        ("Mon Nov 30 15:53:01 2026", "datetime", "Mon Nov 30 15:53:01"),
        ("the time is 09:15:22", "clock", "09:15:22"),
        ("It is now 9:15 pm", "clock", "9:15 pm"),
        ('{"timestamp": 1764503581}', "epoch", "1764503581"),
        ("now=1764503581123", "epoch", "1764503581123"),
        (f"session_id: {UUID}", "uuid", UUID),
        (f'"requestId": "{UUID}"', "uuid", UUID),
        (f"id={UUID}", "uuid", UUID),
        ("session id: ab12cd34ef", "id", "ab12cd34ef"),
        ("run 01JDXYZ2ABCDEF0123456789GH", "ulid", "01JDXYZ2ABCDEF0123456789GH"),
        ("see toolu_01A09q90qw90lq917835lq9", "call_id", "toolu_01A09q90qw90lq917835lq9"),
        ("server pid=4711", "pid", "4711"),
        ("in /tmp/tmpab12cd_x/work", "temp_path", "/tmp/tmpab12cd_x/work"),
        ("in /var/folders/zz/T/run-88231/x", "temp_path", "/var/folders/zz/T/run-88231/x"),
        ("snapshot 4m old", "age", "4m old"),
        ("synced 12 seconds ago", "age", "12 seconds ago"),
        ("Current branch: main", "git", "Current branch: main"),
        ("at http://localhost:53122/", "port", "53122"),
    ],
)
def test_a_moment_a_process_or_a_request_is_found_with_high_confidence(
    text: str, kind: str, place: str
) -> None:
    assert found(text) == [(kind, "high", place)]


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("Today's date: 2026-11-30", "date", "2026-11-30"),
        ("at 12:00:01", "clock", "12:00:01"),
        ("seen 2026-11-30 12:00", "datetime", "2026-11-30 12:00"),
        ("commit 3f9a1c5e8d", "hex", "3f9a1c5e8d"),
        (f"see {UUID}", "uuid", UUID),
        ("tokens used: 45,000", "counter", "45,000"),
        ("cwd: /srv/project", "cwd", "/srv/project"),
    ],
)
def test_what_only_has_the_shape_is_found_with_low_confidence_and_costs_nothing(
    text: str, kind: str, place: str
) -> None:
    assert found(text) == [(kind, "low", place)]
    assert inspect(text, rates=RATES).units is None


@pytest.mark.parametrize(
    "text",
    [
        "claude-opus-4-5-20251101 and gpt-4o-2024-08-06",
        "model: claude-3-5-sonnet@20241022, gemini-2.5-flash-preview-2025-04-17",
        'layout = "2006-01-02T15:04:05Z07:00"',
        f"product_id: {UUID}",
        f"namespace {UUID}",
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "Copyright (c) 2024-03-01 Example",
        "anthropic-version: 2023-06-01",
        "version 1.2.3, RFC 9562, 1.4.0-rc.20260101",
        "sha256:3f9a1c5e8d21c21b3f9a1c5e8d21c21b3f9a1c5e8d21c21b3f9a1c5e8d21c21b",
        "colour #1e1e1e2a, deadbeef, defaced, 1234567",
        "wait at least 30 seconds; runs in 12.5s; open at 10:30",
        "http://localhost:8080 and /tmp/osiris.sock",
        "MIT license, 2024-2026",
        "call_function_with_arguments and request_validation_error",
    ],
)
def test_fixed_ids_and_dates_inside_names_are_not_volatile(text: str) -> None:
    assert found(text) == []


def test_the_first_high_place_is_what_costs_not_a_low_one_before_it() -> None:
    text = "date 2026-11-30\npid=7"

    report = inspect(text, rates=RATES)

    assert [v.confidence for v in report.found] == ["low", "high"]
    assert report.first == text.index("7")


def test_a_place_says_line_offset_kind_confidence_and_fix() -> None:
    assert lines(inspect("x\nbuilt 2026-11-30T12:00:01Z", rates=RATES)) == (
        f"line 2 offset 8 datetime high: 2026-11-30T12:00:01Z | fix: {DAY}",
        "rewritten each call: 7 tokens = 0.000034 USD",
    )


def test_shown_text_is_one_short_line() -> None:
    report = inspect("a\n" + "new\nlines\n" * 100 + "z", "a\nz")

    assert "\n" not in report.found[0].text
    assert len(report.found[0].text) < 100


def test_many_places_are_cut_and_counted() -> None:
    report = inspect("pid=1\n" * 200)

    assert (len(report.found), report.more) == (MAX_FOUND, 200 - MAX_FOUND)
    assert lines(report)[MAX_FOUND] == f"{200 - MAX_FOUND} more"


@pytest.mark.parametrize(
    "piece",
    ["a", "1", "-", "a-0.", "/tmp/", "now ", "2026-11-30 ", "session id ", "(c)", "\n", " "],
)
def test_a_hostile_head_takes_no_long_time(piece: str) -> None:
    text = piece * (MAX_SEARCHED // len(piece))

    began = time.process_time()
    inspect(text)
    inspect(text, text[::-1])

    assert time.process_time() - began < 5


def test_heads_with_too_many_different_lines_are_one_change() -> None:
    before = "same\n" + "".join(f"a{n}\n" for n in range(3_000))
    after = "same\n" + "".join(f"b{n}\n" for n in range(3_000))

    report = inspect(after, before)

    assert [v.offset for v in report.found] == [5]


@given(st.text(alphabet="ab1 \n", max_size=60), st.text(alphabet="ab1 \n", max_size=60))
def test_changes_rebuild_the_newer_head_from_the_older(before: str, after: str) -> None:
    rebuilt, rest = "", before
    place = 0
    for change in changes(before, after):
        kept = after[place : change.start]
        assert rest.startswith(kept)
        rest = rest[len(kept) :]
        assert rest.startswith(change.before)
        rest = rest[len(change.before) :]
        rebuilt += kept + after[change.start : change.end]
        place = change.end

    assert rebuilt + rest == after


@given(st.text())
def test_any_head_can_be_searched(text: str) -> None:
    for each in inspect(text).found:
        assert 0 <= each.offset <= len(text)
