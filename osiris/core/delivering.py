"""What is stored of a payload, and what the agent gets in its place.

Rule 1: a payload is stored whole; the reply carries a stub when the mode says so, the text itself
        when it came by path and is short, and nothing when the agent had it already.
Rule 2: kept out by receipt is what OSIRIS itself delivered as a stub, once per task and ref.
Rule 3: in mode full what may leave the prompt is named with each manifest that is due.
"""

from osiris.core import checkpointing, drift, ledger, plain, refs
from osiris.core import events as ev
from osiris.core.decision import Facts, Payload
from osiris.core.manifest import manifest
from osiris.core.modes import Mode, mode_of
from osiris.core.prompt_state import ARGUMENT
from osiris.core.replies import Block, Reply
from osiris.core.task_state import TaskState

DEAR_ARGUMENT_TOKENS = 300
DELIVERED = ("path", "pipe")


def stored(tool: str, payload: Payload, facts: Facts) -> tuple[ev.Event, ...]:
    if facts.ref is not None:
        return ()
    ref = ev.RefStored(
        payload.sha256,
        payload.size,
        payload.tokens,
        payload.method,
        tool,
        payload.door,
        payload.redacted,
        payload.path,
    )
    kept = kept_out(tool, payload, facts)
    return (ref, kept) if kept.tokens else (ref,)


def kept_out(tool: str, payload: Payload, facts: Facts) -> ev.KeptOut:
    """Return what the stub of a payload that OSIRIS read itself kept from the model."""
    tokens = 0
    if payload.door in DELIVERED and not is_verbatim(payload, mode_of((payload.tokens,))):
        tokens = ledger.shown_anyway(payload.tokens, payload.characters, facts.host, tool)
    return ev.KeptOut(payload.sha256, "receipt", ledger.source(tool), tokens)


def is_verbatim(payload: Payload, mode: Mode) -> bool:
    """Say whether a payload that only OSIRIS has read is short enough to be handed on whole."""
    return payload.door in DELIVERED and payload.tokens <= mode.stub_above


def answer(state: TaskState, mode: Mode, facts: Facts) -> Reply:
    payload = facts.payload
    warning = drift.pairs(state, facts)
    shown = manifest(state) if drift.is_unknown(facts) or _manifest_is_due(state, mode) else ""
    if payload is None:
        return Reply((("ok", ""), *warning), manifest=shown)
    own = mode_of((payload.tokens,))
    if mode.name == "bystander" and payload.door != "path":
        return Reply((("ok", ""), *warning), manifest=shown)
    pairs = (
        ("ok", ""),
        ("ref", refs.short(payload.sha256)),
        ("tokens", str(payload.tokens)),
        *(() if facts.ref is None else (("known", "yes"),)),
        *warning,
    )
    if is_verbatim(payload, own):
        block = Block(refs.short(payload.sha256), payload.text)
        return Reply(pairs, _notes(state, mode, facts), manifest=shown, block=block)
    stub = payload.stub if payload.tokens > mode.stub_above or payload.door == "path" else ""
    return Reply(pairs, _notes(state, mode, facts), stub=stub, manifest=shown)


def _notes(state: TaskState, mode: Mode, facts: Facts) -> tuple[str, ...]:
    found, payload = list[str](), facts.payload
    if payload and payload.door == ARGUMENT and payload.tokens > DEAR_ARGUMENT_TOKENS:
        found.append("cheaper: path= or `| osiris put`")
    advice = checkpointing.advice(state, facts) if _is_prune_due(state, mode) else ""
    if advice:
        found.append(advice)
    elif mode.name in ("standard", "full"):
        following = next((s.text for s in state.steps if not s.done), "")
        if following:
            found.append(f"next: {plain.one_line(following, 40)}")
    return tuple(found)


def _is_prune_due(state: TaskState, mode: Mode) -> bool:
    return mode.name == "full" and _manifest_is_due(state, mode)


def _manifest_is_due(state: TaskState, mode: Mode) -> bool:
    every = mode.manifest_every
    return bool(every) and state.actions % every == 0
