"""The sealed manifest: byte-identical for identical committed state, at most 120 tokens.

Rule 1: no clock, no age, no counter that moves without a commit.
Rule 2: every value is one word or a quoted, escaped line.
Rule 3: the objective gets 80 characters, and no more than 80 bytes: what is not ASCII costs a model
        up to three tokens a character, and the rest of the manifest costs about 60.
"""

from osiris.core import budget, plain
from osiris.core.task_state import TaskState

OBJECTIVE_CHARACTERS = 80


def manifest(state: TaskState) -> str:
    objective = plain.quoted(_fitting(state.objective), OBJECTIVE_CHARACTERS)
    plan = f"{state.steps_done}/{len(state.steps)}"
    return (
        f"OSIRIS/1 task={state.task} obj={objective} plan={plan}\n"
        f"inv={state.constraints} files={state.files} refs={state.refs}"
        f" dec={state.decisions} budget={budget.standing(state)[0]}\n"
        f"SEAL=sha256:{state.seal}"
    )


def _fitting(objective: str) -> str:
    data = objective[: OBJECTIVE_CHARACTERS + 1].encode("utf-8", "replace")
    if objective.isascii() or len(data) <= OBJECTIVE_CHARACTERS:
        return objective
    return data[: OBJECTIVE_CHARACTERS - 3].decode("utf-8", "ignore") + "…"
