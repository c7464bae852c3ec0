"""LoopGuard on sequences of calls: the five patterns, denials and batches."""

import pytest

from osiris.core.loop_call import Call, see
from osiris.core.loop_window import Evidence, Window, push
from osiris.core.loopguard import Verdict, judge
from tests.core.loopguard_cases import BUILD_ERROR, bash, call, edit, first, levels, read, verdicts


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


@pytest.mark.promise("S7-oscillation")
@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_a_cycle_warns_at_its_third_round_and_blocks_at_its_fifth(period: int) -> None:
    unit = [read(f"{n}.ts", f"text {n}") for n in range(period)]
    found = verdicts(unit * 5)

    assert first([v.level for v in found], "warn") == 3 * period
    assert first([v.level for v in found], "block") == 5 * period
    assert found[3 * period - 1].pattern == "oscillation"


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


def test_a_plan_rewritten_in_other_words_is_the_same_plan() -> None:
    plans = [
        call("update_plan", {"plan": [{"step": f"do it, take {n}", "status": "pending"}]}, "ok")
        for n in range(10)
    ]

    assert first(levels(plans), "warn") == 5


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
