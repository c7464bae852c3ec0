"""Reports of tasks as files: ID.json and ID.md, replaced whole."""

import json
import os
from pathlib import Path

from osiris.core import reporting
from osiris.core.task_state import TaskState


def write(folder: Path, state: TaskState) -> None:
    """Write both reports of a task. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps(reporting.figures(state), indent=2, ensure_ascii=False) + "\n"
    _replace(folder / f"{state.task}.json", text)
    _replace(folder / f"{state.task}.md", reporting.markdown(state))


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8", newline="\n")
    fresh.chmod(0o600)
    fresh.replace(path)
