"""The effect of a change of the source on its kernels, and whether the limits allow it."""

from tirlens.gate.growth_limits import Limits, limits_of
from tirlens.gate.kernel_changes import Change, changes
from tirlens.gate.reasons import most_grown_line, reasons

__all__ = ["Change", "Limits", "changes", "limits_of", "most_grown_line", "reasons"]
