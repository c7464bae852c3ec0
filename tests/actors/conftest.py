"""The store on each adapter."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import trio

from osiris_actors.env import RealEnv
from osiris_actors.store.lmdb import LmdbBackend
from osiris_actors.writer import Writer
from tests.actors.store_cases import MAP_BYTES, Case, LmdbCase, MemoryCase


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def backend(place: Path) -> Iterator[LmdbBackend]:
    opened = LmdbBackend(place, map_bytes=MAP_BYTES)
    yield opened
    opened.close()


@pytest.fixture(params=[MemoryCase, LmdbCase], ids=["memory", "lmdb"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    case: Case = request.param(tmp_path / "store")
    yield case
    case.backend.close()


@pytest.fixture
async def store(case: Case) -> AsyncIterator[Writer]:
    writer = Writer(case.backend, RealEnv(), lane=case.lane())
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            await nursery.start(writer.run)
            yield writer
            writer.stop()
