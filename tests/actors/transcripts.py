"""The texts of ../shared/transcripts, read where they are."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2].parent / "shared" / "transcripts"
HERE = FOLDER.is_dir()
_SHORT = 400


def messages() -> Iterator[dict[str, Any]]:
    for path in sorted(FOLDER.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def short_calls() -> Iterator[str]:
    """Yield the arguments of calls, and results, that are short, as JSON or as they are."""
    for message in messages():
        calls: list[dict[str, Any]] = message.get("calls") or []
        texts = [json.dumps([call["name"], call["args"]]) for call in calls]
        yield from (text for text in texts if len(text) <= _SHORT)
        if message["role"] == "tool" and 0 < len(message.get("text") or "") <= _SHORT:
            yield message["text"]
