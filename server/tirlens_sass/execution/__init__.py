"""How often each instruction of a kernel is executed in a launch, by executing its control flow."""

from .counting import KernelExecutions, count_executions
from .launch import Launch
from .results import Executions
from .walk import EvaluationError

__all__ = ["EvaluationError", "Executions", "KernelExecutions", "Launch", "count_executions"]
