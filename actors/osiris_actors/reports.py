"""Reports of tasks as files: ID.json and ID.md, replaced whole."""

import json
import os
from pathlib import Path

from osiris.core import index, memory_index, reporting
from osiris.core.commands import Checkpoint, Command, Plan
from osiris.core.errors import Refusal
from osiris.core.memory import KINDS, Entry
from osiris.core.reporting import Material
from osiris.core.task_state import TaskState
from osiris_actors import listings
from osiris_actors.store.contract import Store


def is_due(command: Command) -> bool:
    """Say whether a report is to be written behind `command`: asked for, or the task is done."""
    match command:
        case Checkpoint(mode="report"):
            return True
        case Plan(mode="update", done=True, step=None):
            return True
        case _:
            return False


async def gathered(store: Store, state: TaskState) -> Material:
    """Return what the store knows of a task beside its state, oldest first."""
    stream = f"task/{state.task}"
    memory: list[Entry] = []
    for kind in KINDS:
        kept = listings.entries(store, f"mem/{stream}/{kind}/")
        memory += [memory_index.memory_entry(put.value) async for put in kept if put.value]
    puts = listings.entries(store, f"ref/{stream}/")
    refs = [index.ref_entry(put.value) async for put in puts if put.value]
    return Material(
        tuple(sorted(memory, key=lambda entry: entry.version)),
        tuple(sorted(refs, key=lambda ref: ref.at_ms)),
    )


def write(folder: Path, state: TaskState, found: Material) -> Refusal | None:
    """Write both reports of a task; return why they could not be."""
    text = json.dumps(reporting.document(state, found), indent=2, ensure_ascii=False) + "\n"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(folder / f"{state.task}.json", text)
        _replace(folder / f"{state.task}.md", reporting.markdown(state, found))
    except OSError as error:
        what = f"the report was not written: {error.strerror}"
        return Refusal("storage_error", what, "make room in reports/ of the home, then ask again")
    return None


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8", newline="\n")
    fresh.chmod(0o600)
    fresh.replace(path)
