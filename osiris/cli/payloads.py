"""`osiris put`, `get`, `grep`: texts in, out, and searched.

Rule 1: `put` prints the stub that stands for the text. A text that could not be stored is printed
        itself: a broken store costs nobody the output of a command.
Rule 2: `get` prints the stored bytes and nothing else.
"""

import re
import sys
from pathlib import Path

import click

from osiris.cli.context import Context
from osiris.cli.exits import CommandError, parse_line
from osiris.cli.output import Shown, answers
from osiris.cli.tasks import project_here
from osiris.core import refs

MAX_BYTES = 64 * 1024 * 1024  # what one frame carries


@click.command()
@click.option("--tool", help="The tool that made the text; it shapes the stub.")
@click.option("--host", help="The agent's host, for what it would have shown by itself.")
@answers
def put(context: Context, *, tool: str | None, host: str | None) -> Shown:
    """Store the text piped in and print the stub for the model: `make 2>&1 | osiris put`."""
    text = _piped()
    named = {"tool": tool, "host": host, "project": project_here()}
    args = {name: value for name, value in named.items() if value}
    try:
        found, _ = context.send("put", args, text)
        if found.get("is_error"):
            raise parse_line(str(found.get("text", "")))
    except CommandError as error:
        raise CommandError(error.code, error.what, error.fix, text) from error
    return Shown(found, raw=f"{found['text']}\n".encode())


def _piped() -> bytes:
    if sys.stdin.isatty():
        raise CommandError("missing_argument", "nothing is piped in", "COMMAND | osiris put")
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        fix = "write it to a file under the roots and let the agent observe(path=...)"
        raise CommandError("payload_too_large", "the text is above 64 MiB", fix)
    try:
        is_text = b"\0" not in data and bool(data.decode())
    except UnicodeDecodeError:
        is_text = False
    if data and not is_text:
        raise CommandError("binary_file", "what is piped in is not text in UTF-8", "pipe text")
    return data


@click.command()
@click.argument("ref")
@click.option("-o", "output", metavar="FILE", help="Write to FILE instead of stdout.")
@answers
def get(context: Context, *, ref: str, output: str | None) -> Shown:
    """Print a stored text, byte for byte; on a terminal its control characters are escaped.

    REF is mem:// and 12 or more hex digits.
    """
    found, data = context.send("get", {"ref": ref})
    if output is None or output == "-":
        return Shown({**found, "text": data.decode("utf-8", "replace")}, raw=data)
    try:
        Path(output).write_bytes(data)
    except OSError as error:
        what = f"cannot write {output}: {error.strerror}"
        raise CommandError("bad_argument", what, "name a file that can be written") from error
    return Shown({**found, "file": output}, notes=(f"{len(data):,} bytes in {output}",))


@click.command()
@click.argument("pattern")
@click.argument("ref")
@click.option("-i", "ignores_case", is_flag=True, help="Upper and lower case are the same.")
@click.option("-F", "is_literal", is_flag=True, help="PATTERN is text, not an expression.")
@answers
def grep(
    context: Context, *, pattern: str, ref: str, ignores_case: bool, is_literal: bool
) -> Shown:
    """Print the lines of a stored text that match an RE2 pattern.

    REF is mem:// and 12 or more hex digits; the order of the two does not matter. How many lines
    there are is said on stderr.
    """
    if pattern.startswith(refs.SCHEME) and not ref.startswith(refs.SCHEME):
        pattern, ref = ref, pattern
    wanted = re.escape(pattern) if is_literal else pattern
    asked = {"q": f"(?i){wanted}" if ignores_case else wanted, "ref": ref}
    found, data = context.send("grep", asked)
    text = data.decode("utf-8", "replace")
    more = f"{'at least ' if found.get('partial') else ''}{found['of']:,}"
    note = f"{found['shown']:,} of {more} matches"
    rest = f"; the rest: osiris get {ref} | grep" if found.get("cursor") else ""
    return Shown({**found, "text": text}, raw=data, notes=(note + rest,))
