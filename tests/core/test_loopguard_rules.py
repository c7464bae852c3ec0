"""The table of thresholds, as published."""

from osiris.core.loop_rules import LEVELS, RULES, WORDS
from osiris.core.loopguard import MEASURES


def test_the_steps_of_every_rule_are_the_published_ones() -> None:
    steps = {r.name: (r.suggest, r.warn, r.block, r.stop) for r in RULES.values()}

    assert steps == {
        "veto": (0, 0, 2, 4),
        "failure": (2, 3, 3, 6),
        "transient": (2, 4, 6, 10),
        "varying_args": (3, 4, 10, 15),
        "lookup": (4, 6, 12, 18),
        "oscillation": (0, 3, 5, 8),
        "same_answer": (2, 4, 6, 9),
        "duplicate": (2, 5, 10, 15),
        "step": (5, 10, 25, 50),
        "poll": (3, 10, 25, 50),
        "sweep": (0, 50, 200, 400),
        "idle": (15, 20, 40, 60),
        "ceiling": (0, 40, 100, 200),
    }


def test_every_rule_has_its_measure_and_a_verdict_of_at_most_ninety_tokens() -> None:
    assert list(MEASURES) == list(RULES)
    for rule in RULES.values():
        text = rule.evidence.format(tool="x" * 40, n=9999) + rule.alternative
        assert len(text) < 90 * 3


def test_the_words_are_the_seeds() -> None:
    assert [WORDS[level] for level in LEVELS] == [
        "",
        "suggest_alternative",
        "warn",
        "block",
        "stop",
    ]
