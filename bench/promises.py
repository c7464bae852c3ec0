"""Each promise and the tests that prove it: `python -m bench.promises [--json]`, `make promises`.

Rule 1: a test that proves a promise is marked `@pytest.mark.promise("ID")`; it is found by reading
        the test's file, so nothing is imported or run.
Rule 2: PROMISES are kept now. One without a test, or a mark that names no promise, ends with 1.
Rule 3: AHEAD are the seed's promises that are not kept yet; they count only once they are moved up.
"""

import argparse
import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.readme_tables import table

ROOT = Path(__file__).parents[1]

# id -> what is promised; Sn is a section of the seed, the others are the README's own
PROMISES: dict[str, str] = {
    "local-only": "no connection leaves the machine, and no model is called",
    "durable": "what was acknowledged is on the disk: no kill loses it and no retry doubles it",
    "audit-catches": "one flipped bit is an error with the record's name, never a wrong value",
    "one-net": "every reply is charged, and one function computes the net everywhere",
    "budget-footprint": "six schemas cost at most 700 tokens, instructions at most 700 characters",
    "budget-replies": "replies and the manifest stay inside their budgets of tokens",
    "redaction": "a secret reaches neither store nor reply; hashes and ids are left alone",
    "roots": "without roots no file is read, and no link leads out of one",
    "fence": "of two who accept one contract one holds it; an older holder's writes fail",
    "lease": "a silent holder loses its lease; its late result is kept",
    "bad-input": "bad input gets a code and a fix, changes nothing, and the next call works",
    "bounded-load": "loading a task reads no more however long its history is",
    "readme": "the README's tables, links, commands and calls are those of the code",
    "S2-manifest": "the manifest is three lines of at most 120 tokens, equal for an equal state",
    "S2-append": "an appended constraint or decision leaves the cached prefix alone",
    "S2-pinned-rewrite": "a rewritten pinned decision is a semantic break, and refused",
    "S2-drift": "an unknown seal is answered with drift and the manifest; precheck denies it",
    "S2-cost": "a changed head says what it costs, in tokens and, with a known price, in money",
    "S3-six-tools": "six tools, three resources and the prompt answer in both protocol eras",
    "S3-dropped": "a drop is booked once, as declared, and only if the text was shown",
    "S3-query": "recall filters here: only what was asked for enters the context",
    "S3-duplicate": "precheck names the answer that somebody in the project has already",
    "S3-volatile": "what busts a cache in a head or a tool contract is found, with its fix",
    "S3-pressure": "context pressure is measured, declared or unknown, source by source",
    "S3-report": "a task leaves a report: plan, decisions, work, refs, net, known money",
    "S3-compaction": "compact, trim and clear are reversible: resume brings all of it back",
    "S4-compass": "the compass ranks a project's tools for a step, and hides none",
    "S5-scopes": "memory is looked up from task to project to agent to global",
    "S5-files": "files are known by hash, and a re-read is answered by what changed",
    "S5-supersede": "another text under an id supersedes the first, which stays and says so",
    "S5-promotion": "what a task learned leaves it by promotion alone, with its provenance",
    "S5-failures": "a failure is remembered by signature, with attempts, error and lesson",
    "S5-results": "a tool's result is recalled by its call, until its time or a change",
    "S6-modes": "four prune modes as a table",
    "S6-net-savings": "a cut is advised only where its gain is above its cost",
    "S6-cache-ttl": "the default mode cuts where the cache is dead, and waits where it lives",
    "S6-never-deletes": "what leaves a prompt is in a ref; pinned texts and stubs are never cut",
    "S7-exact-duplicate": "the same call with the same result: suggest_alternative",
    "S7-repeated-failure": "the same error three times: block, with what is required",
    "S7-loop-pattern": "one error under varying arguments: warn",
    "S7-oscillation": "calls in turn without news: warn",
    "S7-runaway": "many calls without progress: warn, then block",
    "S8-invariants": "rules of a project are enforced before an action, by states that go stale",
    "S9-lossless": "every payload comes back byte for byte, verified by its hash",
    "S9-audit": "an audit replays every chain, hashes every payload and names what is wrong",
}

# the seed's promises that wait for their part
AHEAD: dict[str, str] = {
    "S12-dashboard": "a dashboard shows tasks in a browser",
}


def marks() -> dict[str, list[str]]:
    """Return the tests by the promise that they are marked with."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").glob("*/*.py")):
        for name, promise in _marked(ast.parse(path.read_text("utf-8"))):
            where = f"{path.relative_to(ROOT).as_posix()}::{name}"
            found.setdefault(promise, []).append(where)
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for test in tree.body:
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef):
            for mark in test.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.promise":
                    yield from ((test.name, ast.literal_eval(id_)) for id_ in mark.args)


def as_table() -> str:
    """Return the README's table of what is promised."""
    return table(("promise", "what it says"), [(f"`{id_}`", PROMISES[id_]) for id_ in PROMISES])


def main() -> int:
    parser = argparse.ArgumentParser(description="list each promise with the tests that prove it")
    parser.add_argument("--json", action="store_true", help="print JSON alone on stdout")
    as_json = parser.parse_args().json
    tests = marks()
    without = [id_ for id_ in PROMISES if id_ not in tests]
    unknown = sorted(tests.keys() - PROMISES.keys() - AHEAD.keys())
    if as_json:
        print(json.dumps({"promises": tests, "without": without, "unknown": unknown}))
    else:
        _print(tests, without, unknown)
    return 1 if without or unknown else 0


def _print(tests: dict[str, list[str]], without: list[str], unknown: list[str]) -> None:
    for id_, said in PROMISES.items():
        print(f"{id_:<20} {said}")
        print("".join(f"{'':<20}   {test}\n" for test in tests.get(id_, ["NO TEST"])), end="")
    print(f"\n{len(PROMISES) - len(without)} of {len(PROMISES)} promises have a test")
    print(f"not kept yet: {', '.join(AHEAD)}")
    if unknown:
        print(f"marks that name no promise: {', '.join(unknown)}")


if __name__ == "__main__":
    sys.exit(main())
