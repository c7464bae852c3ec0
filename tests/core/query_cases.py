"""What query tests share: limits, and following cursors to the end."""

import time
from collections.abc import Callable

from osiris.core import query
from osiris.core.errors import Refusal
from osiris.core.query import Query
from osiris.core.query_page import Limits, Page

CHARS_PER_TOKEN = 4


def tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def never() -> bool:
    return False


def always() -> bool:
    return True


def limits(size: int = 2_000, expired: Callable[[], bool] = never) -> Limits:
    return Limits(expired, tokens, size)


def hurried(seconds: float = 0.15) -> Limits:
    """Return limits that expire after so many seconds of this thread's own time."""
    end = time.thread_time() + seconds
    return Limits(lambda: time.thread_time() > end, tokens)


def page(asked: Query, text: str | bytes, size: int = 2_000) -> Page:
    """Return the first page; a refusal fails the test."""
    answer = query.answer(asked, _bytes(text), limits(size))
    assert isinstance(answer, Page), answer
    return answer


def refusal(asked: Query, text: str | bytes = "x\n") -> Refusal:
    answer = query.answer(asked, _bytes(text), limits())
    assert isinstance(answer, Refusal), answer
    return answer


def pages(
    asked: Query,
    text: str | bytes,
    size: int = 50,
    expired: Callable[[], bool] = never,
    old: bytes | None = None,
) -> list[Page]:
    """Follow the cursors to the end."""
    found: list[Page] = []
    cursor = ""
    while not found or cursor:
        answer = query.answer(asked, _bytes(text), limits(size, expired), cursor, old)
        assert isinstance(answer, Page), answer
        found.append(answer)
        cursor = answer.cursor
        assert len(found) < 5_000, "the cursors do not end"
    return found


def joined(found: list[Page]) -> str:
    return "".join(answer.text for answer in found)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
