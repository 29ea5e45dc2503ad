"""The cost model: pure functions from facts, a device and bindings to a report."""

from .analyze import SPILLS, analyze, workload_of
from .workload import Workload, count_workload

__all__ = ["SPILLS", "Workload", "analyze", "count_workload", "workload_of"]
