"""In-core time: the clocks of a loop nest on one core, with all data in L1.

The time is that of the busiest port or of the longest dependency chain, as in OSACA and llvm-mca.
Where LLVM has compiled the kernel, its instructions are executed on a model of the core.
"""

from .core_time import CoreTime, time_core
from .executed_time import executed_core_times

__all__ = ["CoreTime", "executed_core_times", "time_core"]
