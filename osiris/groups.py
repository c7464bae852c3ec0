"""Exceptions that come in groups, as nurseries raise them."""

from collections.abc import Iterator


def leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """Yield the exceptions inside nested groups."""
    for error in group.exceptions:
        match error:
            case BaseExceptionGroup():
                inner: BaseExceptionGroup[BaseException] = error
                yield from leaves(inner)
            case _:
                yield error
