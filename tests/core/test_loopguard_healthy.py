"""What LoopGuard has to leave alone, and answers that are no failures."""

from tests.core.loopguard_cases import bash, call, edit, first, levels, read


def test_looking_in_a_few_likely_places_is_a_search() -> None:
    places = [
        call("read_file", {"path": f"conf/{n}.toml"}, "File does not exist.", ok=False)
        for n in range(6)
    ]
    found = levels(places)

    assert found == ["none", "none", "none", "suggest", "suggest", "warn"]


def test_a_cycle_whose_results_move_is_work() -> None:
    steps = [
        bash(f"git bisect {word}", f"Bisecting: {96 - n} revisions left")
        for n, word in enumerate(["good", "bad"] * 8)
    ]

    assert set(levels(steps)) == {"none"}


def test_a_long_repetitive_job_under_new_arguments_is_no_runaway() -> None:
    steps = [bash(f"./import-one {n}", "ok") for n in range(60)]

    assert set(levels(steps)) == {"none"}


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


def test_a_reread_after_compaction_is_fair() -> None:
    text = read("spec.md", "text")

    assert levels([text, "compaction", text]) == ["none", "none"]


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
