"""Reads x86-64 assembly as LLVM prints it, and counts how often each instruction executes.

>>> from tirlens_x86 import read
>>> functions = read(LISTING)
>>> load = functions["scale"].instructions[3]
>>> load.mnemonic, load.operands, load.line
('vmulss', ('(%rdi,%rax,4)', '%xmm0', '%xmm1'), 7)
>>> load.memory
Memory(displacement=0, base='rdi', offset='rax', scale=4, symbol='')

`README.md` in this folder says what is read and how it is tested.
"""

from .calling import ArrayArgument, packed_call
from .control_flow import Block, FlowGraph, Loop, flow_graph
from .execution import UndecidedError, count_executions
from .listing import Function, Instruction, Memory, essential, read
from .operations import Kind, Operation, operation_of
from .results import FunctionCounts, ProgramCounts, Step, Trace

__all__ = [
    "ArrayArgument",
    "Block",
    "FlowGraph",
    "Function",
    "FunctionCounts",
    "Instruction",
    "Kind",
    "Loop",
    "Memory",
    "Operation",
    "ProgramCounts",
    "Step",
    "Trace",
    "UndecidedError",
    "count_executions",
    "essential",
    "flow_graph",
    "operation_of",
    "packed_call",
    "read",
]
