"""Commits one unit after the other and says what became of each: a process to make faults in.

`python -m tests.actors.keeper_child FOLDER COMMITS`: after each commit a line with its number, the
outcome's name, and whether the first key can still be read; at the end one that says `trouble`.
"""

import sys
import time
from pathlib import Path

from osiris_actors.store.contract import Append, Key, StoreUnavailable, Unit
from osiris_actors.store.kept import KeptBackend
from osiris_actors.store.opening import Place, open_store


def place(folder: Path) -> Place:
    """Return the store and the ballast that lie in `folder`."""
    return Place(folder / "store", folder / "ballast")


def unit(number: int) -> Unit:
    """Return the unit that stream `task/NUMBER` is known by."""
    return Unit((Append(f"task/{number}", 0, (b"event" * 20,)),), key=Key(f"k{number}", "", 0))


def main() -> None:
    folder, commits = Path(sys.argv[1]), int(sys.argv[2])
    kept = open_store(place(folder))
    print("open", flush=True)  # noqa: T201  its parent reads it
    for number in range(commits):
        (outcome,) = kept.commit_batch((unit(number),))
        reads = _reads(kept)
        print(number, type(outcome).__name__, reads, flush=True)  # noqa: T201  same
        time.sleep(0.001)
    trouble = kept.trouble()
    print("trouble", trouble.why if trouble else "none", flush=True)  # noqa: T201  same
    kept.close()


def _reads(kept: KeptBackend) -> str:
    try:
        kept.lookup("k0")
    except StoreUnavailable as error:
        return f"unreadable: {error}"
    return "readable"


if __name__ == "__main__":
    main()
