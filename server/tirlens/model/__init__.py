"""The cost model: pure functions from facts, a device and bindings to a report."""

from .analyze import analyze, workload_of
from .workload import Workload, count_workload

__all__ = ["Workload", "analyze", "count_workload", "workload_of"]
