"""Fill the generated parts of the README: `python -m bench.readme [--tables | --check]`.

Rule 1: a part stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`; the rest of the
        README is written by hand and never touched.
Rule 2: tables come from the code and are the same for the same code: `--tables` makes them alone,
        `--check` says which are stale and changes nothing.
Rule 3: numbers come from `osiris demo --json` and the footprint, examples from a real session:
        nobody writes either by hand.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bench import promises, readme_session, readme_tables, readme_unbuilt
from bench.footprint import BUDGETS, measure_listing
from bench.readme_tables import table

README = Path(__file__).parents[1] / "README.md"
DEMO = (sys.executable, "-P", "-m", "osiris", "demo", "--json")

_part = re.compile(r"<!-- generated: ([\w-]+) -->\n(.*?)<!-- end: \1 -->", re.DOTALL)


def parts(readme: str) -> dict[str, str]:
    """Return what stands in the generated parts, by name."""
    return {name: text.strip("\n") for name, text in _part.findall(readme)}


def filled(readme: str, made: Mapping[str, str]) -> str:
    """Return the README with the parts of `made` in it; the others stay."""

    def part(found: re.Match[str]) -> str:
        name = found[1]
        if name not in made:
            return found[0]
        return f"<!-- generated: {name} -->\n\n{made[name]}\n\n<!-- end: {name} -->"

    return _part.sub(part, readme)


def tables() -> dict[str, str]:
    return {name: make() for name, make in TABLES.items()}


def stale(readme: str) -> list[str]:
    """Return the names of the tables that are not what the code says."""
    there = parts(readme)
    return [name for name, text in tables().items() if name in there and there[name] != text]


def numbers(demo: Mapping[str, Any]) -> str:
    """Return the first screen's table: what one run of the demo measured."""
    overhead, audit = demo["overhead"], demo["audit"]
    listing = overhead["schema"] + overhead["instructions"]
    rows: list[tuple[str, object]] = [
        ("results that the job needs, each read whole", demo["baseline_tokens"]),
        ("what is read with OSIRIS, all of it", demo["osiris_tokens"]),
        ("of that: tool schemas and instructions, once a connection", listing),
        (f"**net: {demo['net_pct']} %**", demo["net_tokens"]),
        *(
            (f"net if the host were `{host}`, which cuts long results itself", capped)
            for host, capped in sorted(demo["net_tokens_capped"].items())
        ),
    ]
    found, needed = demo["facts_found"], demo["facts_needed"]
    lost, acked = demo["acked_lost"], demo["acked"]
    verified, stored = audit["items_verified"], audit["items_externalized"]
    said = f"""\
In the same run: {found} of {needed} needed facts recalled and compared with the material; \
{lost} of {acked} acknowledged changes lost, though the owner was killed with `kill -9` in the \
middle of a call; {verified} of {stored} payloads verified by hash; {demo["seconds"]:.0f} s on \
{os.cpu_count()} cores."""
    return f"{table(('one run of `make demo`', 'tokens>'), rows)}\n\n{said}"


@cache
def listing() -> str:
    """Return what a connection costs before the first call."""
    found = measure_listing()
    rows = [(name.replace("_", " "), found[name], BUDGETS.get(name, "")) for name in found]
    return table(("`python -m bench.footprint`", "measured>", "budget>"), rows)


def _demo() -> dict[str, Any]:
    done = subprocess.run(DEMO, stdout=subprocess.PIPE, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    if done.returncode or not found["ok"]:
        raise SystemExit(f"the demo failed: {found}")
    return found


def _examples() -> dict[str, str]:
    found = readme_session.examples()
    return {f"example-{name}": f"```text\n{text}\n```" for name, text in found.items()}


# block -> what makes it from the code alone
TABLES: dict[str, Callable[[], str]] = {
    **readme_tables.TABLES,
    "listing": listing,
    "promises": promises.as_table,
    "unbuilt": readme_unbuilt.unbuilt,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="fill the generated parts of the README")
    parser.add_argument("--tables", action="store_true", help="only what the code alone decides")
    parser.add_argument("--check", action="store_true", help="name stale tables, change nothing")
    args = parser.parse_args()
    readme = README.read_text("utf-8")
    if args.check:
        names = stale(readme)
        print(f"stale: {', '.join(names)}" if names else "every table is what the code says")
        return 1 if names else 0
    made = tables()
    if not args.tables:
        made |= {"numbers": numbers(_demo()), **_examples()}
    README.write_text(filled(readme, made), "utf-8", newline="\n")
    print(f"{len(parts(readme).keys() & made.keys())} parts of the README filled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
