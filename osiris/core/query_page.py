"""One page of an answer, and the cursor that continues it exactly.

Rule 1: an op yields steps: some text, how many results it holds, and the state to go on from. A
        page is the steps that fit; its cursor is the state after the last of them.
Rule 2: a page never holds more than the asked characters and tokens; a step with text counts as a
        token at least, so that empty lines do not make a page of ten thousands.
Rule 3: when the time is up the page holds what there is by then, `partial`, and its cursor goes on;
        one step is always taken, so following cursors always ends.
Rule 4: a cursor carries a digest of query, payload and state: any other one is refused.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from osiris.core import canon
from osiris.core.errors import Refusal

PAGE_TOKENS = 2_000
MAX_PAGE_TOKENS = 10_000
LINE_CHARS = 2_000
_CHARS_PER_TOKEN = 4
_DIGEST = 10
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_number = re.compile(r"[0-9a-z]{1,12}")

State = tuple[int, ...]


class Limits(msgspec.Struct, frozen=True):
    """What one page may take.

    `expired` says whether the time is up, `count` counts the tokens of a text.
    """

    expired: Callable[[], bool]
    count: Callable[[str], int]
    tokens: int = PAGE_TOKENS

    @property
    def chars(self) -> int:
        return self.tokens * _CHARS_PER_TOKEN


class Page(msgspec.Struct, frozen=True):
    """A part of an answer.

    `shown` results are in `text`, after `before` on earlier pages, of `total` in all. `total` is a
    lower bound if `partial`: the time ran out. `cursor` is empty when nothing is left. `truncated`
    says that a line or result is shown in part; the text says where.
    """

    text: str
    shown: int
    total: int
    cursor: str = ""
    before: int = 0
    truncated: bool = False
    partial: bool = False


class Step(NamedTuple):
    """`text` and its number of `results`; `state` is where the op goes on after it."""

    text: str
    results: int
    state: State
    cut: bool = False


class Taken(NamedTuple):
    """The steps of one page; `more` says that some are left, `late` that the time ran out."""

    steps: list[Step]
    state: State
    more: bool
    late: bool

    @property
    def text(self) -> str:
        return "".join(step.text for step in self.steps)

    @property
    def results(self) -> int:
        return sum(step.results for step in self.steps)

    @property
    def cut(self) -> bool:
        return any(step.cut for step in self.steps)


def take(steps: Iterator[Step], state: State, limits: Limits) -> Taken:
    """Take the steps that make one page, beginning at `state`."""
    taken: list[Step] = []
    size, rows = 0, 0
    for step in steps:
        if step.text and size and (size + len(step.text) > limits.chars or rows >= limits.tokens):
            return _fit(taken, state, limits, late=False)
        size += len(step.text)
        rows += bool(step.text)
        taken.append(step)
        if limits.expired():
            return _fit(taken, state, limits, late=True)
    whole = _fit(taken, state, limits, late=False)
    return whole if len(whole.steps) < len(taken) else whole._replace(more=False)


def _fit(steps: list[Step], start: State, limits: Limits, *, late: bool) -> Taken:
    """Drop steps from the end until the rest is within the limits."""
    keep = len(steps)
    while True:
        taken = Taken(steps[:keep], steps[keep - 1].state if keep else start, True, late)
        text = taken.text
        tokens = limits.count(text) if text else 0
        if tokens <= limits.tokens and len(text) <= limits.chars:
            return taken
        if keep == 1 or not any(step.text for step in steps[: keep - 1]):
            return taken._replace(steps=[*steps[: keep - 1], _cut(steps[keep - 1], tokens, limits)])
        keep = max(1, min(keep - 1, keep * limits.tokens // max(1, tokens)))
        late = False


def _cut(step: Step, tokens: int, limits: Limits) -> Step:
    """Cut one step that alone is larger than a page."""
    room = min(limits.chars, len(step.text) * limits.tokens // max(1, tokens))
    mark = "…[cut: larger than a page]\n"
    return step._replace(text=step.text[: max(0, room - len(mark))] + mark, cut=True)


def cursor(of: str, state: State) -> str:
    """Return the text of `state` in the query whose identity is `of`."""
    return ".".join((_digest(of, state), *(_base36(number) for number in state)))


def resume(of: str, text: str, start: State) -> State | Refusal:
    """Return the state that `text` names in this query, `start` if it is empty."""
    if not text:
        return start
    digest, _, rest = text.strip().partition(".")
    numbers = rest.split(".")
    if all(_number.fullmatch(number) for number in numbers[: len(start) + 1]):
        state = tuple(int(number, 36) for number in numbers[: len(start)])
        if len(numbers) == len(start) and digest == _digest(of, state):
            return state
    return Refusal("bad_cursor", "it is from another query or ref", "leave 'cursor' out to begin")


def _digest(of: str, state: State) -> str:
    return canon.hexdigest("cursor", [of, ",".join(map(str, state))])[:_DIGEST]


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits
