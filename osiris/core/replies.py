"""What goes back to the agent, before it is text.

Rule 1: the first line is `key=value` pairs and carries the answer.
Rule 2: a stub, a manifest and a data block are counted apart from the reply proper.
Rule 3: no line is longer than LINE characters.
"""

from collections.abc import Mapping

from msgspec import Struct

from osiris.core import plain
from osiris.core.errors import Refusal

LINE = 2_000


class Block(Struct, frozen=True, array_like=True):
    """Stored text; `label` says what it is."""

    label: str
    text: str


class Reply(Struct, frozen=True, array_like=True, tag=True):
    """An answer; `pairs` in order, values are made one word by quoting where needed."""

    pairs: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    stub: str = ""
    manifest: str = ""
    block: Block | None = None
    is_error: bool = False


def words(reply: Reply) -> str:
    """Return the reply proper: the first line and the notes."""
    first = " ".join(f"{key}={_word(value)}" if value else key for key, value in reply.pairs)
    return "\n".join(line[:LINE] for line in (first, *reply.notes))


def parts(reply: Reply | Refusal) -> dict[str, str]:
    """Return the pieces of the text by the kind they are charged under, in their order."""
    if isinstance(reply, Refusal):
        return {"reply": reply.text()}
    pieces = {"reply": words(reply), "manifest": reply.manifest, "stub": reply.stub}
    if reply.block is not None:
        pieces["recall"] = plain.block(reply.block.label, reply.block.text)
    return {kind: text for kind, text in pieces.items() if text}


def text(reply: Reply | Refusal) -> str:
    return joined(parts(reply))


def joined(pieces: Mapping[str, str]) -> str:
    """Return the text of a reply from its parts."""
    return "\n".join(pieces.values())


def _word(value: str) -> str:
    if value.isprintable() and " " not in value and '"' not in value:
        return value
    return plain.quoted(value, LINE)
