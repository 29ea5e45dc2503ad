"""In-core time: the clocks of a loop nest on one core with all data in L1.

After the in-core part of the Execution-Cache-Memory model (Stengel, Treibig, Hager, Wellein:
"Quantifying Performance Bottlenecks of Stencil Computations Using the ECM Model", ICS 2015).  Each
kind of instruction has a throughput.  A dependency chain has a latency, which overlaps with the
other instructions in the reorder buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tirlens.hardware.cpu_core import INTEGER_ADD_LATENCY_CLK, CpuCore
from tirlens.hardware.spec import Device

from ...constants import constant
from ..compiler.loop_nests import Nest
from ..compiler.statements import NestStatement
from ..compiler.vector_width import SCALAR, VectorWidth, epilogue_iterations, width_of
from .arithmetic import Arithmetic, count_arithmetic
from .dependency_chains import chain_clk, entry_chain_clk
from .load_store import port_usage, rates_of

SCALAR_DIVIDE_RATIO = constant(
    "SCALAR_DIVIDE_RATIO",
    0.6,
    kind="measured",
    unit="ratio",
    meaning="Clocks of a scalar division over those of a vector.",
    source="uops.info, ``vdivss`` 3, ``vdivps`` of eight 5",
)
LOOP_ENTRY_CLK = constant(
    "LOOP_ENTRY_CLK",
    4.0,
    kind="fitted",
    unit="clocks",
    meaning=(
        "Clocks of the entry of a scalar loop, which ends with a branch that is sometimes "
        "mispredicted."
    ),
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)
VECTOR_LOOP_ENTRY_CLK = constant(
    "VECTOR_LOOP_ENTRY_CLK",
    1.0,
    kind="fitted",
    unit="clocks",
    meaning="Clocks of the entry of a vectorized loop besides its epilogue.",
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)


@dataclass(frozen=True)
class CoreTime:
    """Clocks of a nest over its executions on one core, by resource.

    Attributes
    ----------
    arithmetic_clk
        The arithmetic units.
    load_store_clk
        The load and store ports.
    issue_clk
        Instruction issue.
    chain_clk
        The longest dependency chain.
    call_clk
        Calls of library functions.
    entry_clk
        Loop entries and epilogues.
    instructions
        Instructions of the nest.
    statement_clk
        Throughput clocks of each statement, by the identity of its node.
    """

    arithmetic_clk: float
    load_store_clk: float
    issue_clk: float
    chain_clk: float
    call_clk: float
    entry_clk: float
    instructions: float
    statement_clk: Mapping[int, float]

    @property
    def throughput_clk(self) -> float:
        """Clocks that the busiest resource and the calls take, without latencies."""
        busiest = max(self.arithmetic_clk, self.load_store_clk, self.issue_clk)
        return busiest + self.call_clk + self.entry_clk


@dataclass(frozen=True)
class _StatementTime:
    """Clocks of one statement by resource, its instructions, and iterations of the nest's loop."""

    arithmetic_clk: float
    load_store_clk: float
    call_clk: float
    instructions: float
    iterations: float

    @property
    def clk(self) -> float:
        return max(self.load_store_clk, self.arithmetic_clk) + self.call_clk


def time_core(nest: Nest, device: Device, share: float) -> CoreTime:
    """The in-core time of a nest.

    Parameters
    ----------
    nest
        The loop nest.
    device
        The device, a CPU.
    share
        The fraction of the nest's executions that the core has.
    """
    core = device.cpu
    assert core is not None
    times = [_time_statement(statement, nest, device, share) for statement in nest.statements]
    instructions = iterations = 0.0
    for one in times:
        instructions += one.instructions
        iterations = max(iterations, one.iterations)
    longest_clk = 0.0
    if iterations:
        carried, within = chain_clk(nest, device)
        each = instructions / iterations
        longest_clk = iterations * max(
            carried / _overlapping_chains(nest, each, core.window, True),
            within / _overlapping_chains(nest, each, core.window, False),
        )
    entry_clk = _entry_clk(nest, share, device)
    longest_clk = max(longest_clk, _loop_entries(nest) * share * entry_chain_clk(nest, device))
    return CoreTime(
        arithmetic_clk=sum(one.arithmetic_clk for one in times),
        load_store_clk=sum(one.load_store_clk for one in times),
        issue_clk=instructions / device.issue_per_clk_per_sm,
        chain_clk=longest_clk,
        call_clk=sum(one.call_clk for one in times),
        entry_clk=entry_clk,
        instructions=instructions,
        statement_clk={
            id(statement.node): one.clk
            for statement, one in zip(nest.statements, times, strict=True)
        },
    )


def _time_statement(
    statement: NestStatement, nest: Nest, device: Device, share: float
) -> _StatementTime:
    core = device.cpu
    assert core is not None
    width = width_of(statement, nest, device)
    ports = port_usage(statement, nest, width, device)
    operations = count_arithmetic(statement, nest)
    executions = statement.issued_executions(nest.loop, nest.is_vectorized) * share
    vectors = executions / width.elements
    instructions = ports.instructions * share + vectors * width.registers * (
        operations.simple + operations.divisions
    )
    per_iteration = statement.executions_per_iteration * (
        width.elements if nest.is_vectorized else 1
    )
    return _StatementTime(
        arithmetic_clk=_arithmetic_clk(statement, operations, width, vectors, device),
        load_store_clk=ports.clk * share,
        call_clk=executions * operations.calls * core.call_clk,
        instructions=instructions,
        iterations=executions / max(per_iteration, 1),
    )


def _arithmetic_clk(
    statement: NestStatement,
    operations: Arithmetic,
    width: VectorWidth,
    vectors: float,
    device: Device,
) -> float:
    """Clocks of the arithmetic of a statement that executes with so many `vectors`."""
    core = device.cpu
    assert core is not None
    clk = rates_of(width, core).arithmetic_clk
    if not (statement.is_floating_point or width.is_wide):
        clk *= core.integer_clk / core.arithmetic_clk
    arithmetic_clk = vectors * width.registers * operations.simple * clk
    arithmetic_clk += vectors * operations.divisions * width.registers * _divide_clk(width, core)
    # The operations of one statement mostly depend on each other, and fill the scheduler.
    latency_clk = core.latency_clk if statement.is_floating_point else INTEGER_ADD_LATENCY_CLK
    dependent_clk = operations.simple * latency_clk * operations.simple / core.scheduler
    return max(arithmetic_clk, vectors * width.registers * dependent_clk)


def _divide_clk(width: VectorWidth, core: CpuCore) -> float:
    """Clocks of one division, whose unit is as wide as that of multiply-adds or half as wide."""
    if width.elements == 1:
        return SCALAR_DIVIDE_RATIO * core.divide_clk
    if width.kind == "narrow":
        return core.divide_clk * core.narrow_arithmetic_clk / core.arithmetic_clk
    return core.divide_clk * (2 if width.is_wide else 1)


def _overlapping_chains(
    nest: Nest, instructions: float, window: int, is_loop_carried: bool
) -> float:
    """Chains that the reorder buffer overlaps.

    A loop-carried chain overlaps with those of other entries of the loop, another one with those of
    other iterations.  `instructions` are those of one iteration, `window` is the reorder buffer in
    instructions.
    """
    if nest.is_vectorized or not is_loop_carried:
        return max(1.0, window / max(instructions, 1.0))
    chain_instructions = instructions * nest.trip_count * _dependent_entries(nest)
    return max(1.0, window / max(chain_instructions, 1.0))


def _dependent_entries(nest: Nest) -> int:
    """Consecutive entries of a nest's loop that add to the same sum."""
    sums = [
        write
        for statement in nest.statements
        for write in statement.writes
        if statement.reads_back(write)
    ]
    entries = 1
    for loop in reversed(nest.outer_loops):
        if any(loop.var in write.variables for write in sums):
            break
        entries *= loop.trip_count
    return entries if sums else 1


def _entry_clk(nest: Nest, share: float, device: Device) -> float:
    """Clocks of the entries of a nest's loop: set-up and the vector epilogue."""
    if nest.loop is None or not nest.statements:
        return 0.0
    core = device.cpu
    assert core is not None
    entries = _loop_entries(nest) * share
    if not nest.is_vectorized:
        return entries * LOOP_ENTRY_CLK
    width = width_of(_most_executed(nest), nest, device)
    halves, singles = epilogue_iterations(nest, int(width.elements))
    scalar_nest = replace(nest, is_vectorized=False)
    scalar_clk = sum(port_usage(one, scalar_nest, SCALAR, device).clk for one in nest.statements)
    half = VectorWidth(width.elements / 2, 1, "narrow")
    half_clk = 0.0
    if halves:
        half_clk = sum(port_usage(one, nest, half, device).clk for one in nest.statements)
    epilogue_clk = (scalar_clk * singles + half_clk * halves * half.elements) / nest.trip_count
    return entries * VECTOR_LOOP_ENTRY_CLK + epilogue_clk * share


def _loop_entries(nest: Nest) -> float:
    """Entries of a nest's loop over the whole launch."""
    statement = _most_executed(nest)
    return statement.executions / max(statement.executions_per_iteration * nest.trip_count, 1)


def _most_executed(nest: Nest) -> NestStatement:
    return max(nest.statements, key=lambda statement: statement.executions)
