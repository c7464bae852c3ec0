"""The four behaviours, chosen by the payloads a task has shown, never by the tool list.

Rule 1: the mode is that of the largest of the last 20 payloads, this one included.
Rule 2: a payload above `stub_above` tokens is answered with a stub and a ref.
"""

from collections.abc import Iterable

from msgspec import Struct


class Mode(Struct, frozen=True):
    """One row; `manifest_every` counts observes, 0 is never."""

    name: str
    payloads_up_to: int
    stub_above: int
    manifest_every: int
    manifest_on_plan: bool


_NEVER = 1 << 60

MODES = (
    Mode("bystander", 400, _NEVER, 0, manifest_on_plan=False),
    Mode("light", 1_200, 600, 0, manifest_on_plan=True),
    Mode("standard", 8_000, 600, 10, manifest_on_plan=True),
    Mode("full", _NEVER, 400, 5, manifest_on_plan=True),
)


def mode_of(payloads: Iterable[int]) -> Mode:
    """Return the mode for payload sizes in tokens."""
    largest = max(payloads, default=0)
    for mode in MODES:
        if largest <= mode.payloads_up_to:
            return mode
    return MODES[-1]
