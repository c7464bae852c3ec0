"""The rules file: what is taken, what is refused, and where."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osiris.core.errors import Refusal
from osiris.core.invariant_rules import Check, Rules
from osiris.core.invariants import parse
from tests.core.invariant_cases import FULL, SEED, bash, call, fired, refusal, rule, rules
from tests.core.invariant_files import OF_MEANING, OF_SHAPE, one


def test_the_seeds_file_loads_unchanged() -> None:
    known = rules(SEED)
    own = [rule for rule in known.invariants if not rule.id.startswith("osiris.")]

    assert [(rule.id, rule.verdict, rule.states) for rule in own] == [
        ("tests-before-commit", "block", ("tests_passed",)),
        ("no-test-edit", "block", ()),
    ]


def test_everything_a_file_may_say_is_read() -> None:
    known = rules(FULL)

    assert [rule.states for rule in known.invariants[-2:]] == [
        ("tests_passed", "built"),
        ("built",),
    ]
    assert set(known.states) == {"tests_passed", "lint_passed", "built"}
    assert known.checks == (
        Check("unit", ("make", "test")),
        Check("types", ("mypy", "--strict"), "src", 60),
    )
    assert known.examples[0].call.agent == "codex-1"


def test_an_empty_file_has_the_states_and_the_rule_that_are_built_in() -> None:
    known = rules(b"")

    assert [rule.id for rule in known.invariants] == ["osiris.approve"]
    assert set(known.states) == {"tests_passed", "lint_passed"}


@pytest.mark.parametrize("dress", [b"\xef\xbb\xbf" + SEED, SEED.replace(b"\n", b"\r\n")])
def test_what_windows_editors_add_is_no_fault(dress: bytes) -> None:
    assert fired(rules(dress), bash("git commit")) == ["tests-before-commit"]


def test_what_is_no_utf_8_is_refused() -> None:
    assert refusal(SEED.decode().encode("utf-16")) == Refusal(
        "bad_rules", "byte 0 is no UTF-8", "save the file as UTF-8"
    )


@pytest.mark.parametrize(("file", "where", "fix"), [*OF_SHAPE, *OF_MEANING])
def test_a_refusal_names_the_line_or_the_rule_and_the_fix(file: str, where: str, fix: str) -> None:
    refused = refusal(file)

    assert refused.code == "bad_rules"
    assert where in refused.what
    assert fix in refused.fix
    assert len(refused.text()) < 600
    assert refused.text().isprintable()


@given(st.one_of(st.binary(), st.text().map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_are_rules_or_a_refusal(raw: bytes) -> None:
    assert isinstance(parse(raw), Rules | Refusal)


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 80_000 + " = 1",
        "\n".join(f"[a{'.b' * 500}.c{n}]" for n in range(250)),
        "[[invariant]]\n" * 18_000,
        "a = '''" + "[[invariant]]\n" * 18_000 + "'''",
        "when = {" + "a = 1," * 40_000 + "}",
        one("when = { tool = [" + "'a'," * 60_000 + "] }"),
        "".join(f"[[state]]\nname='s{n}'\nset_by='a'\nfiles='*{{a,b}}*'\n" for n in range(200)),
    ],
    ids=range(7),
)
def test_a_file_made_to_be_slow_is_not(text: str) -> None:
    started = time.perf_counter()

    assert parse(text.encode()) is not None
    assert time.perf_counter() - started < 5  # 0.5 s


@pytest.mark.parametrize(
    "when", ["tool = '*'", "tool = '*', path_glob = '**'", "path_glob = ['a', '**/*']"]
)
def test_a_rule_may_match_everything_when_it_says_so(when: str) -> None:
    known = rule(when)

    assert fired(known, call("Write", file_path="a", content="")) == ["r"]
