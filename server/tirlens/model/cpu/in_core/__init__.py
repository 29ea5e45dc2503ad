"""In-core time: the clocks of a loop nest on one core, with all data in L1.

The time is that of the busiest port or of the longest dependency chain, as in OSACA and llvm-mca.
"""

from .core_time import CoreTime, time_core

__all__ = ["CoreTime", "time_core"]
