"""Memory: the cache lines and pages that one core transfers from each level, and their clocks.

Layer conditions decide which cache a line comes from; prefetching and misses in flight decide how
much of its latency is exposed.
"""

from .transfer_time import TransferTime, time_transfers

__all__ = ["TransferTime", "time_transfers"]
