"""How long a warp takes for each of its instructions, as the compiler has scheduled them."""

from .latencies import SCHEDULERS, Latencies
from .warp import InstructionTime, WarpTimes, time_warps

__all__ = ["SCHEDULERS", "InstructionTime", "Latencies", "WarpTimes", "time_warps"]
