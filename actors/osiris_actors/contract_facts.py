"""What the issuer's actor must know before it decides a handoff, read from the store.

Rule 1: a contract that has ended is read from the index, an open one from the state.
Rule 2: the assignee's state is read from its stream; no actor asks another task's.
"""

from msgspec.structs import replace

from osiris.core import budget, index, refs
from osiris.core.decision import Child
from osiris.core.handoff import Contract
from osiris.core.index import RefEntry
from osiris.core.task_state import TaskState, apply, from_snapshot, to_snapshot, with_costs
from osiris_actors.folded import Fold
from osiris_actors.store.contract import Store
from osiris_actors.stream import Stream, Tools

TASK_FOLD = Fold(TaskState(), apply, to_snapshot, from_snapshot)


async def contract_of(store: Store, state: TaskState, name: str) -> Contract | None:
    """Return a contract of the issuer `state` as it stands."""
    known = state.contracts.get(name)
    late = await store.get_index(f"contract.late/{name}")
    if known is not None:
        return replace(known, late="" if late is None else late.decode())
    found = await ended(store, name)
    return found if found is not None and found.task == state.task else None


async def ended(store: Store, name: str) -> Contract | None:
    """Return a contract from the index alone."""
    offered = await store.get_index(f"contract/{name}")
    moved = await store.get_index(f"contract.state/{name}")
    if offered is None or moved is None:
        return None
    held = await store.get_index(f"contract.child/{name}")
    late = await store.get_index(f"contract.late/{name}")
    child, holder = ("", "") if held is None else index.child_entry(held)
    at = index.moved_entry(moved)
    return replace(
        index.contract_entry(offered),
        status=at.status,
        attempt=at.attempt,
        why=at.why,
        result=at.ref,
        child=child,
        holder=holder,
        late="" if late is None else late.decode(),
    )


async def child_of(tools: Tools, contract: Contract | None) -> Child | None:
    """Return what the child's own stream says of it."""
    if contract is None or not contract.child:
        return None
    stream = Stream[TaskState](f"task/{contract.child}", TASK_FOLD, tools)
    await stream.load()
    state, due = stream.state, tools.charges.due_of(stream.name)
    state = state if due is None else with_costs(state, due)
    return Child(state.holder, state.version, budget.spent(state, tools.env.now_ms()))


async def inputs_of(
    store: Store, streams: tuple[str, ...], names: tuple[str, ...]
) -> tuple[tuple[RefEntry, ...], str]:
    """Return (the refs that `names` mean in `streams`, the first name that means none)."""
    found: list[RefEntry] = []
    for name in names:
        entry = await _ref(store, streams, name)
        if entry is None:
            return tuple(found), name
        found.append(entry)
    return tuple(found), ""


async def _ref(store: Store, streams: tuple[str, ...], name: str) -> RefEntry | None:
    digits = refs.parse(name)
    for stream in streams if digits else ():
        puts = await store.index(f"ref/{stream}/{digits}", limit=2)
        if len(puts) == 1 and puts[0].value is not None:
            return index.ref_entry(puts[0].value)
    return None
