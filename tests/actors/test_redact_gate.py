"""The gate never says no where the full look finds something, and says no to nearly all calls."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kingfisher_sdk import Rules

from osiris_actors.redact_gate import GATED, OWN, Gate, gate_for, loosened
from osiris_actors.redact_labels import names_secret
from osiris_actors.redact_rules import ROWS
from osiris_actors.redactor import Redactor
from tests.actors.secret_shapes import SHAPES, forms_of_shape
from tests.actors.transcripts import HERE, short_calls

OWN_GATE = Gate(OWN)
SAMPLES = settings(
    max_examples=1,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
# what only Python takes for white space is left out
ASCII = st.characters(codec="ascii", exclude_characters="\x1c\x1d\x1e\x1f")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "rules"


@pytest.fixture(scope="module")
def rules(cache: Path) -> Rules:
    cache.mkdir(mode=0o700)
    return Rules(cache_dir=cache)


@pytest.fixture(scope="module")
def gate(rules: Rules) -> Gate:
    gate = gate_for(rules)
    assert gate is not None
    return gate


def _stopped(gate: Gate, regexes: Iterable[re.Pattern[str]]) -> list[str]:
    """Return texts that match one of `regexes` and that the gate says no to."""
    stopped: list[str] = []

    def check(text: str) -> None:
        if not gate.may_hold(text.encode()):
            stopped.append(text)

    for regex in regexes:
        SAMPLES(given(st.from_regex(regex, alphabet=ASCII))(check))()
    return stopped


def _compiled(rules: Rules) -> Iterator[re.Pattern[str]]:
    """Yield kingfisher's patterns that mean the same in Python."""
    for row in rules.metadata():
        regex = rules.detail(row["id"])["detection_regex"]
        try:
            yield re.compile(regex.replace("[[:alnum:]]", "[A-Za-z0-9]"))
        except re.error:
            continue


@pytest.mark.promise("redaction")
def test_what_matches_a_rule_of_kingfisher_passes_the_gate(rules: Rules, gate: Gate) -> None:
    regexes = list(_compiled(rules))

    assert len(regexes) > 0.9 * len(rules)
    assert _stopped(gate, regexes) == []


def test_what_matches_an_own_row_passes_the_gate() -> None:
    assert _stopped(OWN_GATE, [re.compile(row.pattern) for row in ROWS]) == []


@given(st.from_regex(re.compile(r"[A-Za-z_]{0,8}(secret|key|token|pass|cookie)\w*", re.IGNORECASE)))
def test_a_name_that_names_a_secret_passes_the_gate(name: str) -> None:
    assert OWN_GATE.may_hold(name.encode()) or not names_secret(name)


@pytest.mark.skipif(not HERE, reason="no ../shared/transcripts here")
def test_a_secret_in_a_real_call_passes_the_gate_and_few_calls_without_do(gate: Gate) -> None:
    calls = [call for call in short_calls() if len(call) <= GATED]
    planted = [form for secret in SHAPES.values() for form in forms_of_shape(secret)]
    texts = [call + planted[at % len(planted)] for at, call in enumerate(calls)]

    stopped = [text for text in texts if not gate.may_hold(text.encode())]
    passed = [call for call in calls if gate.may_hold(call.encode())]

    assert len(calls) > 1_000
    assert stopped == []
    assert len(passed) < 0.1 * len(calls)


@pytest.mark.parametrize(
    ("regex", "texts"),
    [
        (r"\bab\d{3}\b", ["xab12٣x", "ab123"]),
        (r"a[\s']b\sc", ["a\vb\vc", "a'b\u2003c"]),
        (r"^k[\w.-]{2}$", ["zzké-", "k-."]),
        (r"k(?:[\s;]|\\[nr]|$)", ["k\u2003", "k\\n", "kz"]),
        (r"x[a-f]{1,2000}", ["xabc"]),
        (r"(?x)ab[^\s]", ["abc"]),
    ],
)
def test_a_loosened_pattern_matches_more(regex: str, texts: list[str]) -> None:
    gate = Gate([loosened(regex)])

    assert [text for text in texts if not gate.may_hold(text.encode())] == []


class _Odd:
    """Rules of which one cannot be said in RE2's syntax."""

    def __init__(self, regex: str) -> None:
        self._regex = regex

    def metadata(self) -> list[dict[str, str]]:
        return [{"id": "odd"}]

    def detail(self, rule_id: str) -> dict[str, str]:
        return {"id": rule_id, "detection_regex": self._regex}


@pytest.mark.parametrize(
    "regex", [r"(?<=a)b", r"[a-z&&[^aeiou]]x", r"\p{L}x", r"[\p{L}]x", r"[]\d]x", r"(?-u:\xff)x"]
)
def test_without_certainty_there_is_no_gate(regex: str) -> None:
    assert gate_for(_Odd(regex)) is None
    assert gate_for(_Odd("plain")) is not None


def test_with_all_rules_the_gate_is_in_use(cache: Path, rules: Rules) -> None:
    redactor = Redactor(b"k" * 32)
    redactor.load(cache)
    call = {"tool": "Bash", "args": {"command": "cargo test --workspace", "n": 3}}

    assert len(rules) > 0
    assert redactor.redact_tree(call) == (call, 0)
    assert redactor.is_gated
    assert not OWN_GATE.may_hold(json.dumps(call).encode())
