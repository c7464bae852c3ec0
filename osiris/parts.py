"""What every process that opens a store puts together: store, writer, ruler, redactor, desk."""

import gc
import logging
import os
import secrets
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import trio

from osiris.config import Settings
from osiris.core import policy
from osiris.core.errors import Refusal
from osiris.home import Home
from osiris.prices_data import PRICES, PriceBook
from osiris.service import Traffic
from osiris_actors import redact_logs
from osiris_actors.charges import Charges
from osiris_actors.desk import RuntimeDesk
from osiris_actors.env import RealEnv
from osiris_actors.files import Files
from osiris_actors.gateway import Gateway
from osiris_actors.ingest import Ingest
from osiris_actors.keeping import Keeping
from osiris_actors.redactor import Redactor
from osiris_actors.store.lane import Lane, ThreadLane
from osiris_actors.store.near import NearLane
from osiris_actors.store.opening import Place, open_store, open_to_read
from osiris_actors.stream import Tools
from osiris_actors.system import Options, System, running
from osiris_actors.tokenizer import Tokenizer, VocabularyDamaged
from osiris_actors.writer import STUCK, Writer

_YOUNG = 10_000  # objects a collection waits for, once what stays is loaded: -3 % a call

# how long a thread that computes may keep another waiting; 5 ms, Python's own, at each of the four
# hand-overs of an observe made others wait 20 ms while a query ran
_SWITCH_S = 0.0005

log = logging.getLogger(__name__)


class Parts:
    """The parts of one process; `unwritable` says why its store is opened for reading only.

    `ends` is told when the store cannot be kept any more, before anybody is answered. Who owns a
    home counts its calls in `traffic`.
    """

    def __init__(
        self,
        home: Home,
        settings: Settings,
        unwritable: str = "",
        ends: Callable[[str], None] = log.critical,
        traffic: Traffic | None = None,
    ) -> None:
        self.env = RealEnv()
        self._home = home
        self._settings = settings
        self._place = Place(
            store=Path(home.store_dir),
            ballast=Path(home.run_dir) / "ballast",
            force_network=settings.force_network_fs,
        )
        self._unwritable = unwritable
        self._ends = ends
        self._traffic = traffic
        self._tokenizer = Tokenizer()

    @asynccontextmanager
    async def running(self, *, reports: Path | None) -> AsyncGenerator[System]:
        """Open the store and run the actors on it."""
        sys.setswitchinterval(_SWITCH_S)
        why, place = self._unwritable, self._place
        backend = open_to_read(place, why) if why else open_store(place)
        self._copied_from = backend.copied_from
        try:
            self._redactor = Redactor(secret_of(self._place.store / "redaction.key"))
            redact_logs.share(self._redactor)
            writer = Writer(backend, self.env, lane=self._lane(), ends=self._ends)
            book = PriceBook(Path(self._home.root) / PRICES)
            if book.problem is not None:
                log.warning("%s", book.problem.text())
            tools = Tools(
                writer, self.env, Charges(self._tokenizer.count), self._tokenizer.count, prices=book
            )
            files = Files(self.env.run_sync)
            ingest = Ingest(self.env, self._redactor, files, self._tokenizer.count)
            options = Options(
                ceilings=ceilings_of(self._settings),
                reports=reports,
                traffic=self._traffic or Traffic(),
            )
            async with running(writer, ingest, tools, options) as system:
                yield system
        finally:
            backend.close()

    def _lane(self) -> Lane:
        """Return where commits run: with traffic known, near whoever is alone."""
        thread, traffic = ThreadLane("osiris-writer"), self._traffic
        if traffic is None:
            return thread
        return NearLane(thread, lambda: traffic.under_way == 1, partial(self._ends, STUCK))

    def desk(self, gateway: Gateway, *, owners: int = 0) -> RuntimeDesk:
        keeping = Keeping(gateway, self._place.store, copied_from=self._copied_from)
        return RuntimeDesk(gateway, home=self._home.root, keeping=keeping, owners=owners)

    async def count_owed(self, system: System) -> None:
        """Book what a killed owner left owing, for one who loads no ruler otherwise."""
        if not system.owes:
            return
        try:
            await self.env.run_sync(self._tokenizer.load)
        except VocabularyDamaged:
            log.exception("what is owed is left to the next owner")
        else:
            system.take_over()

    async def load(self, ingest: Ingest) -> None:
        """Load what tool calls wait for. Cancelled, it leaves its threads behind."""
        run = partial(trio.to_thread.run_sync, abandon_on_cancel=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._redactor.start, Path(self._home.root) / "rules", run)
            try:
                await run(self._tokenizer.load)
            except VocabularyDamaged:
                log.exception("counts stay estimates")
        gc.freeze()
        gc.set_threshold(_YOUNG)
        ingest.ready.set()


def ceilings_of(settings: Settings) -> dict[str, int]:
    """Return the ceilings by level and unit, as day/tokens; what is no budget is logged."""
    found: dict[str, int] = {}
    for level in policy.LEVELS:
        text = str(getattr(settings, f"budget_{level}"))
        amounts = policy.parse(text) if text else {}
        if isinstance(amounts, Refusal):
            log.warning("budget_%s: %s", level, amounts.what)
        else:
            found |= {f"{level}/{unit}": amount for unit, amount in amounts.items()}
    return found


def secret_of(path: Path) -> bytes:
    """Return the key that sentinels are made with: random, of this store alone, made once."""
    with suppress(FileNotFoundError):
        return path.read_bytes()
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(32))
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
    return path.read_bytes()
