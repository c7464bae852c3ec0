"""A small run of `bench.redact`: one secret of each kind, one tool each, against a real owner."""

from pathlib import Path

import pytest

from bench import owners
from bench.redact import Leak, plant
from bench.redact_places import Place, called, places
from bench.redact_shapes import FORMS, SHAPES, text_of
from osiris_actors.redactor import Redactor

KNOWN_BY_SHAPE = [shape for shape in SHAPES if shape.name in ("github fine", "jwt", "docker")]
KNOWN_BY_LABEL = [shape for shape in SHAPES if shape.name == "password"]
ONE_EACH = ("tool", "objective", "text", "q", "id", "result", "name", "op", "uri", "cut", "method")


@pytest.mark.promise("redaction")
def test_no_secret_is_left_in_home_replies_logs_or_stderr(tmp_path: Path) -> None:
    where = [place for place in places() if place.argument in ONE_EACH]

    with owners.home_folder(tmp_path) as home:
        planted = plant(home, KNOWN_BY_SHAPE + KNOWN_BY_LABEL, ["json", "env", "base64"], where)

    assert planted.plants == 4 * 3 * (len(where) + 6)
    assert planted.leaks == []


def test_what_is_not_taken_for_a_secret_is_found_wherever_it_went(tmp_path: Path) -> None:
    shape = KNOWN_BY_LABEL[0]._replace(name="unlabelled", label="value")

    def fact(ident: int, _: int, text: str) -> bytes:
        return called(ident, "osiris_observe", {"kind": "fact", "text": text})

    with owners.home_folder(tmp_path) as home:
        planted = plant(home, [shape], ["json"], [Place("observe", "text", fact)])

    assert Redactor(b"").redact(text_of(shape, "json", "S3cr3t!Kx9Qz7abcd"))[1] == 0
    assert Leak("unlabelled", "json", "observe", "text", "store events") in planted.leaks
    assert Leak("unlabelled", "json", "observe", "a file by path", "store chunks") in planted.leaks
    assert Leak("unlabelled", "json", "doors", "op", "a reply") in planted.leaks


def test_every_argument_of_every_tool_is_a_place() -> None:
    tried = {(place.tool, place.argument.partition(" ")[0]) for place in places()}

    assert ("observe", "batch") in tried
    assert ("handoff", "schema") in tried
    assert len(SHAPES) >= 40
    assert len(FORMS) >= 4
