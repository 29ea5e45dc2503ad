"""Block: how many blocks are resident on an SM, and the time of one block.

A block takes threads, shared memory and registers of its SM, which bounds the number of resident
blocks (`block_occupancy`).  Its time follows from the busy time of the SM's units, the latencies
that the code of its warps exposes, software pipelines, asynchronous copies and matrix products, and
the barriers at which specialised warps wait for each other (`time_block`).

Input: the kernel's tree with thread mapping, instructions, traffic and busy times of its
statements, the device and the number of blocks.  Output: `BlockOccupancy` and `BlockTime`.
"""

from .block_record import BlockRecord
from .block_time import BlockTime, time_block
from .occupancy import BlockOccupancy, BlockResources, block_occupancy

__all__ = [
    "BlockOccupancy",
    "BlockRecord",
    "BlockResources",
    "BlockTime",
    "block_occupancy",
    "time_block",
]
