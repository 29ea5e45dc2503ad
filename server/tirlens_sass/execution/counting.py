"""How often the threads of a block execute each instruction.

The instructions on which control flow depends are executed for sampled blocks (`slicing`,
`semantics`), all threads at once, and each basic block counts the warps that enter it. Threads that
branch apart join again at the immediate postdominator of the branch, as a stack of masks does it
in hardware (Fung et al., "Dynamic Warp Formation and Scheduling for Efficient GPU Control Flow",
MICRO 2007).

A branch may depend on data, which is not known:

- a loop whose end depends on data is left after one iteration, and what it contains is marked;
- of a branch to the slow path of a library's function (division, range reduction) the usual side is
  taken;
- of any other branch both sides are taken, and what they contain is marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..listing import Function
from .launch import Launch, constant_bank
from .results import Executions
from .slicing import find_slice
from .threads import Sample, ThreadState
from .walk import Machine

#: Elements of a sample (see `threads.Sample`).
_MOST_ELEMENTS = 1 << 13
# Special registers and opcodes by which the threads of a block differ.
_BY_LANE = ("SR_TID", "SR_LANEID", "SR_LANE", "SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK")
_LANE_OPCODES = frozenset(("ELECT", "SHFL"))
# Indices of blocks and of clusters.
_BLOCK = "SR_CTAID."
_BY_BLOCK = ("SR_CLUSTER", "SR_CgaCtaId", "SR_CGA")


@dataclass(frozen=True)
class KernelExecutions:
    """The executions of the instructions of a kernel and of its subroutines, by function.

    `is_exact` is false where blocks differ and not all of them were evaluated.
    """

    by_function: Mapping[str, tuple[Executions, ...]]
    is_exact: bool


def count_executions(
    kernel: Function, subroutines: Sequence[Function], launch: Launch, architecture: str
) -> KernelExecutions:
    """The executions of each instruction in a launch.

    Raises
    ------
    EvaluationError
        The control flow takes too many steps, or has branches whose targets are not known.
    """
    functions = {one.name: one for one in (kernel, *subroutines)}
    members = find_slice(tuple(functions.values()))
    by_lane, axes = _differences(functions, members)
    sample = Sample(launch, _MOST_ELEMENTS, by_lane, axes)
    state = ThreadState(sample, constant_bank(launch, architecture))
    machine = Machine(functions, members, sample, state)
    with np.errstate(all="ignore"):
        machine.call(kernel.name, sample.active)
    found = {name: machine.walks[name].result() for name in functions}
    return KernelExecutions(found, sample.is_complete)


def _differences(
    functions: Mapping[str, Function], members: Mapping[str, frozenset[int]]
) -> tuple[bool, frozenset[str]]:
    """Whether threads may execute different instructions, and the axes of the grid in which blocks
    may."""
    by_lane = False
    axes: set[str] = set()
    for name, function in functions.items():
        for index in members[name]:
            one = function.instructions[index]
            text = one.operands[1].text if one.name in ("S2R", "S2UR", "CS2R") else ""
            by_lane = by_lane or one.name in _LANE_OPCODES or text.startswith(_BY_LANE)
            if text.startswith(_BLOCK):
                axes.add(text[-1])
            elif text.startswith(_BY_BLOCK):
                axes.update("XYZ")
    return by_lane, frozenset(axes)
