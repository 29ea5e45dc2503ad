"""Occupancy: the resources that a block takes, and how many blocks are resident on an SM.

A block takes threads, shared memory and registers of its SM, which bounds the number of resident
blocks.

Input: the tree of a kernel, its counts and what the compiler makes of it.  Output:
`BlockOccupancy` (`block_occupancy`).
"""

from .occupancy import BlockOccupancy, BlockResources, block_occupancy

__all__ = ["BlockOccupancy", "BlockResources", "block_occupancy"]
