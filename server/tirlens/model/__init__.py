"""The cost model: pure functions from facts, a device and bindings to a report."""

from .analyze import SPILLS, analyze, counts_of
from .counting.counted import Counted, count_all

__all__ = ["SPILLS", "Counted", "analyze", "count_all", "counts_of"]
