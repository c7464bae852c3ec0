"""What a result says, without what differs at every run."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.loop_signature import HINTS, LEAST, VOLATILE, fault, signature


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("done at 2026-11-03T10:04:05.123Z", "done at 2026-11-04T23:59:59Z"),
        ("[12:00:00] ready", "[12:00:02] ready"),
        ("Nov 13 10:30 a.txt", "Nov  4 09:12 a.txt"),
        ("epoch 1763000000123 ok", "epoch 1763009999456 ok"),
        ("3 passed in 0.34s", "3 passed in 12.80s"),
        ("built in 1m30.5s", "built in 2m1s"),
        ("took 4 min", "took 11 min"),
        ("panic at 0x7ffe12ab34", "panic at 0x55d0c0ffee"),
        ("worker pid=4711 up", "worker pid=99 up"),
        ("sshd[812]: accepted", "sshd[9981]: accepted"),
        ("wrote /tmp/tmpab12cd/out.txt", "wrote /tmp/tmpzz99/out.txt"),
        ("wrote C:\\Users\\me\\Temp\\x1\\o", "wrote C:\\Users\\me\\Temp\\y2\\o"),
        ("id 8f14e45f-ceea-467f-9575-4ab4da0a4e8b", "id 45c48cce-2e2d-4fbd-ba22-a3c1d9f0e001"),
        ('{"request_id": "abc-1", "a": 1}', '{"request_id": "zz-9", "a": 1}'),
        ("sent, messageId: 17.22-x", "sent, messageId: 18.01-q"),
        ("job req_8fa31b22cc failed", "job req_0011aabb99 failed"),
        ('{"now": "noon", "n": 1}', '{"now": "later", "n": 1}'),
        ('{"updated_at": 17, "n": 1}', '{"updated_at": 18, "n": 1}'),
        ("\x1b[32mok\x1b[0m", "ok"),
        ("a\r\nb\n", "a\nb"),
    ],
)  # fmt: skip
def test_what_differs_at_every_run_is_no_part_of_a_result(one: str, other: str) -> None:
    assert signature(one, ok=True) == signature(other, ok=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9 failed", "7 failed"),
        ("running 5%", "running 12%"),
        ("src/a.ts:12:30: error", "src/a.ts:12:31: error"),
        ("commit 9f8e7d6", "commit 1a2b3c4"),
        ("version 1.2.3", "version 1.2.4"),
        ("flight on 2024-05-13", "flight on 2024-05-14"),
        ("12 files", "13 files"),
        ('{"finished_at": null}', '{"finished_at": "2026-01-01"}'),
        ("port 8080", "port 8081"),
        ("", " M f1.py"),
    ],
)
def test_news_is_part_of_a_result(one: str, other: str) -> None:
    assert signature(one, ok=True) != signature(other, ok=True)


def test_the_same_text_of_a_failure_is_another_result() -> None:
    assert len({signature("x", ok) for ok in (True, False, None)}) == 3


def test_a_changed_line_in_the_middle_of_ten_megabytes_is_seen() -> None:
    lines = [f"line {n} says something" for n in range(400_000)]
    before = "\n".join(lines)
    lines[200_000] = "line 200000 says nothing"

    assert len(before) > 10_000_000
    assert signature(before) != signature("\n".join(lines))


def test_times_in_the_middle_of_a_long_text_do_not_count() -> None:
    def log(hour: int) -> str:
        return "\n".join(f"2026-01-01 {hour:02}:00:{n % 60:02} step {n}" for n in range(9_000))

    assert signature(log(10)) == signature(log(11))


@pytest.mark.parametrize(
    "hostile",
    ["1" * 70_000, "C:\\" * 25_000, '"a_at' * 15_000, " " * 70_000, "/tmp/" * 14_000],
)
def test_a_hostile_text_costs_no_more_than_any_other(hostile: str) -> None:
    began = time.process_time()
    signature(hostile, ok=False)
    fault(hostile)

    assert time.process_time() - began < 0.5


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_every_text_has_a_signature_and_a_fault(text: str) -> None:
    assert len(bytes.fromhex(signature(text))) == 8
    assert len(bytes.fromhex(fault(text))) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ENOENT: no such file, open '/a/x.ts'", "ENOENT: no such file, open '/b/y.ts'"),
        ("Error: flight HAT030 not available", "Error: flight HAT223 not available"),
        ("Exit code 1\nfatal: bad object 12ab", "Exit code 1\nfatal: bad object 77ff"),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3\nKeyError: "x"',
            'Traceback (most recent call last):\n  File "b.py", line 9\nKeyError: "y"',
        ),
    ],
)
def test_one_error_about_two_things_is_one_fault(one: str, other: str) -> None:
    assert fault(one) == fault(other)


def test_two_errors_are_two_faults() -> None:
    assert fault("error: permission denied") != fault("error: disk full")


_SAMPLES = (
    "took 4 min", "an 5 h", "aook 7 minutes", "pid=4711", "thread 9", "0x7ffe12ab34", "\x1b[32m",
    "/tmp/x", "/private/tmp/y", "/var/folders/a/b/T/c", "C:\\Temp\\x1", ":\\a\\tmp\\b",
    "sshd[812]:",
    "Nov 13 10:30", "mall-4711abcde", "xrace_12345678", "call_12345678", "'now' \x0c: 5",
    '"updated_at":\u00a05', "message-ID: 5", "Request iD = 9", "2026-11-03T10:04:05Z",
    "8f14e45f-ceea-467f-9575-4ab4da0a4e8b", "0.34s", "1763000000123",
)  # fmt: skip
_TEXTS = st.lists(st.sampled_from(_SAMPLES) | st.text(max_size=12), max_size=8).map(" ".join)


@given(_TEXTS)
def test_a_text_without_the_hints_of_a_pattern_has_nothing_for_it(text: str) -> None:
    found = {name for name, pattern in VOLATILE.items() if re.search(pattern, text)}

    hinted = {
        name
        for name in VOLATILE
        if any(text.count(hint) >= LEAST.get(name, 1) for hint in HINTS.get(name, ("",)))
    }
    assert found <= hinted


def test_every_sample_is_found_by_the_pattern_it_was_made_for() -> None:
    found = {
        name for name, pattern in VOLATILE.items() for text in _SAMPLES if re.search(pattern, text)
    }

    assert found == VOLATILE.keys()
