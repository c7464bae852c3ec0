"""LoopGuard on sequences of calls: what it must see, what it must leave alone."""

from collections.abc import Iterable
from typing import Any

import pytest

from osiris.core.loop_call import Call, see
from osiris.core.loop_rules import Level
from osiris.core.loop_window import Evidence, Window, push, renewed
from osiris.core.loopguard import Verdict, judge

NOW_MS = 1_800_000_000_000
BUILD_ERROR = "error TS2304: Cannot find name Foo"


def call(  # noqa: PLR0913 - a test names only what matters to it
    tool: str,
    args: dict[str, Any],
    text: str | None = "",
    *,
    ok: bool = True,
    at_s: float = 0,
    batch: str = "",
    state: str = "",
    denied: bool = False,
) -> Call:
    return Call(
        tool, args, text, ok, NOW_MS + round(at_s * 1000), batch=batch, state=state, denied=denied
    )  # fmt: skip


def read(path: str, text: str, **args: Any) -> Call:
    return call("read_file", {"path": path, **args}, text)


def bash(command: str, text: str, *, ok: bool = True, at_s: float = 0) -> Call:
    return call("bash", {"command": command}, text, ok=ok, at_s=at_s)


def edit(n: int) -> Call:
    return call("edit_file", {"path": "a.py", "old": f"x{n}", "new": f"y{n}"}, "ok")


def verdicts(steps: Iterable[Call | Evidence]) -> list[Verdict]:
    window, found = Window(), list[Verdict]()
    for step in steps:
        if isinstance(step, str):
            window = renewed(window, step)
            continue
        seen = see(step)
        found.append(judge(window, seen))
        window = push(window, seen)
    return found


def levels(steps: Iterable[Call | Evidence]) -> list[Level]:
    return [verdict.level for verdict in verdicts(steps)]


def spaced(calls: Iterable[Call], every_s: float) -> list[Call]:
    return [
        call(c.tool, dict(c.args), c.text, ok=bool(c.ok), at_s=n * every_s)
        for n, c in enumerate(calls)
    ]


def first(found: list[Level], level: Level) -> int:
    """Return the number, from 1, of the first call with that level; 0: none."""
    return found.index(level) + 1 if level in found else 0


@pytest.mark.promise("S7-exact-duplicate")
def test_an_identical_fingerprint_gets_an_alternative_then_a_warning_then_a_block() -> None:
    found = verdicts([read("a.md", "same")] * 16)

    assert [v.level for v in found] == (
        ["none"] + 3 * ["suggest"] + 5 * ["warn"] + 5 * ["block"] + 2 * ["stop"]
    )
    assert found[1] == Verdict(
        "suggest",
        "exact_duplicate",
        "duplicate",
        2,
        "read_file called 2 times, same arguments, same result, no change in between",
        "use the result you have",
    )
    assert found[1].word == "suggest_alternative"
    assert found[1].required_action == ""
    assert found[9].required_action == "use the result you have"


def test_a_duplicate_names_the_ref_of_the_result_it_repeats() -> None:
    stored = see(Call("read_file", {"path": "a"}, "text", ok=True, at_ms=0, ref="ab" * 32))
    window = push(Window(), stored)

    assert judge(window, stored).alternative == "use the result you have: recall mem://abababababab"


@pytest.mark.promise("S7-repeated-failure")
def test_the_same_error_three_times_blocks_and_says_what_to_do() -> None:
    found = verdicts([bash("npm run build", BUILD_ERROR, ok=False)] * 6)

    assert [v.level for v in found] == ["none", "suggest", "block", "block", "block", "stop"]
    assert (found[2].pattern, found[2].word) == ("repeated_failure", "block")
    assert found[2].required_action == "change what the error names before the next try"


def test_a_failure_counts_on_through_harmless_calls() -> None:
    build = bash("npm run build", BUILD_ERROR, ok=False)
    reads = [read(f"src/x{n}.ts", f"export {n}") for n in range(3)]
    found = levels([build, reads[0], build, reads[1], bash("ls", "src"), build])

    assert found[-1] == "block"


@pytest.mark.parametrize(
    "between",
    [
        bash("npm run build", "done"),
        edit(1),
        bash("npm install foo", "added 1 package"),
        "user_message",
    ],
    ids=["a success", "an edit", "a command that writes", "the user's word"],
)
def test_progress_between_two_errors_resets_the_count(between: Call | Evidence) -> None:
    failed = bash("npm run build", BUILD_ERROR, ok=False)
    found = levels([failed, failed, between, failed, failed])

    assert "block" not in found


@pytest.mark.promise("S7-loop-pattern")
def test_one_error_under_ever_new_arguments_is_a_wrong_strategy() -> None:
    denied = "error: EACCES: permission denied, scandir"
    found = verdicts(call("list_dir", {"path": f"/srv/{n}"}, denied, ok=False) for n in range(12))

    assert [v.level for v in found[:4]] == ["none", "none", "suggest", "warn"]
    assert found[3].pattern == "loop_pattern"
    assert first([v.level for v in found], "block") == 10


def test_an_error_that_quotes_its_argument_is_still_the_same_error() -> None:
    found = levels(
        call("open", {"path": f"/a/{n}.ts"}, f"EPERM: not allowed, open '/a/{n}.ts'", ok=False)
        for n in range(4)
    )

    assert found[-1] == "warn"


def test_a_success_of_the_tool_ends_the_wandering_and_of_a_shell_only_of_its_like() -> None:
    def refused(n: int) -> list[Call]:
        return [
            call("list_dir", {"path": f"/srv/{n}"}, "EACCES: permission denied", ok=False),
            bash(f"./run-{n}", "error: permission denied", ok=False),
        ]

    listed = call("list_dir", {"path": "/srv/mine"}, "a\nb")
    looked = bash("ls /srv", "x")
    found = levels([*refused(1), *refused(2), *refused(3), listed, looked, *refused(4)])

    assert found[-2:] == ["none", "warn"]


def test_looking_in_a_few_likely_places_is_a_search() -> None:
    places = [
        call("read_file", {"path": f"conf/{n}.toml"}, "File does not exist.", ok=False)
        for n in range(6)
    ]
    found = levels(places)

    assert found == ["none", "none", "none", "suggest", "suggest", "warn"]


@pytest.mark.promise("S7-oscillation")
@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_a_cycle_warns_at_its_third_round_and_blocks_at_its_fifth(period: int) -> None:
    unit = [read(f"{n}.ts", f"text {n}") for n in range(period)]
    found = verdicts(unit * 5)

    assert first([v.level for v in found], "warn") == 3 * period
    assert first([v.level for v in found], "block") == 5 * period
    assert found[3 * period - 1].pattern == "oscillation"


def test_a_cycle_whose_results_move_is_work() -> None:
    steps = [
        bash(f"git bisect {word}", f"Bisecting: {96 - n} revisions left")
        for n, word in enumerate(["good", "bad"] * 8)
    ]

    assert set(levels(steps)) == {"none"}


def test_edits_that_bring_an_old_state_back_are_a_cycle() -> None:
    there = call("edit_file", {"path": "a", "old": "x", "new": "y"}, "ok", state="a@1")
    back = call("edit_file", {"path": "a", "old": "y", "new": "x"}, "ok", state="a@0")
    found = levels([there, back] * 5)

    assert (first(found, "warn"), first(found, "block")) == (6, 10)


@pytest.mark.promise("S7-runaway")
def test_many_calls_without_anything_new_are_a_runaway() -> None:
    found = verdicts(call("search", {"q": f"word {n}"}, "no results") for n in range(62))

    assert first([v.level for v in found], "warn") == 21
    assert first([v.level for v in found], "block") == 41
    assert first([v.level for v in found], "stop") == 61
    assert found[20].pattern == "runaway"


def test_a_long_repetitive_job_under_new_arguments_is_no_runaway() -> None:
    steps = [bash(f"./import-one {n}", "ok") for n in range(60)]

    assert set(levels(steps)) == {"none"}


def test_a_plan_rewritten_in_other_words_is_the_same_plan() -> None:
    plans = [
        call("update_plan", {"plan": [{"step": f"do it, take {n}", "status": "pending"}]}, "ok")
        for n in range(10)
    ]

    assert first(levels(plans), "warn") == 5


def test_a_poll_that_never_moves_is_told_to_wait_then_blocked() -> None:
    polls = [
        call("job_status", {"job": 1}, f'{{"state": "queued", "now": "12:00:{n:02}"}}', at_s=2 * n)
        for n in range(30)
    ]
    found = levels(polls)

    assert [first(found, level) for level in ("suggest", "warn", "block")] == [3, 10, 25]


def test_a_patient_poll_is_left_alone() -> None:
    polls = [call("job_status", {"job": 1}, "running", at_s=30 * n) for n in range(25)]

    assert set(levels(polls)) == {"none"}


@pytest.mark.parametrize("every_s", [1, 30])
def test_polling_with_a_changing_result_is_never_blocked(every_s: int) -> None:
    growing = (
        call("ci_status", {"run": 9}, f"running {n / 2:.1f}%", at_s=every_s * n) for n in range(200)
    )
    changing = (call("ci_status", {"run": 9}, f"step {n}", at_s=every_s * n) for n in range(50))

    assert set(levels(growing)) == {"none"}
    assert {"block", "stop"}.isdisjoint(levels(changing))


def test_a_sleep_between_polls_makes_no_cycle() -> None:
    steps = [bash("sleep 30", ""), bash("gh run view 7", "in_progress")] * 8

    assert {"warn", "block", "stop"}.isdisjoint(levels(spaced(steps, 30)))


def test_ten_seconds_between_polls_are_patience_enough() -> None:
    polls = [call("job_status", {"job": 1}, "running", at_s=10 * n) for n in range(10)]

    assert levels(polls) == ["none"] * 9 + ["warn"]


def test_an_absolute_ceiling_holds_whatever_the_output() -> None:
    found = levels(
        call("read_output", {"session": "dbg"}, f"noise {n}", at_s=n) for n in range(101)
    )

    assert (first(found, "warn"), first(found, "block")) == (40, 100)


def test_compaction_does_not_lift_the_ceiling_and_the_user_does() -> None:
    noise = [call("read_output", {}, f"noise {n}", at_s=n) for n in range(40)]

    assert levels([*noise[:-1], "compaction", noise[-1]])[-1] == "warn"
    assert levels([*noise[:-1], "user_message", noise[-1]])[-1] == "none"


def test_further_passes_over_read_pages_are_seen_by_coverage_alone() -> None:
    def pages(start: int) -> list[Call]:
        return [read("big.rs", f"from {at}", offset=at, limit=40) for at in range(start, 400, 40)]

    found = levels([*pages(1), *pages(21), *pages(11), *pages(31)])

    assert (first(found, "warn"), first(found, "block")) == (15, 32)
    assert set(found[:14]) == {"none"}


def test_coming_back_to_one_page_is_no_second_pass() -> None:
    pages = [read("a.py", f"part {n}", offset=40 * n + 1, limit=40) for n in range(10)]
    back = [read("a.py", f"again {n}", offset=100 + n, limit=30) for n in range(12)]

    assert set(levels([*pages, *back])) == {"none"}


def test_pages_that_overlap_by_a_third_are_one_pass() -> None:
    pages = [read("a.py", f"part {n}", offset=40 * n + 1, limit=60) for n in range(20)]

    assert set(levels(pages)) == {"none"}


def test_the_passes_of_several_files_are_told_apart() -> None:
    def pages(start: int) -> list[Call]:
        return [
            read(f"{name}.rs", f"{name} from {at}", offset=at, limit=40)
            for at in range(start, 200, 40)
            for name in "abc"
        ]

    assert first(levels([*pages(1), *pages(21)]), "warn") == 15 + 7


def test_a_write_between_two_passes_makes_the_second_one_fair() -> None:
    first_pass = [read("a.py", f"v1 {n}", offset=40 * n + 1, limit=40) for n in range(10)]
    second_pass = [read("a.py", f"v2 {n}", offset=40 * n + 21, limit=40) for n in range(9)]

    assert set(levels([*first_pass, edit(1), *second_pass])) == {"none"}


def test_reading_a_long_file_in_growing_ranges_is_no_loop() -> None:
    pages = [
        call("bash", {"command": f"sed -n '{n * 200 + 1},{n * 200 + 200}p' a.log"}, f"page {n}")
        for n in range(164)
    ]

    assert set(levels(pages)) == {"none"}


@pytest.mark.parametrize(
    ("gaps_s", "expected"),
    [
        ((1, 2, 4, 8), ["none"] * 5),
        ((1, 1, 1, 1, 1, 1), ["none", "none", "suggest", "suggest", "warn", "warn", "block"]),
    ],
    ids=["backoff", "haste"],
)
def test_retries_of_a_passing_error_are_judged_by_their_patience(
    gaps_s: tuple[int, ...], expected: list[Level]
) -> None:
    times = [sum(gaps_s[:n]) for n in range(len(gaps_s) + 1)]
    found = levels(
        call("fetch", {"url": "u"}, "503 Service Unavailable", ok=False, at_s=t) for t in times
    )

    assert found == expected


def test_ignoring_the_wait_a_service_asked_for_blocks_early() -> None:
    limited = "429 Too Many Requests. Retry-After: 60"
    hasty = [call("fetch", {"url": n}, limited, ok=False, at_s=5 * n) for n in range(3)]
    obedient = [call("fetch", {"url": n}, limited, ok=False, at_s=60 * n) for n in range(4)]

    assert levels(hasty) == ["none", "warn", "block"]
    assert set(levels(obedient)) == {"none"}


def test_a_denied_call_asked_again_is_blocked_and_then_ends_the_run() -> None:
    push_force = call(
        "bash", {"command": "git push --force"}, "denied by policy", ok=False, denied=True
    )
    found = levels([push_force, bash("ls", "a"), push_force, push_force, push_force])

    assert found == ["none", "none", "block", "block", "stop"]


def test_denials_are_no_history_of_the_call() -> None:
    denied = call("bash", {"command": "make"}, "denied", ok=False, denied=True)
    built = bash("make", "ok")

    assert levels([denied, built])[-1] == "none"


def test_a_run_that_tries_one_denied_thing_after_another_is_blocked_too() -> None:
    denied = [
        call("bash", {"command": f"rm {n}"}, "denied by policy", ok=False, denied=True, at_s=n)
        for n in range(10)
    ]
    found = levels(denied)

    assert (first(found, "block"), first(found, "stop")) == (4, 10)


def test_a_negative_answer_is_no_failure() -> None:
    greps = [bash(f"grep -rn '{word}' src", "", ok=False) for word in "abcdef"]
    tests = [bash("pytest -q", "1 failed: test_x", ok=False)] * 3

    assert set(levels(greps)) == {"none"}
    assert levels(tests) == ["none", "suggest", "suggest"]


def test_the_same_failing_test_with_nothing_changed_does_escalate() -> None:
    found = levels([bash("pytest -q", "1 failed: test_x", ok=False)] * 6)

    assert found[3:] == ["warn", "warn", "block"]


def test_edit_and_test_rounds_are_never_flagged_even_on_a_plateau() -> None:
    rounds = [
        step for n in range(12) for step in (edit(n), bash("pytest -q", "4 failed", ok=False))
    ]

    assert set(levels(rounds)) == {"none"}


def test_an_edit_that_changes_nothing_resets_nothing() -> None:
    noop = call("edit_file", {"path": "a.py", "old": "x", "new": "x"}, "saved")
    failed = bash("make", BUILD_ERROR, ok=False)

    assert levels([failed, noop, failed, noop, failed])[-1] == "block"


def test_a_parallel_batch_counts_once() -> None:
    def batch(name: str) -> list[Call]:
        return [call("read_file", {"path": "a.md"}, "x", batch=name) for _ in range(5)]

    assert set(levels(batch("b1"))) == {"none"}
    assert levels([*batch("b1"), *batch("b2")])[5:] == ["suggest"] * 5


def test_a_failing_batch_counts_once() -> None:
    steps = [
        call("list_dir", {"path": f"/{n}"}, "EACCES: denied", ok=False, batch="b") for n in range(8)
    ]

    assert set(levels(steps)) == {"none"}


def test_a_repeated_batch_is_a_cycle() -> None:
    def batch(name: str) -> list[Call]:
        return [call("read_file", {"path": path}, path, batch=name) for path in ("a", "b", "c")]

    found = levels([*batch("1"), *batch("2"), *batch("3")])

    assert first(found, "warn") == 9


def test_five_different_commands_through_one_tool_are_no_loop() -> None:
    steps = [bash(command, "") for command in ("make", "make test", "ls", "git fetch", "date")]

    assert set(levels(steps)) == {"none"}


def test_fifty_file_moves_with_the_same_answer_are_no_loop() -> None:
    moves = [bash(f"mv a{n} b/a{n}", "") for n in range(50)]
    moved = [call("move_file", {"from": f"a{n}", "to": f"b{n}"}, "ok") for n in range(50)]

    assert set(levels(moves)) == {"none"}
    assert set(levels(moved)) == {"none"}


def test_two_hundred_healthy_reads_are_no_loop() -> None:
    reads = [read(f"src/{n}.py", f"def f{n}(): ...") for n in range(200)]

    assert set(levels(reads)) == {"none"}


def test_asking_the_same_again_while_learning_is_at_most_a_suggestion() -> None:
    steps = [
        step
        for n in range(12)
        for step in (read("notes.md", "the plan"), read(f"src/{n}.py", f"code {n}"))
    ]

    assert set(levels(steps)) == {"none", "suggest"}


def test_a_message_resent_under_fresh_ids_is_the_same_message() -> None:
    sent = [
        call(
            "send_message",
            {"to": "ops", "text": "done", "message_id": f"m-{n}", "timestamp": 1_700_000_000 + n},
            f'{{"ok": true, "messageId": "msg_{n:08}a"}}',
        )
        for n in range(10)
    ]
    found = levels(sent)

    assert [first(found, level) for level in ("suggest", "warn", "block")] == [2, 5, 10]


def test_a_reread_after_compaction_is_fair() -> None:
    text = read("spec.md", "text")

    assert levels([text, "compaction", text]) == ["none", "none"]


def test_a_failure_of_half_an_hour_ago_is_forgotten() -> None:
    failed = [bash("make", BUILD_ERROR, ok=False, at_s=1900 * n) for n in range(5)]

    assert set(levels(failed)) == {"none"}


def test_pressing_a_key_often_is_by_design() -> None:
    keys = [call("press_key", {"key": "Down"}, "ok") for _ in range(12)]
    found = levels(keys)

    assert (first(found, "suggest"), first(found, "warn"), first(found, "block")) == (5, 10, 0)


def test_calls_whose_results_nobody_reported_are_judged_late() -> None:
    unknown = [call("lookup", {"id": 1}, None) for _ in range(10)]
    failing = [call("deploy", {"to": n}, None, ok=False) for n in range(6)]
    reading = [call("lookup", {"id": n}, None) for n in range(30)]

    assert (first(levels(unknown), "suggest"), first(levels(unknown), "warn")) == (5, 10)
    assert set(levels(failing)) == {"none"}
    assert set(levels(reading)) == {"none"}


def test_a_sibling_that_was_skipped_is_no_failure() -> None:
    skipped = [
        call("Edit", {"file_path": f"{n}"}, "<error>Sibling tool call errored</error>", ok=False)
        for n in range(8)
    ]

    assert set(levels(skipped)) == {"none"}
