"""Kill the owner again and again under load: `python -m bench.crash --kills 60 --json`.

Real processes: CLIENTS bridges, each with pipelined calls of one agent, and the owners they start.
An owner is killed (kill -9) at a random moment: while it starts, or while it serves. What the
clients were told is then compared with what the store holds.

Rule 1: exit code 1 when anything acknowledged is lost, anything is there twice, a record or a
        chain is damaged, an agent heard what it should not hear, an owner or a bridge ended by
        itself, or fewer than FEWEST_PER_KILL calls were acknowledged a kill.
Rule 2: it is bounded: an owner that does not come or does not serve within PATIENCE_S ends it.
"""

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import owners
from bench.client import BRIDGE, BridgeClient
from bench.crash_check import Found, Told, Verdict, inspect, judge
from bench.crash_handoffs import (
    ISSUERS,
    LOST_RACE,
    WORKERS,
    Desk,
    Hand,
    Issuer,
    Outcome,
    Worker,
    told_by,
)
from bench.crash_handoffs import judge as judge_handoffs
from bench.crash_load import EXPECTED, Agent
from bench.progress import Progress
from osiris.home import Home, OwnerRecord

CLIENTS = 8
PATIENCE_S = 30.0
FEWEST_PER_KILL = 34  # 60 kills prove something above 2,000 acknowledged calls
EARLY = 0.2  # of the kills hit an owner that has only just appeared
EARLY_S, LATE_S = 0.3, 0.3
MOST_BEFORE_KILL = 120
MAY_BE_HEARD = EXPECTED | LOST_RACE


class Options(msgspec.Struct, frozen=True):
    """`bridge` starts one bridge; `parent` is the folder that the temporary home is made in."""

    kills: int = 60
    clients: int = CLIENTS
    seed: int = 1
    keep: bool = False
    parent: Path = msgspec.field(default_factory=owners.disk)
    bridge: Sequence[str] = BRIDGE
    handoffs: bool = False


class Report(msgspec.Struct, frozen=True):
    """What was proved; `problems` says what was not."""

    kills: int
    seconds: float
    sent: int
    verdict: Verdict
    heard: dict[str, int]
    chain_ok: bool
    audit: dict[str, Any]
    problems: tuple[str, ...]
    home: str = ""
    handed: Outcome | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            **msgspec.structs.asdict(self.verdict),
            "chain_ok": self.chain_ok,
            "kills": self.kills,
            "seconds": round(self.seconds, 1),
            "sent": self.sent,
            "errors_heard": self.heard,
            "unclean_stops": self.audit.get("unclean_stops"),
            "audit_ok": self.audit.get("ok"),
            "problems": list(self.problems),
            **({} if self.handed is None else msgspec.structs.asdict(self.handed)),
        } | ({"home": self.home} if self.home else {})


def run(options: Options) -> Report:
    """Run the whole bench in a home of its own."""
    began = time.monotonic()
    with owners.home_folder(options.parent, keep=options.keep) as home:
        siege = Siege(options, home)
        problems = siege.run()
        owners.stop(home)
        found = inspect(Home(str(home)))
        verdict = judge(siege.told(), found.stored)
        handed = siege.handed(found)
        return Report(
            kills=siege.kills,
            seconds=time.monotonic() - began,
            sent=sum(agent.sent for agent in siege.agents),
            verdict=verdict,
            heard=dict(siege.heard()),
            chain_ok=found.chain_ok,
            audit=found.audit,
            problems=(
                *problems,
                *found.damage,
                *_shortfalls(verdict, siege, found.audit),
                *_mishandled(handed),
            ),
            home=str(home) if options.keep else "",
            handed=handed,
        )


class Siege:
    """The clients, and the one who kills their owners."""

    def __init__(self, options: Options, home: Path) -> None:
        self.kills = 0
        self._home = home
        self._options = options
        self._rng = random.Random(options.seed)  # noqa: S311  moments, not secrets
        self._stopping = threading.Event()
        hands = (ISSUERS + WORKERS) * options.handoffs
        self._clients = [
            BridgeClient(home, home, options.bridge) for _ in range(options.clients + hands)
        ]
        self.agents = [
            Agent(number, client, options.seed, self._stopping)
            for number, client in enumerate(self._clients[: options.clients])
        ]
        self._desk = Desk(self._stopping)
        self._hands: list[Hand] = [
            (Issuer if number < ISSUERS else Worker)(
                f"hand {number}", client, options.seed, self._desk
            )
            for number, client in enumerate(self._clients[options.clients :])
        ]

    def run(self) -> list[str]:
        """Kill as often as was asked; return what went wrong on the way."""
        everyone: tuple[Agent | Hand, ...] = (*self.agents, *self._hands)
        threads = [threading.Thread(target=agent.run, daemon=True) for agent in everyone]
        for thread in threads:
            thread.start()
        try:
            problems = self._kill_all()
            problems += self._finish(threads)
        finally:
            self._leave(threads)
        if broken := sum(not agent.is_done for agent in everyone):
            problems.append(f"{broken} agents broke off: their bridge ended or made no sense")
        return problems

    def _finish(self, threads: Sequence[threading.Thread]) -> list[str]:
        """Let every agent hear its last answers."""
        self._stopping.set()
        deadline = time.monotonic() + PATIENCE_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        late = sum(thread.is_alive() for thread in threads)
        return [f"{late} agents were not answered in {PATIENCE_S:.0f} s"] if late else []

    def told(self) -> list[Told]:
        agents = [
            Told(f"task/{agent.task}", tuple(agent.acked), tuple(agent.unknown))
            for agent in self.agents
        ]
        return [*agents, *told_by(self._hands)]

    def handed(self, found: Found) -> Outcome | None:
        """Return what became of the contracts; None when nobody handed anything over."""
        return judge_handoffs(self._desk, found.histories) if self._hands else None

    def heard(self) -> Counter[str]:
        """Count the errors that agents heard, by code."""
        total: Counter[str] = Counter()
        for agent in self.agents:
            total += agent.heard
        return total + self._desk.heard

    def _kill_all(self) -> list[str]:
        last: OwnerRecord | None = None
        progress = Progress("kills", self._options.kills)
        try:
            while self.kills < self._options.kills:
                last = owners.next_owner(self._home, last, PATIENCE_S)
                self._wait_for_the_moment()
                owners.kill(last)
                self.kills += 1
                progress.step(self.kills, f"{self._acked():,} acknowledged")
        except owners.LateError as error:
            return [f"after {self.kills} kills: {error}"]
        except ProcessLookupError:
            return [f"after {self.kills} kills: an owner ended by itself"]
        finally:
            progress.end()
        return []

    def _wait_for_the_moment(self) -> None:
        if self._rng.random() < EARLY:
            time.sleep(self._rng.uniform(0, EARLY_S))
            return
        enough = self._acked() + self._rng.randint(1, MOST_BEFORE_KILL)
        owners.until(
            lambda: self._acked() >= enough or None, PATIENCE_S, "too little was acknowledged"
        )
        time.sleep(self._rng.uniform(0, LATE_S))

    def _acked(self) -> int:
        return sum(len(agent.acked) for agent in self.agents)

    def _leave(self, threads: Sequence[threading.Thread]) -> None:
        for client, thread in zip(self._clients, threads, strict=True):
            if thread.is_alive():
                client.kill()
                thread.join()
            client.close()


def _shortfalls(verdict: Verdict, siege: Siege, audit: dict[str, Any]) -> list[str]:
    found = [
        f"{count} {what}"
        for count, what in (
            (verdict.acked_lost, "acknowledged calls are lost"),
            (verdict.duplicated, "calls are there more than once"),
            *((n, f"unexpected {c}") for c, n in siege.heard().items() if c not in MAY_BE_HEARD),
        )
        if count
    ]
    if not audit.get("ok"):
        found.append(f"the audit is not clean: {json.dumps(audit)[:400]}")
    if verdict.acked < FEWEST_PER_KILL * siege.kills:
        found.append(f"only {verdict.acked} calls acknowledged: too few to prove anything")
    return found


def _mishandled(handed: Outcome | None) -> list[str]:
    if handed is None:
        return []
    wrong = (
        (handed.double_accept, "contracts were accepted twice"),
        (handed.behind_fence, "writes came behind a fence"),
        (handed.budget_overdrawn, "tasks let out more than they had"),
        (handed.accepts == 0, "time no contract was ever accepted: nothing is proved"),
    )
    return [f"{int(count)} {what}" for count, what in wrong if count]


def main() -> int:
    parser = argparse.ArgumentParser(description="kill the owner under load; lose nothing")
    parser.add_argument("--handoffs", action="store_true", help="hand work over meanwhile")
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the home for a look")
    parser.add_argument("--json", action="store_true", help="print JSON alone on stdout")
    args = parser.parse_args()
    options = Options(args.kills, args.clients, args.seed, args.keep, handoffs=args.handoffs)
    report = run(options)
    shown = report.as_json()
    print(json.dumps(shown) if args.json else _table(shown))
    for problem in report.problems:
        print(f"wrong: {problem}", file=sys.stderr)
    return 1 if report.problems else 0


def _table(shown: dict[str, Any]) -> str:
    rows = {name: value for name, value in shown.items() if name not in ("problems", "home")}
    return "\n".join(f"{name:<18}{json.dumps(value):>60}" for name, value in rows.items())


if __name__ == "__main__":
    sys.exit(main())
