"""Thread mapping: which lanes of which warps touch which addresses.

Input: the facts and counts of a kernel.  Output: its tree of cost nodes, with the threads that
execute each statement, the vectors that each of them moves, and the request of a warp for each
access: the lanes' addresses, and the sectors, lines and banks that they touch.  Of the device only
the warp size is known.
"""

from .lane_offsets import element_offsets
from .memory_requests import memory_request
from .tree import map_threads

__all__ = ["element_offsets", "map_threads", "memory_request"]
