"""How long one core computes, with all data in L1: ports, chains of dependent results, calls.

After the in-core part of the Execution-Cache-Memory model (Stengel, Treibig, Hager, Wellein:
"Quantifying Performance Bottlenecks of Stencil Computations Using the ECM Model", ICS 2015): each
kind of instruction has a throughput, and a chain of dependent ones a latency that overlaps with
what the reorder buffer holds beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tirlens.hardware.spec import Device

from .chains import INTEGER_CLK, chains
from .groups import gaps
from .leaves import inner
from .moves import Width, ports, width_of
from .nests import Nest
from .operations import computed

# Simple operations on integers have three ports, those on floating-point numbers two of them, with
# the widest registers both two (uops.info: ``vpaddd`` and ``vaddps`` from Skylake to Ice Lake).
INTEGER_PORTS = 2 / 3
# Clocks of a single element, relative to a vector's (uops.info: ``vdivss`` 3, ``vdivps`` of eight
# 5).
SCALAR_DIVIDE = 0.6
# Entering a loop, which ends with a branch that is foretold wrongly now and then, and what one that
# runs in vectors takes beside: looked at.
ENTRY_CLK = 4.0
VECTOR_ENTRY_CLK = 1.0


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
        compute = core.wide_arithmetic_clk if width.wide else core.arithmetic_clk
        if not (leaf.floating or width.wide):
            compute *= INTEGER_PORTS
        arithmetic = steps * width.registers * vectors * compute
        each = core.divide_clk * (2 if width.wide else 1) * width.registers
        arithmetic += steps * divisions * (each if width.elements > 1 else SCALAR_DIVIDE * each)
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
        on, alone = chains(nest, core)
        each = instructions / runs
        out.chain = runs * max(
            on / _overlap(nest, each, core.window, True),
            alone / _overlap(nest, each, core.window, False),
        )
    _entries(out, nest, share, device)
    return out


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
    entries = leaf.executions * share / max(inner(leaf) * nest.trips, 1)
    if not nest.vectorised:
        out.entries += entries * ENTRY_CLK
        return
    left = left_over(nest, int(width_of(leaf, nest, device).elements)) / nest.trips
    alone = replace(nest, vectorised=False)
    single = sum(ports(leaf, alone, Width(1, 1, False), device).clk for leaf in nest.leaves)
    out.entries += entries * VECTOR_ENTRY_CLK + single * left * share


def left_over(nest: Nest, lanes: int) -> int:
    """Iterations of a loop that run element by element after its vectors of `lanes`.

    Vectors that hold elements which nobody asked for might end behind the array, so that the last
    iterations never run in them (LLVM's ``requiresScalarEpilogue``).
    """
    assert nest.loop is not None
    left = nest.trips % max(lanes, 1)
    return (
        lanes
        if not left and any(gaps(nest.loop, leaf, nest.leaves) for leaf in nest.leaves)
        else left
    )
