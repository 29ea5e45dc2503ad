"""How long one core computes, with all data in L1: ports, chains of dependent results, calls.

After the in-core part of the Execution-Cache-Memory model (Stengel, Treibig, Hager, Wellein:
"Quantifying Performance Bottlenecks of Stencil Computations Using the ECM Model", ICS 2015): each
kind of instruction has a throughput, and a chain of dependent ones a latency that overlaps with
what the reorder buffer holds beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tirlens.hardware.cpu_core import CpuCore
from tirlens.hardware.spec import Device

from ..compiler.loop_nests import Nest
from ..compiler.statements import inner
from ..compiler.vector_width import SINGLE, Width, rates_of, width_of
from ..compiler.vectorization import gaps
from .arithmetic import computed
from .dependency_chains import INTEGER_CLK, chains, returning
from .load_store import ports

# Clocks of a single element, relative to a vector's (uops.info: ``vdivss`` 3, ``vdivps`` of eight
# 5).
SCALAR_DIVIDE = 0.6
# Entering a loop, which ends with a branch that is foretold wrongly now and then, and what one that
# runs in vectors takes beside: looked at.
ENTRY_CLK = 4.0
VECTOR_ENTRY_CLK = 1.0
# LoopVectorize.cpp, epilogue-vectorization-minimum-VF: what is left of vectors of so many elements
# runs in vectors, too.
LONG_VECTOR = 16


@dataclass
class CoreTime:
    """Clocks of one nest over all its executions, by what is busy, and its instructions."""

    arithmetic: float = 0.0
    memory: float = 0.0
    issue: float = 0.0
    chain: float = 0.0
    calls: float = 0.0
    entries: float = 0.0
    instructions: float = 0.0
    by_leaf: dict[int, float] = field(default_factory=dict[int, float])

    @property
    def busy(self) -> float:
        """Clocks for which a unit is busy, whatever waits for each other meanwhile."""
        return max(self.arithmetic, self.memory, self.issue) + self.calls


def core_time(nest: Nest, device: Device, share: float) -> CoreTime:
    """The time of a nest on one core that has `share` of its executions."""
    core = device.cpu
    assert core is not None
    out = CoreTime()
    instructions = runs = 0.0
    for leaf in nest.leaves:
        width = width_of(leaf, nest, device)
        through = ports(leaf, nest, width, device)
        vectors, divisions, calls = computed(leaf, nest)
        count = leaf.turns(nest.loop, nest.vectorised) * share
        steps = count / width.elements
        compute = rates_of(width, core).arithmetic_clk
        if not (leaf.floating or width.wide):
            compute *= core.integer_clk / core.arithmetic_clk
        arithmetic = steps * width.registers * vectors * compute
        arithmetic += steps * divisions * width.registers * _division(width, core)
        # The operations of one statement mostly wait for each other, in the scheduler.
        latency = core.latency_clk if leaf.floating else INTEGER_CLK
        waiting = vectors * latency * vectors / core.scheduler
        arithmetic = max(arithmetic, steps * width.registers * waiting)
        memory = through.clk * share
        moved = through.moves * share + steps * width.registers * (vectors + divisions)
        called = count * calls * core.call_clk
        out.memory += memory
        out.arithmetic += arithmetic
        out.calls += called
        instructions += moved
        out.by_leaf[id(leaf.item)] = max(memory, arithmetic) + called
        each = inner(leaf) * (width.elements if nest.vectorised else 1)
        runs = max(runs, count / max(each, 1))
    out.instructions = instructions
    out.issue = instructions / device.issue_per_clk_per_sm
    if runs:
        on, alone = chains(nest, device)
        each = instructions / runs
        out.chain = runs * max(
            on / _overlap(nest, each, core.window, True),
            alone / _overlap(nest, each, core.window, False),
        )
    _entries(out, nest, share, device)
    out.chain = max(out.chain, _entered(nest) * share * returning(nest, device))
    return out


def _division(width: Width, core: CpuCore) -> float:
    """Clocks of one division, whose unit is as wide as those for multiply-adds, or half."""
    if width.elements == 1:
        return SCALAR_DIVIDE * core.divide_clk
    if width.kind == "narrow":
        return core.divide_clk * core.narrow_arithmetic_clk / core.arithmetic_clk
    return core.divide_clk * (2 if width.wide else 1)


def _overlap(nest: Nest, instructions: float, window: int, on: bool) -> float:
    """How many chains run at once: those of the iterations or entries that the window holds.

    They are of entries where a chain goes `on` from one iteration to the next.
    """
    if nest.vectorised or not on:
        return max(1.0, window / max(instructions, 1.0))
    return max(1.0, window / max(instructions * nest.trips * _continued(nest), 1.0))


def _continued(nest: Nest) -> int:
    """How many entries of a nest's loop add to the same sum, one after the other."""
    sums = [write for leaf in nest.leaves for write in leaf.writes if leaf.reads_back(write)]
    entries = 1
    for loop in reversed(nest.outer):
        if any(loop.var in write.variables for write in sums):
            break
        entries *= loop.extent or 1
    return entries if sums else 1


def _entries(out: CoreTime, nest: Nest, share: float, device: Device) -> None:
    """What it takes to enter the nest's loop: set-up, and the iterations left of vectors."""
    if nest.loop is None or not nest.leaves:
        return
    core = device.cpu
    assert core is not None
    leaf = max(nest.leaves, key=lambda leaf: leaf.executions)
    entries = _entered(nest) * share
    if not nest.vectorised:
        out.entries += entries * ENTRY_CLK
        return
    width = width_of(leaf, nest, device)
    halves, left = left_over(nest, int(width.elements))
    alone = replace(nest, vectorised=False)
    single = sum(ports(leaf, alone, SINGLE, device).clk for leaf in nest.leaves)
    half = Width(width.elements / 2, 1, "narrow")
    vectors = sum(ports(leaf, nest, half, device).clk for leaf in nest.leaves) if halves else 0.0
    less = (single * left + vectors * halves * half.elements) / nest.trips
    out.entries += entries * VECTOR_ENTRY_CLK + less * share


def _entered(nest: Nest) -> float:
    """How often a nest's loop begins."""
    leaf = max(nest.leaves, key=lambda leaf: leaf.executions)
    return leaf.executions / max(inner(leaf) * nest.trips, 1)


def left_over(nest: Nest, lanes: int) -> tuple[int, int]:
    """What a loop does after its vectors of `lanes`: vectors of half as many, single iterations.

    Vectors that hold elements which nobody asked for might end behind the array, so that the last
    iterations never run in them (LLVM's ``requiresScalarEpilogue``).
    """
    assert nest.loop is not None
    left = nest.trips % max(lanes, 1)
    apart = any(gaps(nest.loop, leaf, nest.leaves) for leaf in nest.leaves)
    if not left and apart:
        left = lanes
    if lanes < LONG_VECTOR:
        return 0, left
    halves, left = divmod(left, lanes // 2)
    return (halves - 1, lanes // 2) if halves and not left and apart else (halves, left)
