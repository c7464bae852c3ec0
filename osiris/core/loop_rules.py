"""The ladder, and the table that says at which count each rule reaches each step.

Rule 1: the ladder is none < suggest < warn < block < stop; 0 in a row means the step is not used.
Rule 2: a row says what it counts (`loop_patterns` counts it) and why its steps stand where they do.
Rule 3: texts name counts and tools, never what an argument or a result said.
"""

from typing import Final, Literal

from msgspec import Struct

Level = Literal["none", "suggest", "warn", "block", "stop"]
LEVELS: Final[tuple[Level, ...]] = ("none", "suggest", "warn", "block", "stop")

# The seed's words, as a caller reads them.
WORDS: Final[dict[Level, str]] = {
    "none": "",
    "suggest": "suggest_alternative",
    "warn": "warn",
    "block": "block",
    "stop": "stop",
}

Pattern = Literal[
    "", "exact_duplicate", "repeated_failure", "loop_pattern", "oscillation", "runaway"
]


class Rule(Struct, frozen=True):
    """One row: from which count on each step holds, and what is said then.

    `evidence` may name {tool} and {n}. A block lifts to a warning after `lifts_ms` without a call,
    and vetoes older than that do not count.
    """

    name: str
    pattern: Pattern
    counts: str
    suggest: int
    warn: int
    block: int
    stop: int
    lifts_ms: int
    evidence: str
    alternative: str
    why: str


_MINUTE_MS: Final = 60_000

RULES: Final[dict[str, Rule]] = {
    rule.name: rule
    for rule in (
        Rule(
            "veto", "repeated_failure", "denials of the same call, a third of those of others",
            suggest=0, warn=0, block=2, stop=4, lifts_ms=10 * _MINUTE_MS,
            evidence="{tool} denied {n} times",
            alternative="do not repeat it: take another way or ask the user",
            why="a denial is no result; asking again changes nothing, and a run that goes on asking"
            " has to end",
        ),
        Rule(
            "failure", "repeated_failure", "the same call with the same deterministic error",
            suggest=2, warn=3, block=3, stop=6, lifts_ms=10 * _MINUTE_MS,
            evidence="{tool} failed {n} times with one error, nothing changed in between",
            alternative="change what the error names before the next try",
            why="such an error stays until something changes; two tries exclude chance",
        ),
        Rule(
            "transient", "repeated_failure", "transient errors of one tool, weighed by patience",
            suggest=2, warn=4, block=6, stop=10, lifts_ms=_MINUTE_MS // 2,
            evidence="{tool} met a passing error, retries weigh {n} by their haste",
            alternative="wait as asked, or twice as long each time; do other work meanwhile",
            why="it passes by itself: patience is right and counts a fifth, haste is not",
        ),
        Rule(
            "varying_args", "loop_pattern", "one deterministic error under varying arguments",
            suggest=3, warn=4, block=10, stop=15, lifts_ms=10 * _MINUTE_MS,
            evidence="{tool} failed {n} times with one error under other arguments",
            alternative="the strategy fails, not the argument: try another tool or way",
            why="when the arguments wander and the error stays, the next argument will not help",
        ),
        Rule(
            "lookup", "loop_pattern", "'not found' under varying arguments",
            suggest=4, warn=6, block=12, stop=18, lifts_ms=10 * _MINUTE_MS,
            evidence="{tool} found nothing {n} times in a row",
            alternative="list or search first, then name what exists",
            why="trying a few likely places is a search; more than five is guessing",
        ),
        Rule(
            "oscillation", "oscillation", "rounds of a cycle of 2 to 5 calls with equal results",
            suggest=0, warn=3, block=5, stop=8, lifts_ms=10 * _MINUTE_MS,
            evidence="the same calls in turn, {n} rounds, same results",
            alternative="leave the cycle: decide on what these results say",
            why="one repeat checks, the second confirms; no round brought anything new",
        ),
        Rule(
            "same_answer", "exact_duplicate", "the same call with the same negative answer",
            suggest=2, warn=4, block=6, stop=9, lifts_ms=10 * _MINUTE_MS,
            evidence="{tool} gave the same negative answer {n} times, nothing changed in between",
            alternative="change something before asking again, or accept the answer",
            why="exit 1 of a search and failing tests are answers; without a change they stay so",
        ),
        Rule(
            "duplicate", "exact_duplicate", "the same call with the same result",
            suggest=2, warn=5, block=10, stop=15, lifts_ms=10 * _MINUTE_MS,
            evidence="{tool} called {n} times, same arguments, same result, no change in between",
            alternative="use the result you have",
            why="no information is gained; early on it costs only its tokens",
        ),
        Rule(
            "step", "exact_duplicate", "the same step, same result; any call with none reported",
            suggest=5, warn=10, block=25, stop=50, lifts_ms=_MINUTE_MS,
            evidence="{tool} repeated {n} times, nothing moved",
            alternative="look at where you are, then choose another step",
            why="pages and keys are repeated by design; only a long standstill is a loop",
        ),
        Rule(
            "poll", "runaway", "unchanged polls, weighed by time",
            suggest=3, warn=10, block=25, stop=50, lifts_ms=_MINUTE_MS,
            evidence="{tool} polled without a change, polls weigh {n} by their haste",
            alternative="wait longer between polls, or do other work first",
            why="waiting is work: a patient poll costs little, a hasty one much",
        ),
        Rule(
            "sweep", "runaway", "hundredths of a paged file read again, no write in between",
            suggest=0, warn=50, block=200, stop=400, lifts_ms=10 * _MINUTE_MS,
            evidence="lines of this file read again: {n} % of it, no write in between",
            alternative="search the text you have, or recall it by query",
            why="no two reads are equal; only coverage shows that a second pass brings nothing new",
        ),
        Rule(
            "idle", "runaway", "calls without new content or change",
            suggest=15, warn=20, block=40, stop=60, lifts_ms=10 * _MINUTE_MS,
            evidence="{n} calls without anything new",
            alternative="stop and state what is missing; ask, or take the next step of the plan",
            why="a healthy run learns or changes something at nearly every call",
        ),
        Rule(
            "ceiling", "runaway", "calls of one identity within 10 s of each other",
            suggest=0, warn=40, block=100, stop=200, lifts_ms=_MINUTE_MS,
            evidence="{tool} called {n} times with the same arguments, seconds apart",
            alternative="read the whole in one call, or let a script do the repetition",
            why="new output can be noise: 4 times the block of a duplicate, and of a poll",
        ),
    )
}  # fmt: skip
