"""What an execution yields: how often blocks execute, and traces of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tirlens_x86.control_flow import FlowGraph
from tirlens_x86.listing import Function, Instruction


class Step(NamedTuple):
    """An instruction of a trace: its function and block, and the address that it accesses.

    `amount` is the number of bytes that a call of ``memset`` or ``memcpy`` writes.
    """

    function: str
    block: int
    instruction: Instruction
    address: int | None
    amount: int


#: Instructions in the order of their execution.
Trace = tuple[Step, ...]


@dataclass(frozen=True)
class FunctionCounts:
    """Executions in one call of the program.

    Attributes
    ----------
    function, graph
        The function, with its blocks and loops.
    executions
        Of each block.
    entries
        How often each loop is entered from outside, by its header.
    traces
        What is executed from the first entry of an innermost loop on, by its header.
    """

    function: Function
    graph: FlowGraph
    executions: tuple[int, ...]
    entries: Mapping[int, int]
    traces: Mapping[int, Trace]


@dataclass(frozen=True)
class ProgramCounts:
    """The functions that a call executes; `unknown_branches` are those that data decide."""

    functions: tuple[FunctionCounts, ...]
    unknown_branches: int
