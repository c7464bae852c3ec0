"""The stable codes: what the caller did, what to do instead.

Rule 1: a refusal is a value. It carries a code of this table, what was wrong, and the fix.
Rule 2: codes are never renamed or reused; the README's table is generated from this one.
Rule 3: a guard's denial is an answer, not an error; `is_error` says which.
Rule 4: a refusal is one line: what a caller wrote is repeated without characters that paint.
"""

import msgspec

from osiris.core import plain

WHAT = 1_000

# code -> what it means to the caller
CODES: dict[str, str] = {
    "bad_json": "the line is no JSON in UTF-8, or holds NaN, a lone surrogate or a huge number",
    "bad_request": "the JSON is no JSON-RPC 2.0 request (batch, null id, missing method)",
    "bad_hello": "the first line of the connection is no valid hello, or lacks the token",
    "line_too_long": "a line was longer than 8 MiB",
    "too_deep": "nested deeper than 64 levels or more than 100,000 items",
    "duplicate_key": "an object names the same key twice",
    "unknown_tool": "no such tool",
    "missing_argument": "a required argument is absent",
    "unknown_argument": "an argument this tool does not have",
    "bad_argument": "an argument has the wrong type or value",
    "no_task": "no task named and none bound to this connection",
    "unknown_task": "no such task",
    "ambiguous_task": "the prefix fits several tasks",
    "unknown_ref": "no such ref in reach of this task",
    "unknown_entry": "no such entry of memory in a nearer scope",
    "unknown_seal": "the seal is neither the current one nor an ancestor",
    "objective_immutable": "a task's objective cannot change",
    "pinned_rewrite": "a pinned item was given another text",
    "task_closed": "the task is finished",
    "key_reused": "the key was used for another command",
    "key_expired": "the key is older than 24 hours",
    "payload_too_large": "a payload is above the limit",
    "binary_file": "the file is not text",
    "outside_roots": "the path is outside the roots of this connection",
    "no_roots": "this connection may read no files",
    "not_a_file": "the path is no regular file",
    "not_found": "the path does not exist",
    "bad_pattern": "RE2 does not take the pattern",
    "bad_range": "the range is empty or reversed",
    "bad_rules": "the invariants file cannot be used; the last good rules hold",
    "bad_prices": "the user's price file cannot be used; the built-in prices hold",
    "invariant": "a rule of the project forbids the call; the reply names it and the way out",
    "invariants_failed": "the rules of the project could not be judged, so the call is denied",
    "unknown_rule": "the rules of the project have no such rule",
    "unknown_check": "the rules of the project have no such check or state",
    "not_a_terminal": "this command is for a person at a terminal",
    "bad_cursor": "the cursor does not belong to this query",
    "not_yet": "this part of OSIRIS is not built yet",
    "busy": "a queue is full; nothing was done",
    "timeout": "the answer took too long; the outcome is known by the same key",
    "conflict": "others changed the same state too often",
    "storage_full": "the disk or the map is full; nothing was stored",
    "storage_error": "the store failed; nothing was acknowledged",
    "store_damaged": "a stored record does not match its checksum",
    "quarantined": "this task crashed three times in a minute and is held",
    "actor_died": "the actor failed on this command and was reloaded",
    "owner_died": "the owner died twice during this call",
    "no_owner": "no owner could be reached or started",
    "unknown_contract": "no such contract",
    "contract_state": "the contract's state does not allow this move",
    "contract_depth": "contracts are nested three deep at most",
    "contract_cycle": "the same goal is already with the same agent further up",
    "not_holder": "this move is for the other side of the contract",
    "checks_failed": "an acceptance check did not pass",
    "schema_mismatch": "the result does not fit the contract's schema",
    "contract_closed": "another holder has this work now",
    "budget_exceeded": "the reservation would go over a ceiling",
}


class Refusal(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What a caller did wrong, as a reply that changes nothing."""

    code: str
    what: str
    fix: str
    is_error: bool = True

    def text(self) -> str:
        return f"error {self.code}: {plain.one_line(self.what, WHAT)} | fix: {self.fix}"
