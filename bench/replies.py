"""The largest typical reply of each tool, from the real decisions on a grown task."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from osiris.core import events as ev
from osiris.core import replies
from osiris.core.commands import Checkpoint, Command, Handoff, Observe, Plan, Precheck
from osiris.core.decide import decide
from osiris.core.decision import Facts, Payload
from osiris.core.errors import Refusal
from osiris.core.handoff import Contract
from osiris.core.index import CallEntry, RefEntry
from osiris.core.invariant_ruling import Ruling
from osiris.core.invariants import Finding
from osiris.core.loop_call import Call, see
from osiris.core.manifest import manifest
from osiris.core.memory import Entry
from osiris.core.task_state import TaskState, apply

Count = Callable[[str], int]

STEPS = tuple(f"step {n}: look at module {n} and mend what the tests name there" for n in range(9))
FACTS = Facts(now_ms=1, agent="claude-code-3fa2", nonce="n" * 32, project="p", host="codex")
TEXT = "use the profile of the current host; never edit the machine-wide one, it is managed"
SEEN = CallEntry("7c3f90d1", "claude-code-81bc", 1, "ab" * 32, ok=True, tool="Read")
PINNED = tuple(
    Entry("decision", f"d{n}", TEXT, FACTS.agent, 1, "task/7c3f90d1", n) for n in range(40)
)

GOAL = "read the loader's modules, find which of them cost most at start, and say why, with refs"
CHECKS = ("schema", "file:reports/loader.json")
OFFERED = Contract("h1f2e3d4c", "7c3f90d1", "any", GOAL, checks=CHECKS, schema="{}")
HELD = Contract("h1f2e3d4c", "7c3f90d1", "any", GOAL, status="running", child="99aa88bb")
INPUTS = tuple(
    RefEntry(f"{n:02x}" * 32, 99_999, 25_999, "Bash", "result", 1, "ana") for n in range(9)
)

FORBIDDEN = Ruling((
    Finding(
        "no-edit-of-the-settings-loader",
        "block",
        f"{TEXT}; {TEXT}",
        f"the rule is for src/{'settings/' * 10}loader.py",
        "ask a person to allow it: osiris approve no-edit-of-the-settings-loader --task 7c3f90d1"
        " --for 10m",
    ),
))  # fmt: skip
BROKEN = Ruling(trouble=Refusal("bad_rules", f".osiris/invariants.toml line 12, {TEXT}", TEXT))

# tool -> commands whose replies are measured, with what the facts hold
SCRIPT: tuple[tuple[str, Command, dict[str, object]], ...] = (
    ("plan", Plan("update", step=1), {}),
    ("plan", Plan("update", steps=STEPS[:8]), {"seal": 1}),
    ("plan", Plan("update", constraints=(TEXT,)), {"seal": None}),
    ("plan", Plan("status"), {}),
    ("resume", Plan("resume"), {"memory": PINNED}),
    ("resume", Checkpoint("resume"), {"memory": PINNED}),
    ("precheck", Precheck("Read", args={"path": "a.py"}), {}),
    ("precheck", Precheck("Bash", args={"command": "ls"}, seal="x"), {"seal": 1}),
    ("verdict", Precheck("Read", args={"path": "b.py"}), {"seen": SEEN}),
    ("verdict", Precheck("Bash", seal="0" * 16), {"seal": None}),
    ("verdict", Precheck("Edit", args={"path": "a.py"}), {"ruling": FORBIDDEN}),
    ("verdict", Precheck("Edit", args={"path": "a.py"}), {"ruling": BROKEN}),
    ("observe", Observe("action", tool="Bash", args={"command": "ls"}, ok=True), {"seal": 1}),
    ("observe", Observe("decision", text=TEXT), {"seal": 1}),
    ("observe", Observe("lesson", text=TEXT), {}),
    ("observe", Observe("action", tool="Bash", result="x"), {"payload": "result"}),
    ("observe", Observe("action", tool="Read", path="x"), {"payload": "path"}),
    ("checkpoint", Checkpoint("snapshot", id="before-the-move"), {}),
    ("checkpoint", Checkpoint("report"), {}),
    ("handoff", Handoff("offer", to="claude-code-81bc", goal=GOAL, checks=CHECKS), {}),
    ("handoff", Handoff("accept", contract="h1f2e3d4c"), {"contract": OFFERED, "inputs": INPUTS}),
    ("handoff", Handoff("return", contract="h1f2e3d4c"), {"contract": HELD, "acting": "99aa88bb"}),
    ("handoff", Handoff("cancel", contract="h1f2e3d4c"), {"contract": HELD}),
)


def measure(count: Count) -> tuple[int, dict[str, int]]:
    """Return (tokens of the manifest, tokens of the largest reply by tool)."""
    state = _grown()
    largest: dict[str, int] = {}
    for tool, command, given in SCRIPT:
        tokens = count(_proper(tool, state, command, given))
        largest[tool] = max(tokens, largest.get(tool, 0))
    return count(manifest(state)), largest


def _proper(tool: str, state: TaskState, command: Command, given: dict[str, object]) -> str:
    """Return what the budget is about: the reply without stub, manifest and data block."""
    given = dict(given)
    door = given.pop("payload", None)
    payload = None if door is None else _payload(str(door))
    facts = replace(FACTS, **given, payload=payload, task=state.task)
    found = replies.parts(decide(state, command, facts).reply)
    return "\n".join(found.values()) if tool == "resume" else found["reply"]


def _grown() -> TaskState:
    state = TaskState()
    for event in _life():
        state = apply(state, ev.Stamped(1_800_000_000_000, FACTS.agent, event))
    return state


def _life() -> Iterator[ev.Event]:
    yield ev.TaskStarted("7c3f90d1", "move the settings loader to the new profile format", "p")
    yield ev.PlanSet(STEPS)
    for number in range(40):
        yield ev.DecisionPinned(f"d{number}", TEXT)
        call = Call("Bash", {"command": f"make part{number}"}, f"built {number}", True, number)
        yield ev.ActionObserved(see(call), ok=True)
        yield ev.RefStored(f"{number:02x}" * 32, 40_000, 9_999, "exact", "Bash", "path")
        yield ev.KeptOut(f"{number:02x}" * 32, "receipt", "shell", 9_999)
        yield ev.Charged({"reply": 4_000, "arguments": 900, "stub": 1_200}, 30)


def _payload(door: str) -> Payload:
    return Payload("ab" * 32, 99_999, 99_999, 25_999, "exact", "stub", door)
