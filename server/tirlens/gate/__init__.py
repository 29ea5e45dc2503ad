"""The effect of a change of the source on its kernels, and whether the limits allow it."""

from tirlens.gate.changed_lines import ChangedLine
from tirlens.gate.growth_limits import Limits, limits_of, noise_s
from tirlens.gate.kernel_changes import Change, changes, with_moves
from tirlens.gate.reasons import reasons
from tirlens.gate.shared_calls import NO_CALLS, LackingCalls, lacking_calls, with_calls, with_only

__all__ = [
    "NO_CALLS",
    "Change",
    "ChangedLine",
    "LackingCalls",
    "Limits",
    "changes",
    "lacking_calls",
    "limits_of",
    "noise_s",
    "reasons",
    "with_calls",
    "with_moves",
    "with_only",
]
