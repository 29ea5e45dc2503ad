"""The machine code of kernels: how often each instruction is executed, and for which line."""

from .executions import DataLoop, FunctionExecutions, KernelCode, count_kernels
from .launches import LaunchError, find_launch
from .lines import document_line, generated_line

__all__ = [
    "DataLoop",
    "FunctionExecutions",
    "KernelCode",
    "LaunchError",
    "count_kernels",
    "document_line",
    "find_launch",
    "generated_line",
]
