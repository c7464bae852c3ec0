"""Every command there is: its section in the help, its one line, and where it is.

Rule 1: a command is loaded when it is used, so that `osiris --version` loads none.
Rule 2: a command without a place is not built yet and says so, with exit code 3.
"""

from typing import NamedTuple


class Entry(NamedTuple):
    """`place` is module:attribute; empty for a command that is not built yet."""

    section: str
    help: str
    place: str = ""


LOOK, TEXT, KEEP, RUN, LATER = "Look", "Texts", "Keep", "Run", "Not built yet"

COMMANDS: dict[str, Entry] = {
    "health": Entry(LOOK, "Is everything in order?", "osiris.cli.health:health"),
    "tasks": Entry(LOOK, "List the tasks of this project.", "osiris.cli.tasks:tasks"),
    "show": Entry(LOOK, "Show one task: plan, figures, manifest.", "osiris.cli.tasks:show"),
    "events": Entry(LOOK, "List the journal of a task or stream.", "osiris.cli.tasks:events"),
    "savings": Entry(LOOK, "Tokens kept out, overhead, net.", "osiris.cli.savings:savings"),
    "prices": Entry(LOOK, "What tokens cost, and who says so.", "osiris.cli.prices:prices"),
    "audit": Entry(LOOK, "Prove that nothing is lost.", "osiris.cli.audit:audit"),
    "put": Entry(TEXT, "Store what is piped in; print its stub.", "osiris.cli.payloads:put"),
    "get": Entry(TEXT, "Print a stored text, byte for byte.", "osiris.cli.payloads:get"),
    "grep": Entry(TEXT, "Search a stored text (RE2).", "osiris.cli.payloads:grep"),
    "verify": Entry(KEEP, "Look at every record for damage.", "osiris.cli.keep:verify"),
    "backup": Entry(KEEP, "Copy the store while it is in use.", "osiris.cli.keep:backup"),
    "restore": Entry(KEEP, "Put a backup in the store's place.", "osiris.cli.keep:restore"),
    "export": Entry(KEEP, "Write tasks as a bundle.", "osiris.cli.keep:export"),
    "serve": Entry(RUN, "Own the home until stopped or idle.", "osiris.cli.processes:serve"),
    "demo": Entry(RUN, "A real job in 10 seconds, offline.", "osiris.cli.processes:demo"),
    "config": Entry(RUN, "Show settings and their origins.", "osiris.cli.settings:config"),
    "invariants": Entry(RUN, "Check a project's rules.", "osiris.cli.invariants:invariants"),
    "approve": Entry(RUN, "Allow what a rule forbids, for a while.", "osiris.cli.approve:approve"),
    "metrics": Entry(LATER, "Print or serve the metrics."),
    "install": Entry(LATER, "Write OSIRIS into a client's settings."),
    "uninstall": Entry(LATER, "Take it out again."),
    "doctor": Entry(LATER, "Find what is wrong and name the fix."),
    "hook": Entry(LATER, "Answer a host's hook."),
    "wrap": Entry(LATER, "Stand between a client and another server."),
    "statusline": Entry(LATER, "One line for a host's status bar."),
    "top": Entry(LATER, "Watch tasks live."),
    "dashboard": Entry(LATER, "Watch tasks in a browser."),
}
