"""Whether a secret gets through: `python -m bench.redact --json`.

A bridge and an owner in a home of their own are sent every shape of secret, in every form, in every
argument of every tool and in calls that are wrong. Then the owner is stopped, and its home, what it
answered, its logs and what went to stderr are searched for both halves of each. Real transcripts,
which hold no secret, are redacted too: what is found there is found wrongly.

Exit code 1 on a leak or a false hit; each is on stderr.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import owners, redact_corpus
from bench.progress import Progress
from bench.redact_corpus import Corpus
from bench.redact_home import contents
from bench.redact_places import Place, called, places
from bench.redact_planting import Plant, Planter
from bench.redact_shapes import FORMS, SHAPES, Shape, marked, spellings
from bench.redact_wire import Wire
from osiris.home import Home
from osiris_actors.redactor import Redactor

_SEED = 20
_AROUND = 120


class Leak(NamedTuple):
    """A plant that was found again, and where; no plant: nobody can say which."""

    shape: str
    form: str
    tool: str
    argument: str
    where: str


class Planted(NamedTuple):
    plants: int
    leaks: list[Leak]


def plant(
    home: Path, shapes: Sequence[Shape], forms: Sequence[str], where: Sequence[Place]
) -> Planted:
    """Put secrets everywhere, stop the owner, and look for them."""
    planter = Planter(shapes, forms, _SEED)
    progress = Progress("places", len(where))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        wire = Wire(home, work, work / "stderr", folder)
        wire.begin()
        wire.send([called(1, "osiris_plan", {"mode": "start", "objective": "look for leaks"})])
        planter.in_arguments(wire, where, progress)
        planter.in_files(wire, work)
        planter.at_doors(Home(str(home)))
        wire.close()
        owners.stop(home)
        stderr = (work / "stderr").read_bytes()
    progress.end()
    kept = [("stderr", stderr), *contents(Home(str(home)))]
    return Planted(len(planter.plants), sorted({*_answered(planter), *_kept(kept, planter.plants)}))


def _answered(planter: Planter) -> Iterator[Leak]:
    for plant, text in planter.answers:
        if found := marked(text):
            around = text[max(0, found.start() - _AROUND) : found.end() + _AROUND]
            yield _leak(plant or _owner_of(around, planter.plants), "a reply")


def _kept(texts: Iterable[tuple[str, bytes]], plants: Sequence[Plant]) -> Iterator[Leak]:
    for where, data in texts:
        at = 0
        while found := marked(data, at):
            at = found.end()
            around = data[max(0, found.start() - _AROUND) : at + _AROUND]
            yield _leak(_owner_of(around, plants), where)


def _owner_of(around: bytes, plants: Sequence[Plant]) -> Plant | None:
    """Return the plant of which most stands in `around`."""
    shares = ((_share(plant.secret, around), at) for at, plant in enumerate(plants))
    share, at = max(shares, default=(0, 0))
    return plants[at] if share else None


def _share(secret: str, around: bytes) -> int:
    return sum(spelling.encode() in around for spelling in spellings(secret))


def _leak(plant: Plant | None, where: str) -> Leak:
    return Leak("", "", "", "", where) if plant is None else Leak(*plant[:4], where)


def report(planted: Planted, corpus: Corpus, places_tried: int, seconds: float) -> dict[str, Any]:
    return {
        "shapes": len(SHAPES),
        "forms": len(FORMS),
        "places": places_tried,
        "planted": planted.plants,
        "leaks": len(planted.leaks),
        "false_hits": len(corpus.hits),
        "texts_scanned": corpus.texts,
        "mb_per_s": round(corpus.mb_per_s, 1),
        "seconds": round(seconds, 1),
    }


def main() -> int:
    """Run all of it and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON alone")
    as_json: bool = parser.parse_args().json
    began = time.monotonic()
    where = list(places())
    with owners.home_folder(owners.disk()) as home:
        planted = plant(home, SHAPES, list(FORMS), where)
        corpus = _corpus(home / "rules")
    _complain(planted, corpus)
    said = report(planted, corpus, len(where), time.monotonic() - began)
    print(json.dumps(said) if as_json else _table(said))
    return 1 if planted.leaks or corpus.hits else 0


def _corpus(rules: Path) -> Corpus:
    redactor = Redactor(b"bench")
    redactor.load(rules)
    texts = list(redact_corpus.leaves(redact_corpus.TRANSCRIPTS))
    return redact_corpus.judge(redactor, texts)


def _complain(planted: Planted, corpus: Corpus) -> None:
    for leak in planted.leaks:
        print("leak: " + ", ".join(leak), file=sys.stderr)
    for file, message, around in corpus.hits:
        print(f"false hit: {file} message {message}: {around!r}", file=sys.stderr)


def _table(said: dict[str, Any]) -> str:
    return "\n".join(f"{name.replace('_', ' '):<16}{value:>10,}" for name, value in said.items())


if __name__ == "__main__":
    sys.exit(main())
