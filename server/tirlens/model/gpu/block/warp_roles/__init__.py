"""Warp roles: parts of a block that different warps execute at the same time (specialisation).

`roles` finds the roles of a body, `program_builder` makes the program of each from the kernel's
tree (`warp_program`), and `simulation` executes the programs side by side up to the last barrier.

Input: siblings of the kernel's tree, and the time of code without synchronisation (`RoleCosts`).
Output: their times, or None where the roles do not synchronise (`simulate_roles`).
"""

from .program_builder import RoleCosts
from .roles import concurrent_groups, divides_warps, simulate_roles

__all__ = ["RoleCosts", "concurrent_groups", "divides_warps", "simulate_roles"]
