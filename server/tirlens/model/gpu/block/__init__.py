"""Block: the time of one block on its SM.

It follows from the busy time of the SM's units, the latencies that the code of its warps exposes,
software pipelines, asynchronous copies and matrix products, and the barriers at which specialised
warps wait for each other.

Input: the kernel's tree, and what the stages before find of its statements (`BlockContext`).
Output: `BlockTime` (`time_block`).
"""

from .block_record import BlockRecord
from .block_time import BlockTime, time_block
from .throughput import BlockContext

__all__ = ["BlockContext", "BlockRecord", "BlockTime", "time_block"]
