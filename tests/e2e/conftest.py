"""Homes with real owners, one for each module that asks; their owners end with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.living import Living, compiled_rules, living
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


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_rules(tmp_path_factory.mktemp("rules"))


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path, rules: Path) -> Iterator[Living]:
    """Yield a home without an owner; a parameter names its transport."""
    with living(tmp_path, rules, getattr(request, "param", "auto")) as found:
        yield found
