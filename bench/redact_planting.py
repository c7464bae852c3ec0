"""Puts a secret of its own into everything that a client can send: arguments, files and doors.

Rule 1: each secret is drawn once, so that one that is found again says where it was put.
Rule 2: a request's id is the number of its plant, so that a reply says whose it is.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.progress import Progress
from bench.redact_places import Place, called
from bench.redact_shapes import Shape, text_of
from bench.redact_wire import Reply, Wire
from osiris.doors import frames
from osiris.home import Home
from osiris.reach import connect_or_start

FIRST_ID = 10
_WITHIN_S = 60.0
_DOORS = ("body", "tool", "host", "ref", "op")


class Plant(NamedTuple):
    """A secret that was put somewhere."""

    shape: str
    form: str
    tool: str
    argument: str
    secret: str


class Answered(NamedTuple):
    """What came back for a plant, None if nobody can say for which."""

    plant: Plant | None
    text: bytes


class Planter:
    """Plants all `shapes` in all forms; what was planted and what came back is kept."""

    def __init__(self, shapes: Sequence[Shape], forms: Sequence[str], seed: int) -> None:
        self.plants: list[Plant] = []
        self.answers: list[Answered] = []
        self._source = random.Random(seed)  # noqa: S311  made-up secrets, the same each run
        self._kinds = [(shape, form) for shape in shapes for form in forms]

    def in_arguments(self, wire: Wire, places: Iterable[Place], progress: Progress) -> None:
        """Send every kind in every place."""
        for done, place in enumerate(places, 1):
            wire.send(self._calls(place))
            progress.step(done, f"{place.tool} {place.argument}")
        self._keep(wire.replies)

    def in_files(self, wire: Wire, folder: Path) -> None:
        """Let files that hold secrets be stored and read by their path."""
        wire.send(self._reads(folder))
        self._keep(wire.replies)

    def at_doors(self, home: Home) -> None:
        """Pipe secrets in, and ask the owner for what has one in its name."""
        with connect_or_start(home, "doors") as door:
            door.settimeout(_WITHIN_S)
            for name in _DOORS:
                for plant, text in self._drawn("doors", name):
                    args: Mapping[str, str] = {} if name in ("body", "op") else {name: text}
                    op = {"op": text, "ref": "get"}.get(name, "put")
                    body = text.encode() if name == "body" else f"piped by {name}".encode()
                    header, raw = frames.ask(door, op, args, body)
                    self.answers.append(Answered(plant, repr(header).encode() + raw))

    def _drawn(self, tool: str, argument: str) -> Iterator[tuple[Plant, str]]:
        for shape, form in self._kinds:
            secret = shape.drawn(self._source)
            plant = Plant(shape.name, form, tool, argument, secret)
            self.plants.append(plant)
            yield plant, text_of(shape, form, secret)

    def _calls(self, place: Place) -> Iterator[bytes]:
        for turn, (_, text) in enumerate(self._drawn(place.tool, place.argument)):
            yield place.line(len(self.plants) - 1 + FIRST_ID, turn, text)

    def _reads(self, folder: Path) -> Iterator[bytes]:
        for turn, (_, text) in enumerate(self._drawn("observe", "a file by path")):
            path = folder / f"{turn}.txt"
            path.write_text(text + "\nmore\n" * (turn % 400), "utf-8")
            store = {"kind": "action", "tool": "Read", "path": str(path)}
            read = {"op": "head", "path": str(path)}
            name, arguments = ("recall", read) if turn % 3 else ("observe", store)
            yield called(len(self.plants) - 1 + FIRST_ID, f"osiris_{name}", arguments)

    def _keep(self, replies: list[Reply]) -> None:
        for reply in replies:
            number = (reply.id or 0) - FIRST_ID
            plant = self.plants[number] if number >= 0 else None
            self.answers.append(Answered(plant, reply.text.encode()))
        replies.clear()
