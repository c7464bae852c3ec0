"""Secrets out of every text before it is hashed, stored, logged or echoed.

Rule 1: a secret becomes `[[secret:RULE:HMAC8]]`, the same secret under the same key always the same
        sentinel; the HMAC is keyed by the store, so it says nothing about the secret elsewhere.
Rule 2: the project's own list works at once; kingfisher's rules join it when they are loaded, and
        finds that touch are one.
Rule 3: a text is looked through by two sets of patterns first; only rows that occur are matched one
        by one. (One set for all takes 0.6 s a megabyte on hostile text, two take 0.1 s.)
Rule 4: a short text is asked first whether it can hold a secret at all (`redact_gate`).
Rule 5: base64 of text, percent-encoding and values of addresses are looked into, twice at most;
        what is already a sentinel is left alone.
Rule 6: in JSON every text and key is looked at by itself, and what stands under the key of a secret
        is one.
"""

import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import trio

from osiris.core.query_re2 import Finder, PatternSet
from osiris.core.stub_json import is_array, is_object
from osiris_actors.redact_encodings import decoded
from osiris_actors.redact_finds import Find, Inner, characters, merged, outside
from osiris_actors.redact_gate import GATED, OWN, Gate, gate_for
from osiris_actors.redact_labels import (
    is_cookie,
    is_header,
    is_labelled,
    is_value,
    list_labels,
    names_password,
    names_secret,
    object_labels,
)
from osiris_actors.redact_rules import CREDENTIAL, ROWS, Row

log = logging.getLogger(__name__)

_SHORTEST = 8
_LONGEST_NAME = 64
_BEFORE = 80
_DEPTH = 2  # base64 in a percent-encoded address in a text
_HEADER = "Authorization"
_LEAF = "\n\x00\n"
_secretive = re.compile(r"secret|key|token|password")
_BETWEEN = b"\n"


class Scanner(Protocol):
    """Finds secrets in bytes."""

    def scan(self, data: bytes) -> Iterable[Any]: ...


class _Part:
    """Rows that are looked for together."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.finders = [Finder(row.pattern.encode()) for row in rows]
        self._set = PatternSet((row.hint or row.pattern).encode() for row in rows)

    def finds(self, data: bytes) -> Iterator[tuple[Row, int, int]]:
        for index in self._set.matching(data):
            for start, end in self.finders[index].spans(data):
                yield self.rows[index], start, end


class Redactor:
    """Replaces secrets by sentinels; `key` belongs to the store."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._parts = (
            _Part([row for row in ROWS if row.check == "shape"]),
            _Part([row for row in ROWS if row.check != "shape"]),
        )
        self._scanner: Scanner | None = None
        self._gate: Gate | None = Gate(OWN)
        self._loaded = trio.Event()

    @property
    def has_all_rules(self) -> bool:
        """Say whether kingfisher's rules are in use."""
        return self._scanner is not None

    @property
    def is_gated(self) -> bool:
        """Say whether short texts are asked first if they can hold a secret."""
        return self._gate is not None

    def load(self, cache_dir: Path) -> None:
        """Load kingfisher's rules: 3.5 s, 0.5 s from its cache; for a thread."""
        from kingfisher_sdk import Rules  # noqa: PLC0415  (43 MB that only this thread should pay)
        from kingfisher_sdk import Scanner as Kingfisher  # noqa: PLC0415  (same)

        cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        rules = Rules(cache_dir=cache_dir)
        gate = gate_for(rules)
        self._scanner = Kingfisher(rules)
        self._gate = gate

    async def start(
        self,
        cache_dir: Path,
        run: Callable[[Callable[[], None]], Awaitable[None]] = trio.to_thread.run_sync,
    ) -> None:
        """Load in a thread, then let `ready` return; without the rules the own list stays alone."""
        try:
            await run(partial(self.load, cache_dir))
        except (ImportError, OSError, RuntimeError, ValueError):
            log.exception("kingfisher's rules are not used")
        finally:
            self._loaded.set()

    async def ready(self) -> None:
        """Return when `start` has done what it can."""
        await self._loaded.wait()

    def redact(self, text: str) -> tuple[str, int]:
        """Return the text without its secrets, and how many there were."""
        if len(text) < _SHORTEST:
            return text, 0
        data = text.encode("utf-8", "surrogatepass")
        finds = self._merged(data) if self._may_hold(data) else []
        if not finds:
            return text, 0
        pieces: list[bytes] = []
        at = 0
        for find in finds:
            pieces += (data[at : find.start], self._sentinel(find))
            at = find.end
        return b"".join((*pieces, data[at:])).decode("utf-8", "surrogatepass"), len(finds)

    def redact_tree(self, value: Any) -> tuple[Any, int]:
        """Return a JSON value without the secrets in its texts and keys, and their number."""
        texts, names = _collected(value)
        whole = _LEAF.join((*texts, *names)).encode("utf-8", "surrogatepass")
        if not self._may_hold(whole):
            return value, 0
        labels = (*names, *(text for text in texts if len(text) <= _LONGEST_NAME))
        if not any(map(names_secret, labels)) and not self._merged(whole):
            return value, 0
        hits: list[int] = []
        return self._tree(value, "", hits), sum(hits)

    def _may_hold(self, data: bytes) -> bool:
        return self._gate is None or len(data) > GATED or self._gate.may_hold(data)

    def _tree(self, value: Any, label: str, hits: list[int]) -> Any:
        """Return `value` clean; `label` is the key it stands under if that names a secret."""
        if isinstance(value, str):
            return self._leaf(value, label, hits)
        if is_array(value):
            pairs = zip(value, list_labels(value, label), strict=True)
            return [self._tree(item, said, hits) for item, said in pairs]
        if is_object(value):
            labels = object_labels(value)
            return {
                self._leaf(key, "", hits): self._tree(item, labels[key], hits)
                for key, item in value.items()
            }
        return value

    def _leaf(self, text: str, label: str, hits: list[int]) -> str:
        if label and is_value(text, bare=False, password=names_password(label)):
            hits.append(1)
            return self._sentinel(Find(0, 0, 0, *self._named(text))).decode()
        header = f"{_HEADER}: " if label and is_header(label) else ""
        clean, found = self.redact(header + text)
        hits.append(found)
        return clean.removeprefix(header)

    def _named(self, text: str) -> tuple[str, bytes]:
        """Return the rule and the secret of a text that is all one secret."""
        data = text.encode("utf-8", "surrogatepass")
        finds = self._merged(data)
        if len(finds) == 1 and finds[0].end - finds[0].start > len(data) // 2:
            return finds[0].rule, finds[0].secret
        return CREDENTIAL, data

    def _sentinel(self, find: Find) -> bytes:
        digest = hmac.digest(self._key, find.secret, "sha256").hex()[:8]
        return f"[[secret:{find.rule}:{digest}]]".encode()

    def _merged(self, data: bytes) -> list[Find]:
        return merged(self._finds(data, _DEPTH), data)

    def _finds(self, data: bytes, depth: int) -> Iterator[Find]:
        """Yield what is found in a text and, `depth` times, in what stands encoded in it."""
        inner: list[Inner] = []
        for row, start, end in self._matches(data):
            secret = data[start:end]
            if row.check == "encoded":
                inner.append(Inner(start, end, decoded(row.name, secret)))
            elif _holds(row, data, start, secret):
                yield Find(start, end, int(row.check != "shape") * 2, row.name, secret)
        yield from self._others(data)
        if inner and depth:
            text = _BETWEEN.join(one.text for one in inner)
            yield from outside(self._finds(text, depth - 1), inner, data)

    def _matches(self, data: bytes) -> Iterator[tuple[Row, int, int]]:
        for part in self._parts:
            yield from part.finds(data)

    def _others(self, data: bytes) -> Iterator[Find]:
        """Yield what kingfisher finds; it takes a text with many zero bytes for UTF-16."""
        plain = data.replace(b"\0", b"\1")
        for found in self._scanner.scan(plain) if self._scanner else ():
            rule = found.rule_id.rpartition(".")[2][:40]
            if found.visible or _secretive.search(rule):  # others are account names and the like
                span = found.location["start_offset"], found.location["end_offset"]
                secret = found.secret.encode("utf-8", "surrogatepass")
                yield Find(*characters(data, *span), 1, rule, secret)


def _holds(row: Row, data: bytes, start: int, secret: bytes) -> bool:
    """Say whether a match of a row is a secret by its check."""
    if row.check == "shape":
        return True
    value = secret.decode("utf-8", "replace")
    match row.check:
        case "label":
            before = data[max(0, start - _BEFORE) : start].decode("utf-8", "replace")
            return is_labelled(before, value)
        case "value":
            return is_value(value, bare=True)
        case "password":
            return is_value(value, bare=False, password=True)
        case "cookie":
            return is_cookie(value)
        case "encoded":
            return False


def _collected(value: Any) -> tuple[list[str], list[str]]:
    """Return the texts and the keys of a JSON value."""
    texts: list[str] = []
    names: list[str] = []
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            members = cast("dict[str, object]", item)
            names += members
            stack += members.values()
        elif isinstance(item, list):
            stack += cast("list[object]", item)
    return texts, names
