"""Homes with real owners, one for each module that asks; their owners end with it."""

from collections.abc import Iterator

import pytest

from tests.e2e.real_home import RealHome


def _home(factory: pytest.TempPathFactory, transport: str) -> Iterator[RealHome]:
    home = RealHome(factory.mktemp("real"), transport)
    try:
        yield home
    finally:
        home.stop()


@pytest.fixture(scope="module")
def real_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHome]:
    yield from _home(tmp_path_factory, "auto")


@pytest.fixture(scope="module")
def tcp_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHome]:
    yield from _home(tmp_path_factory, "tcp")
