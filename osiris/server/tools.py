"""What a client is shown: six tools or one, and what to do with them.

Rule 1: schemas are written by hand and kept small: every connection that lists tools pays for
        them. `bench/footprint.py` holds the budgets.
Rule 2: roots are closed objects without combinators, defaults or formats, because some providers
        reject the whole request over one of them. Only `args` of the dispatch tool is open.
Rule 3: names are portable; the dotted spelling is a title, an alias, and a listing of its own.
Rule 4: understood but not listed: `key` everywhere, `cursor` of handoff.
"""

import json
from typing import Any, Literal

import msgspec

Flavour = Literal["portable", "dotted", "dispatch"]

OPERATIONS = ("plan", "precheck", "observe", "recall", "checkpoint", "handoff")
DISPATCH = "call"

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_OBJECT: Schema = {"type": "object"}
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}


class ToolSpec(msgspec.Struct, frozen=True):
    """One tool as it is listed; `name` is the operation without its prefix."""

    name: str
    description: str
    input_schema: Schema
    is_read_only: bool = False

    def listed_name(self, flavour: Flavour) -> str:
        return f"osiris.{self.name}" if flavour == "dotted" else f"osiris_{self.name}"

    @property
    def title(self) -> str:
        return f"osiris.{self.name}"


def _one_of(values: str) -> Schema:
    return {"type": "string", "enum": values.split()}


def _closed(required: str, properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [required],
        "additionalProperties": False,
    }


SIX = (
    ToolSpec(
        "plan",
        "Start or resume a durable task; returns its manifest",
        _closed(
            "mode",
            {
                "mode": _one_of("start update resume status"),
                "task": _TEXT,
                "objective": _TEXT,
                "steps": _TEXTS,
                "step": _NUMBER,
                "done": _FLAG,
                "constraints": _TEXTS,
                "pinned": _TEXTS,
                "agent": _TEXT,
                "budget": _TEXT,
                "query": _TEXT,
                "seal": _TEXT,
            },
        ),
    ),
    ToolSpec(
        "precheck",
        "Before an action: allowed, loop, duplicate?",
        _closed("tool", {"tool": _TEXT, "args": _OBJECT, "task": _TEXT, "seal": _TEXT}),
        is_read_only=True,
    ),
    ToolSpec(
        "observe",
        "Log actions, store large output, save memory",
        _closed(
            "kind",
            {
                "kind": _one_of(
                    "action decision constraint lesson fact state file head contract dropped usage"
                ),
                "task": _TEXT,
                "tool": _TEXT,
                "args": _OBJECT,
                "ok": _FLAG,
                "result": _TEXT,
                "path": _TEXT,
                "ref": _TEXT,
                "text": _TEXT,
                "id": _TEXT,
                "scope": _TEXT,
                "batch": _TEXT,
                "seal": _TEXT,
            },
        ),
    ),
    ToolSpec(
        "recall",
        "Grep, search stored output, files, memory",
        _closed(
            "op",
            {
                "op": _one_of("grep range head tail outline aggregate jsonl diff memory"),
                "task": _TEXT,
                "ref": _TEXT,
                "path": _TEXT,
                "q": _TEXT,
                "expr": _TEXT,
                "from": _NUMBER,
                "to": _NUMBER,
                "n": _NUMBER,
                "cursor": _TEXT,
                "seal": _TEXT,
            },
        ),
        is_read_only=True,
    ),
    ToolSpec(
        "checkpoint",
        "Save, resume, report task state",
        _closed(
            "mode",
            {
                "mode": _one_of("snapshot resume report compact trim clear"),
                "task": _TEXT,
                "id": _TEXT,
                "seal": _TEXT,
            },
        ),
    ),
    ToolSpec(
        "handoff",
        "Delegate work to another agent",
        _closed(
            "op",
            {
                "op": _one_of(
                    "offer accept decline beat input return verify reject cancel list wait"
                ),
                "task": _TEXT,
                "contract": _TEXT,
                "attempt": _NUMBER,
                "to": _TEXT,
                "goal": _TEXT,
                "inputs": _TEXTS,
                "budget": _TEXT,
                "checks": _TEXTS,
                "schema": _OBJECT,
                "result": _TEXT,
                "agent": _TEXT,
                "seal": _TEXT,
            },
        ),
    ),
)

ONE = (
    ToolSpec(
        DISPATCH,
        "op: plan, precheck, observe, recall, checkpoint, handoff",
        _closed("op", {"op": _TEXT, "args": _OBJECT}),
    ),
)

_INSTRUCTIONS = {
    "portable": """\
Call osiris_plan(mode=start, objective, steps) when a task begins that takes more than a few \
steps; after a restart or compaction call osiris_plan(mode=resume) first.
OSIRIS keeps task state, decisions and large tool output outside your context.
Carry the manifest it returns and send its SEAL with osiris_precheck and osiris_observe.
- osiris_precheck before a risky or repeated action
- osiris_observe after one: path= or ref= for large output, kind=decision or lesson to remember
- osiris_recall reads refs (mem://...) in part: op=grep, range, head, tail
- osiris_checkpoint before compaction; osiris_handoff to delegate
An error says how to fix the call.""",
    "dispatch": """\
Call osiris_call(op=plan, args={mode:start, objective}) when a longer task begins; mode:resume \
after a restart. observe logs output, recall greps refs. An error lists the arguments.""",
}


def specs(flavour: Flavour) -> tuple[ToolSpec, ...]:
    """Return what this flavour lists, in its order."""
    return ONE if flavour == "dispatch" else SIX


def instructions(flavour: Flavour) -> str:
    """Return what the model should know before it has loaded a schema."""
    if flavour == "dotted":
        text = _INSTRUCTIONS["portable"]
        for name in OPERATIONS:
            text = text.replace(f"osiris_{name}", f"osiris.{name}")
        return text
    return _INSTRUCTIONS[flavour]


def schemas_json(flavour: Flavour) -> str:
    """Return name, description and inputSchema of what is listed, as the model reads them."""
    listed = [
        {
            "name": spec.listed_name(flavour),
            "description": spec.description,
            "inputSchema": spec.input_schema,
        }
        for spec in specs(flavour)
    ]
    return json.dumps(listed, separators=(",", ":"))


def operation(name: str) -> str | None:
    """Return the operation that a tool's name means in any of its spellings, or None."""
    for prefix in ("osiris_", "osiris."):
        if name.startswith(prefix):
            found = name.removeprefix(prefix)
            return found if found in OPERATIONS or found == DISPATCH else None
    return None
