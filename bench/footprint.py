"""What OSIRIS costs a model before and while it is used: `python -m bench.footprint --json`.

Rule 1: a tool is its name, its description and its inputSchema as compact JSON, each counted on
        o200k_base and added up. The whole list as one JSON text, which is what the ledger charges,
        stands beside it.
Rule 2: exit code 1 when a budget is broken, with its name on stderr.
"""

import argparse
import json
import sys
from collections.abc import Callable

from bench import replies
from osiris.server.tools import Flavour, instructions, schemas_json, specs
from osiris_actors.tokenizer import Tokenizer

BUDGETS = {
    "six_tools_tokens": 700,
    "dispatch_tokens": 60,
    "instructions_chars": 700,
    "dispatch_instructions_chars": 240,
    "dispatch_total_tokens": 107,
}
MANIFEST_BUDGET = 120
REPLY_BUDGETS = {
    "plan": 40,
    "resume": 600,
    "precheck": 40,
    "observe": 40,
    "checkpoint": 60,
    "handoff": 160,
    "verdict": 90,
}


def measure_listing() -> dict[str, int]:
    """Return what listing the tools and reading the instructions costs."""
    tokenizer = Tokenizer()
    tokenizer.load()

    def tokens(text: str) -> int:
        return tokenizer.count(text).n

    dispatch: Flavour = "dispatch"
    return {
        "six_tools_tokens": max(_parts(tokens, f) for f in ("portable", "dotted")),
        "six_tools_as_json_tokens": max(tokens(schemas_json(f)) for f in ("portable", "dotted")),
        "dispatch_tokens": tokens(schemas_json(dispatch)),
        "instructions_chars": max(len(instructions(f)) for f in ("portable", "dotted")),
        "dispatch_instructions_chars": len(instructions(dispatch)),
        "dispatch_total_tokens": tokens(schemas_json(dispatch)) + tokens(instructions(dispatch)),
    }


def _parts(tokens: Callable[[str], int], flavour: Flavour) -> int:
    """Return the tokens of every tool's name, description and schema."""
    return sum(
        tokens(spec.listed_name(flavour))
        + tokens(spec.description)
        + tokens(json.dumps(spec.input_schema, separators=(",", ":")))
        for spec in specs(flavour)
    )


def measure_replies() -> tuple[int, dict[str, int]]:
    """Return the manifest's tokens and the largest reply of each tool, from a grown task."""
    tokenizer = Tokenizer()
    tokenizer.load()
    return replies.measure(lambda text: tokenizer.count(text).n)


def broken(listing: dict[str, int], manifest: int | None, replies: dict[str, int]) -> list[str]:
    """Return a line for each budget that is broken."""
    rows = [(name, n, BUDGETS[name]) for name, n in listing.items() if name in BUDGETS]
    rows += [(f"reply of {tool}", n, REPLY_BUDGETS[tool]) for tool, n in replies.items()]
    if manifest is not None:
        rows.append(("manifest_tokens", manifest, MANIFEST_BUDGET))
    return [f"{name}: {n}, the budget is {most}" for name, n, most in rows if n > most]


def main() -> int:
    parser = argparse.ArgumentParser(description="count what OSIRIS costs a model")
    parser.add_argument("--json", action="store_true", help="print JSON alone on stdout")
    as_json = parser.parse_args().json
    listing = measure_listing()
    manifest, largest = measure_replies()
    result = {**listing, "manifest_tokens": manifest, "replies": largest}
    if as_json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:30} {value}")
    problems = broken(listing, manifest, largest)
    for problem in problems:
        print(f"over budget: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
