"""The effect of a change of the source on its kernels, and whether the limits allow it."""

from tirlens.gate.causes import Cause, causes
from tirlens.gate.changed_lines import ChangedLine
from tirlens.gate.code_changes import CodeChange, TextChange, code_change
from tirlens.gate.differences import Difference, difference
from tirlens.gate.growth_limits import Limits, limits_of, noise_s
from tirlens.gate.kernel_changes import Change, changes, with_moves
from tirlens.gate.reasons import FigureChange, figure_changes, reasons
from tirlens.gate.shared_calls import NO_CALLS, LackingCalls, lacking_calls, with_calls, with_only

__all__ = [
    "NO_CALLS",
    "Cause",
    "Change",
    "ChangedLine",
    "CodeChange",
    "Difference",
    "FigureChange",
    "LackingCalls",
    "Limits",
    "TextChange",
    "causes",
    "changes",
    "code_change",
    "difference",
    "figure_changes",
    "lacking_calls",
    "limits_of",
    "noise_s",
    "reasons",
    "with_calls",
    "with_moves",
    "with_only",
]
