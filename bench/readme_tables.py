"""The README's tables, made from the tables of the code.

Rule 1: a table is a pure function of the code: the same code gives the same text.
Rule 2: what the code says in words, its own table says here; only `SETTINGS` adds a text, because
        a setting has none, and a test holds its keys to those of `Settings`.
"""

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

import msgspec

import dev
from bench.redact_shapes import FORMS, SHAPES
from osiris.cli.commands import COMMANDS
from osiris.cli.exits import MEANINGS
from osiris.config import Settings
from osiris.core import (
    drift,
    filing,
    heads,
    ledger,
    modes,
    planning,
    policy,
    prechecking,
    prune,
    query_ask,
)
from osiris.core.checkpointing import PREPARATIONS
from osiris.core.commands import arguments_of
from osiris.core.errors import CODES
from osiris.core.handoff import DEPTH, LEASE_S, MOVES
from osiris.core.loop_rules import RULES, WORDS
from osiris.core.overhead import KINDS as OVERHEAD
from osiris.home import CONNECTION_KEYS
from osiris.server.tools import SIX
from osiris_actors import checks

ENDLESS = 1 << 30

# setting -> what it decides
SETTINGS: dict[str, str] = {
    "home": "the folder that holds everything; one owner at a time",
    "roots": "folders that `path=` may read, `;` between them; `@project` is the client's project",
    "cache_ttl_s": "seconds a prompt stays cached, where the provider offers that or promises none",
    "prune_threshold_tokens": "prompt size from which pruning is advised unasked",
    "dispatch_only": "1: list the one tool `osiris_call(op, args)` instead of six",
    "tool_names": "`dotted`: list `osiris.plan` instead of `osiris_plan`; both are understood",
    "transport": "`tcp`: loopback TCP with a token instead of Unix sockets",
    "idle_exit_s": "seconds without a client after which the owner leaves; 0: never",
    "budget_day": "what all tasks together may reserve in a day (UTC)",
    "budget_project": "what the tasks of a project may reserve",
    "budget_agent": "what the tasks of an agent may reserve",
    "force_network_fs": "1: write to a store on a network file system all the same",
    "http": "HOST:PORT for MCP over HTTP",
    "tcp": "HOST:PORT for MCP over TCP",
    "metrics": "HOST:PORT for metrics",
    "log_level": "`debug`, `info`, `warning` or `error`",
}


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; a head that ends in `>` is a column of numbers."""
    marks = ["---:" if head.endswith(">") else "---" for head in heads]
    lines = [[head.rstrip(">") for head in heads], marks]
    lines += [[_cell(value) for value in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def docstring_table(module: ModuleType) -> str:
    """Return the table that a module's docstring holds."""
    lines = [line for line in (module.__doc__ or "").splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads, *rest = (row for row in rows if set("".join(row)) - {"-", ":"})
    return table(heads, rest)


def tools() -> str:
    rows = [
        (
            f"`{spec.listed_name('portable')}`",
            spec.description,
            " ".join(f"`{name}`" for name in spec.input_schema["properties"]),
        )
        for spec in SIX
    ]
    return table(("tool", "description, as listed", "arguments"), rows)


def unlisted() -> str:
    """Return which arguments are understood without being listed."""
    found = {
        spec.name: [n for n in arguments_of(spec.name) if n not in spec.input_schema["properties"]]
        for spec in SIX
    }
    shared = [n for n in found[SIX[0].name] if all(n in names for names in found.values())]
    own = [f"`{n}` of {tool}" for tool, names in found.items() for n in names if n not in shared]
    return f"Understood but not listed: {', '.join([*(f'`{n}`' for n in shared), *own])}."


def secrets() -> str:
    """Return what is planted by `bench.redact`, whose table it is."""
    by_shape = ", ".join(shape.name for shape in SHAPES if not shape.label)
    by_label = ", ".join(f"{s.name} (`{s.label}`)" for s in SHAPES if s.label)
    rows = [
        ("known by their shape", by_shape),
        ("known by their label", by_label),
        ("forms", ", ".join(FORMS)),
    ]
    return table(("secrets", f"{len(SHAPES)} kinds, each in {len(FORMS)} forms"), rows)


def mode_table() -> str:
    rows = [
        (
            mode.name,
            _limit(mode.payloads_up_to, "any"),
            _limit(mode.stub_above, "never"),
            f"every {mode.manifest_every} actions" if mode.manifest_every else "no",
            "when something changed" if mode.manifest_on_plan else "no, its seal alone",
        )
        for mode in modes.MODES
    ]
    heads = ("mode", "payloads up to>", "stub above>", "manifest in observe", "in plan update")
    return table(heads, rows)


def moves() -> str:
    rows = [
        (
            name,
            " or ".join(sorted(move.starts)),
            move.ends,
            move.by,
            "yes" if move.raises_fence else "",
        )
        for name, move in MOVES.items()
    ]
    heads = ("move", "from", "to", "by whom", "raises the fence")
    return (
        f"{table(heads, rows)}\n\nA lease runs {LEASE_S:,} s; contracts nest {DEPTH} deep at most."
    )


def loop_rules() -> str:
    rows = [
        (rule.name, rule.pattern, rule.counts, rule.suggest, rule.warn, rule.block, rule.stop)
        for rule in RULES.values()
    ]
    shown = [(*row[:3], *(step or "" for step in row[3:])) for row in rows]
    heads = ("rule", "family", "counts", *(f"{word}>" for word in WORDS.values() if word))
    return table(heads, shown)


def hosts() -> str:
    kinds = ("shell", "search", "other")
    rows = [
        (f"`{host}`" if host else "any other", *(_cap(caps, kind) for kind in kinds))
        for host, caps in ledger.HOSTS.items()
    ]
    return table(("host", *(f"{kind}>" for kind in kinds)), rows)


def settings() -> str:
    fields = msgspec.structs.fields(Settings)
    rows = [
        (
            f"`{f.name}`",
            f"`OSIRIS_{f.name.upper()}`",
            _default(f),
            _decider(f.name),
            SETTINGS.get(f.name, ""),
        )
        for f in fields
    ]
    return table(("in config.toml", "environment", "default", "belongs to", "what it does"), rows)


def commands() -> str:
    rows = [(f"`osiris {name}`", entry.help) for name, entry in COMMANDS.items() if entry.place]
    return table(("command", ""), rows)


def make() -> str:
    rows = [(f"`make {name}`", said) for name, (_, said) in dev.COMMANDS.items()]
    return table(("command", ""), rows)


def exits() -> str:
    return table(("exit>", "meaning"), [(code.value, said) for code, said in MEANINGS.items()])


def codes() -> str:
    return table(("code", "meaning"), [(f"`{code}`", said) for code, said in CODES.items()])


def preparations() -> str:
    rows = [(name, ", ".join(p.zones), p.rule, p.use) for name, p in PREPARATIONS.items()]
    return table(("checkpoint", "looks at zones", "by the rule", "for"), rows)


def prune_modes() -> str:
    rows = [
        (m.name, m.trigger, ", ".join(m.warm), ", ".join(m.dead), m.bound, m.use)
        for m in prune.MODES.values()
    ]
    heads = ("rule", "wakes at", "cuts in a living cache", "in a dead one", "estimate", "for")
    return table(heads, rows)


def overhead() -> str:
    kinds = ", ".join(OVERHEAD)
    return f"Overhead: {kinds}. Proofs: {', '.join(ledger.PROOFS)}."


def budgets() -> str:
    return f"Units of a budget: {', '.join(f'`{unit}`' for unit in policy.UNITS)}."


TABLES: dict[str, Callable[[], str]] = {
    "tools": tools,
    "unlisted": unlisted,
    "make": make,
    "commands": commands,
    "settings": settings,
    "modes": mode_table,
    "plan-verdicts": lambda: docstring_table(planning),
    "seal-verdicts": lambda: docstring_table(drift),
    "precheck": lambda: docstring_table(prechecking),
    "recall": lambda: docstring_table(query_ask),
    "head-verdicts": lambda: docstring_table(heads),
    "file-answers": lambda: docstring_table(filing),
    "preparations": preparations,
    "prune-modes": prune_modes,
    "loop-rules": loop_rules,
    "moves": moves,
    "checks": lambda: docstring_table(checks),
    "budgets": budgets,
    "overhead": overhead,
    "secrets": secrets,
    "hosts": hosts,
    "codes": codes,
    "exits": exits,
}


def _cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("|", "\\|")


def _limit(tokens: int, endless: str) -> str:
    return f"{tokens:,}" if tokens < ENDLESS else endless


def _cap(caps: dict[str, int], kind: str) -> str:
    cap = caps.get(kind, caps.get("other"))
    return "all" if cap is None else f"{cap:,}"


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.name == "home":
        return "`~/.osiris`"
    value: object = field.default
    text = str(int(value)) if isinstance(value, bool) else str(value or "")
    return f"`{text}`" if text else "none"


def _decider(name: str) -> str:
    if name == "home":
        return "environment only"
    return "connection" if f"OSIRIS_{name.upper()}" in CONNECTION_KEYS else "owner"
