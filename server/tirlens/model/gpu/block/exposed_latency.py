"""Exposed latency of a statement: the time of its executions that no throughput explains.

A thread waits for memory, for the instructions that its next one depends on, for barriers, and for
the steps of a reduction or scan.  Source of the latter: tilelang's templates of reductions and
scans (``src/tl_templates/cuda/{reduce,scan}.h``).
"""

from __future__ import annotations

import math

from tirlens.hardware.microarchitecture import Microarchitecture
from tirlens_worker.facts import (
    Annotate,
    Atomic,
    Barrier,
    BarrierKind,
    Evaluate,
    Fill,
    Gemm,
    Load,
    Mma,
    Reduce,
    Scan,
    Statement,
    Store,
)

from ...constants import constant
from ...tree.compiled import Compiled, Instructions
from ...tree.context import WARPGROUP, dtype_bytes
from ...tree.node import Leaf
from ...tree.thread_mapping import ThreadMapping
from ..compiler.loop_carried import find_carried_dependence, sequential_executions
from ..compiler.temporary_registers import LOAD_REGISTERS
from ..mapping.memory_requests import MAX_INSTRUCTION_BYTES
from ..memory.atomic_contention import update_clocks
from ..memory.l1_reuse import new_sector_share
from .overlap import WARPGROUP_OVERLAP
from .throughput import BlockContext, busy_time

FETCHED_SECTORS = constant(
    "FETCHED_SECTORS",
    2,
    kind="isa",
    unit="sectors",
    meaning="Sectors of 32 bytes that L2 fetches from DRAM at a time.",
    source="CUDA runtime, ``cudaLimitMaxL2FetchGranularity``",
)
L1_HIT_TRAFFIC_SHARE = constant(
    "L1_HIT_TRAFFIC_SHARE",
    0.25,
    kind="estimate",
    unit="fraction",
    meaning=(
        "Loads of single threads hit in L1 where their traffic to L2 is below this share of "
        "the bytes that they load."
    ),
)
THREADS_OF_FRAGMENT_ROW = constant(
    "THREADS_OF_FRAGMENT_ROW",
    4.0,
    kind="isa",
    unit="threads",
    meaning="Threads that hold parts of one row in the result of a matrix instruction.",
    source="PTX ISA, fragments of ``mma`` and ``wgmma``",
)
# Statements that are executed once for each element; others are for all elements of a tile.
_ELEMENTWISE = (Store, Evaluate)
CHAIN_LIMIT_CLOCKS = constant(
    "CHAIN_LIMIT_CLOCKS",
    400.0,
    kind="estimate",
    unit="clocks",
    meaning="The longest dependency chain of one element.",
    source="a longer one is of several values, which do not depend on each other",
)


def exposed_latency_s(
    leaf: Leaf, context: BlockContext, executions: float, waits: bool = True
) -> float:
    """Seconds that the executions of a statement in one block take besides its busy time.

    Parameters
    ----------
    leaf : CostNode
        A statement.
    context : BlockContext
        The device and the launch.
    executions : float
        The iterations of the loops around it; a guarded statement is executed less often.
    waits : bool
        Whether its loads wait for memory, and not for data that arrive with earlier loads.
    """
    iterations_per_wait = 1.0
    if leaf.count.executions is not None:
        threads = leaf.threads if leaf.source.per == "thread" else 1
        executions = min(executions, leaf.count.executions / (context.blocks * threads))
        if executions:
            # The compiler issues the loads of several iterations together.
            iterations_per_wait = max(sequential_executions(leaf, context.blocks) / executions, 1.0)
    waits_s = _all_waits_s(leaf, context, waits, iterations_per_wait, executions)
    recurrence_s = _recurrence_s(leaf, context)
    if not recurrence_s:
        return waits_s
    return max(waits_s, recurrence_s - busy_time(leaf, context).longest_s)


def _all_waits_s(
    leaf: Leaf,
    context: BlockContext,
    waits: bool,
    iterations_per_wait: float,
    executions: float,
) -> float:
    """Seconds of the waits of all executions, each for the loads of `iterations_per_wait`.

    By Little's law a load waits longer than in an idle memory, for the requests ahead of it.  DRAM
    serves these meanwhile, which is a part of the time for which the statement keeps it busy.
    """

    def waits_s(latency_share: float = 1.0) -> float:
        return _wait_s(leaf, context, waits, iterations_per_wait, latency_share) * executions

    if context.latency_share is None or not executions or not leaf.read_bytes:
        return waits_s()
    bytes_per_wait = (
        context.moved.traffic[leaf].l2_read_bytes
        * iterations_per_wait
        / (context.blocks * executions)
    )
    idle_s = waits_s(context.latency_share(0.0))
    loaded_s = waits_s(context.latency_share(bytes_per_wait))
    busy = busy_time(leaf, context)
    dram_s = busy.unit_s.get("dram", 0.0)
    other_units_s = max(
        (busy_s for unit, busy_s in busy.unit_s.items() if unit != "dram"), default=0.0
    )
    return idle_s + max(other_units_s + loaded_s - idle_s, dram_s) - busy.longest_s


def _wait_s(
    leaf: Leaf,
    context: BlockContext,
    waits: bool,
    iterations_per_wait: float,
    latency_share: float,
) -> float:
    """Seconds of one execution that no throughput explains.

    An asynchronous load (TMA, cp.async) does not wait.  `latency_share` is the share of
    the memory's latency that the load waits for.
    """
    if isinstance(leaf.source, Gemm):
        return _product_wait_s(leaf, context)
    device = context.device
    wait_s = _step_clocks(leaf, context, waits) / device.clock_hz
    is_asynchronous = any(entry.access.route in ("tma", "async") for entry in leaf.count.accesses)
    if leaf.read_bytes and waits and not is_asynchronous:
        mapping = context.compiled.instructions[leaf].mapping
        sector_share = new_sector_share(leaf, mapping.vector)
        missed = min(sector_share * iterations_per_wait, 1.0)
        hit_s = device.microarchitecture.shared_clk / device.clock_hz
        miss_s = load_latency_s(leaf, context, sector_share < 1) * latency_share
        wait_s += _load_rounds(leaf, mapping) * (missed * miss_s + (1 - missed) * hit_s)
    return wait_s


def _recurrence_s(leaf: Leaf, context: BlockContext) -> float:
    """Seconds of a thread's iterations, each of which depends on the result of the one before."""
    if not isinstance(leaf.source, _ELEMENTWISE):
        return 0.0
    chain = find_carried_dependence(leaf, context.blocks)
    if chain is None:
        return 0.0
    device = context.device
    link_s = device.microarchitecture.dependent_clk / device.clock_hz
    if chain.scope.startswith("shared"):
        link_s += device.microarchitecture.shared_clk / device.clock_hz
    elif chain.scope == "global":
        link_s += context.memory.l2_latency_s
    return chain.links * link_s


def _product_wait_s(leaf: Leaf, context: BlockContext) -> float:
    """Seconds from the end of one matrix product to the start of the next one.

    Warpgroups that share a product, each with its rows, overlap each other's waits while they are
    at different parts of the loop.
    """
    device = context.device
    restart_s = product_latency_s(leaf, context)
    groups = max(leaf.threads / WARPGROUP, 1.0)
    executions = leaf.count.executions or 1
    product_s = context.busy.unit_s[leaf].get("tensor", 0.0) * device.sm_count / executions
    return restart_s - WARPGROUP_OVERLAP * min(restart_s, product_s * (1 - 1 / groups))


def product_latency_s(leaf: Leaf, context: BlockContext) -> float:
    """Seconds of one execution of a product in which its instructions do not occupy tensor cores.

    Where the compiler serialises them, each one waits for its operands from shared memory and for
    its last step: the latencies of a load and of an ``mma`` (W. Luo et al., arXiv:2402.13499,
    tables IV and VII: 29 and 24 clocks on an H800).
    """
    sm = context.device.microarchitecture
    waits = context.compiled.instructions[leaf].product_waits
    clocks = sm.product_restart_clk + (waits - 1) * (sm.shared_clk + sm.mma_clk)
    return clocks / context.device.clock_hz


def load_latency_s(leaf: Leaf, context: BlockContext, is_sequential: bool = False) -> float:
    """Seconds until the loads of a statement arrive, on average over the levels that serve them.

    `is_sequential`: a warp loads one sector after the other.  It finds every second one in L2,
    which fetches two at a time (``cudaLimitMaxL2FetchGranularity``: 64 bytes).
    """
    device, memory, traffic = context.device, context.memory, context.moved.traffic[leaf]
    l2_bytes = traffic.l2_read_bytes
    hits_l1 = l2_bytes < L1_HIT_TRAFFIC_SHARE * (leaf.read_bytes or 0)
    if leaf.source.per == "thread" and hits_l1:
        return device.microarchitecture.shared_clk / device.clock_hz
    missed = min(traffic.dram_requested_bytes / l2_bytes, 1.0) if l2_bytes else 1.0
    if is_sequential:
        missed /= FETCHED_SECTORS
    return missed * memory.dram_latency_s + (1 - missed) * memory.l2_latency_s


def _load_rounds(leaf: Leaf, mapping: ThreadMapping) -> float:
    """How often one execution waits: as often as its loads fill the registers for them."""
    if leaf.source.per == "thread":
        return 1.0
    if mapping.is_serial:
        return mapping.repeats
    element_bytes = [
        dtype_bytes(entry.buffer.dtype)
        for entry in leaf.count.accesses
        if entry.access.mode == "read" and entry.buffer.scope == "global"
    ]
    registers = max(sum(element_bytes) * mapping.vector / 4, 1.0)
    return max(math.ceil(mapping.repeats * registers / LOAD_REGISTERS), 1)


def _step_clocks(leaf: Leaf, context: BlockContext, waits: bool) -> float:
    """Clocks of the dependent steps of one execution, without loads from global memory.

    A fill of registers is two dependent instructions.
    """
    source: Statement = leaf.source
    device, compiled = context.device, context.compiled
    sm = device.microarchitecture
    row = compiled.instructions[leaf]
    if isinstance(source, Reduce):
        return reduce_clocks(leaf, compiled, sm)
    if isinstance(source, Scan):
        return scan_clocks(leaf, sm)
    if isinstance(source, Barrier):
        return _barrier_clocks(source.kind, sm)
    if isinstance(source, Mma) and source.is_asynchronous:
        # The wait is at the barrier that it arrives at.
        return 0.0
    if isinstance(source, Mma):
        return sm.mma_clk
    if isinstance(source, Atomic):
        return update_clocks(leaf, row.mapping, device, context.memory)
    if isinstance(source, Annotate):
        return 0.0
    clocks = 2 * sm.dependent_clk if isinstance(source, Fill) else 0.0
    if leaf.shared_bytes and (waits or not isinstance(source, Load)):
        clocks += sm.shared_clk
    return clocks + chain_clocks(leaf, row, sm)


def _barrier_clocks(kind: BarrierKind, sm: Microarchitecture) -> float:
    """Clocks of an operation on a barrier.  Arrivals and fences do not wait.

    The wait for a product by wgmma is part of the product's.
    """
    if kind == "wgmma":
        return 0.0
    return sm.barrier_clk if kind == "wait" else sm.arrival_clk


def chain_clocks(leaf: Leaf, compiled: Instructions, sm: Microarchitecture) -> float:
    """Clocks of a thread's dependent instructions for one element; other elements overlap them."""
    elements = leaf.count.executions if isinstance(leaf.source, _ELEMENTWISE) else None
    if elements is None:
        elements = max((entry.total or 0 for entry in leaf.count.arith), default=0)
    if not elements:
        return 0.0
    clocks = {
        "fma": sm.dependent_clk,
        "int": sm.dependent_clk,
        "sfu": sm.sfu_clk,
        "cvt": sm.conversion_clk,
    }
    total = sum(clocks.get(unit, 0.0) * number for (unit, _), number in compiled.operations.items())
    return min(total / elements, CHAIN_LIMIT_CLOCKS)


def reduce_clocks(leaf: Leaf, compiled: Compiled, sm: Microarchitecture) -> float:
    """Clocks of a reduction of a tile: each thread's serial part, then the exchange of threads.

    The template halves the number of threads in each step: by a round trip through shared memory
    between barriers while more than a warp is left, then by shuffles.  Rows are reduced one after
    the other where a barrier separates them, and overlap otherwise.
    """
    sizes = _tile_sizes(leaf)
    if sizes is None:
        return sm.barrier_clk
    rows, row = sizes
    threads = max(leaf.threads, 1)
    sharing = _threads_of_row(leaf, compiled, row, threads)
    rows_of_thread = max(rows * sharing / threads, 1.0)
    serial = sm.dependent_clk * max(row / sharing, 1.0)
    steps = math.log2(max(sharing, 1.0))
    through_shared = max(steps - math.log2(leaf.context.warp_size), 0.0)
    exchange = through_shared * (2 * sm.barrier_clk + sm.shared_clk)
    exchange += (steps - through_shared) * sm.shuffle_clk
    return (rows_of_thread if through_shared else 1.0) * (serial + exchange)


def scan_clocks(leaf: Leaf, sm: Microarchitecture) -> float:
    """Clocks of a scan along one dimension: a warp takes a line, a value a lane at a time.

    A step has five shuffles, the carry, a load and a store of shared memory.
    """
    step_clocks = 5 * sm.shuffle_clk + sm.shared_clk
    sizes = _tile_sizes(leaf)
    if sizes is None:
        return step_clocks
    lines, length = sizes
    warp = leaf.context.warp_size
    warps = max(leaf.threads // warp, 1)
    return math.ceil(lines / warps) * math.ceil(length / warp) * step_clocks


def _tile_sizes(leaf: Leaf) -> tuple[float, float] | None:
    """The rows of a reduction or scan, and the elements of each; None where they are not known."""
    reads = [entry for entry in leaf.count.accesses if entry.access.mode == "read"]
    executions = leaf.count.executions
    if not reads or not executions or reads[0].elements is None:
        return None
    elements = reads[0].elements / executions
    dim = leaf.source.dim if isinstance(leaf.source, (Reduce, Scan)) else None
    extents = reads[0].access.extents
    if dim is None or not -len(extents) <= dim < len(extents):
        return (1.0, max(elements, 1.0))
    row = extents[dim]
    if not isinstance(row, int) or row < 1:
        return (1.0, max(elements, 1.0))
    return (max(elements / row, 1.0), float(row))


def _threads_of_row(leaf: Leaf, compiled: Compiled, row: float, threads: int) -> float:
    """How many threads hold a part of one row, a power of two.

    Four do in the result of a matrix instruction; elsewhere vectors of a row lie on neighbouring
    threads.  A thread that executes the statement by itself has the whole row.
    """
    if any(access.buffer in compiled.accumulators for access in leaf.source.accesses):
        return THREADS_OF_FRAGMENT_ROW
    if leaf.source.per == "thread":
        return 1.0
    vector = max(_row_vector(leaf, compiled.row_vectors[leaf], row), 1)
    return float(2 ** int(math.log2(max(min(threads, row / vector), 1))))


def _row_vector(leaf: Leaf, known: int, row: float) -> int:
    """Consecutive elements of a row on one thread: those of a copy, else the widest load's."""
    element_bytes = max(dtype_bytes(leaf.count.accesses[0].buffer.dtype), 0.5)
    vector = known or MAX_INSTRUCTION_BYTES / element_bytes
    return int(min(vector, max(row, 1)))
