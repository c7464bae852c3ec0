"""From a command's function to what is printed.

Rule 1: with --json, stdout holds one line of JSON and nothing else, all ASCII: it survives every
        encoding, and no stored text reaches a terminal as control characters.
Rule 2: without it, stdout holds the answer, stderr what is said about it.
Rule 3: stored text goes into a pipe or a file byte for byte, onto a terminal escaped.
Rule 4: a reader that has seen enough (`| head`) is no error.
"""

import errno
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TextIO

import click
from msgspec import Struct

from osiris.cli.exits import CommandError, Exit
from osiris.cli.layout import Screen, encodable, on_terminal
from osiris.core import plain

_LONGEST_ERROR = 1_000
_READER_LEFT = (errno.EPIPE, errno.EINVAL)  # EINVAL: a closed pipe on Windows


def _nothing(_: Screen) -> str:
    return ""


class Shown(Struct, frozen=True):
    """What a command has to say.

    `answer` is for --json; `text` lays it out for people; `raw` is stored text, printed after it;
    `notes` are lines about the answer, for stderr.
    """

    answer: Mapping[str, Any]
    text: Callable[[Screen], str] = _nothing
    raw: bytes = b""
    notes: tuple[str, ...] = ()
    exit: int = Exit.OK


def answers(function: Callable[..., Shown]) -> Callable[..., int]:
    """Make a function from a Context to a Shown the callback of a command with --json."""

    @wraps(function)
    def run(*, as_json: bool, **given: object) -> int:
        shown = function(click.get_current_context().obj(), **given)
        show(shown, is_json=wants_json(as_json=as_json))
        return int(shown.exit)

    return json_option(run)


def wants_json(*, as_json: bool) -> bool:
    """Say whether --json was given, to the command or before it."""
    return as_json or bool(click.get_current_context().find_root().params.get("as_json"))


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON alone on stdout.")


def show(shown: Shown, *, is_json: bool) -> None:
    """Print what a command says. Raises OSError when it cannot be written."""
    if is_json:
        _write_json(shown.answer)
        return
    place = screen()
    text = shown.text(place)
    if text:
        _write_text(sys.stdout, f"{text}\n")
    if shown.raw:
        _write_raw(shown.raw, place)
    for note in shown.notes:
        _write_text(sys.stderr, f"{plain.one_line(note, _LONGEST_ERROR)}\n")


def fail(error: CommandError, *, is_json: bool) -> None:
    """Print why a command ends without its answer, after the input it could not store."""
    if is_json:
        _write_json(error.as_json())
        return
    if error.raw:
        _write_raw(error.raw, screen())
    _write_text(sys.stderr, f"{plain.one_line(str(error), _LONGEST_ERROR)}\n")


def screen() -> Screen:
    """Return where stdout is read: a terminal's columns, else 80."""
    is_terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns if is_terminal else 80
    now_ms = time.time_ns() // 1_000_000
    return Screen(columns, sys.stdout.encoding or "utf-8", is_terminal, now_ms)


def _write_json(answer: Mapping[str, Any]) -> None:
    _write(sys.stdout, f"{json.dumps(answer)}\n".encode())


def _write_raw(raw: bytes, place: Screen) -> None:
    if place.is_terminal:
        _write_text(sys.stdout, on_terminal(raw.decode("utf-8", "replace")))
    else:
        _write(sys.stdout, raw)


def _write_text(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    _write(stream, encodable(text, encoding).encode(encoding))


def _write(stream: TextIO, data: bytes) -> None:
    try:
        stream.flush()
        left = memoryview(data)
        while left:  # PYTHONUNBUFFERED makes it a raw file, which may take a part
            left = left[stream.buffer.write(left) :]
        stream.buffer.flush()
    except OSError as error:
        # what is still buffered must not fail once more when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if error.errno not in _READER_LEFT:
            raise
