"""What a statement takes beside throughput: waits for memory, dependent steps, barriers.

Figures are in clocks of the SM and those of an NVIDIA GPU since Volta; sources: Z. Jia et al.,
"Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (dependent issue 4 clocks,
shared-memory load about 20 to 30, an atomic operation there no more, shuffle about 23), W. Luo
et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture" (special functions 18 to
40, wgmma 128 for n = 256), latencies measured on a B300 (ademeure/QuickRunCUDA@dd82488,
``justifications/24_latency_table.md``; "B300" below), and tilelang's templates of reductions and
scans (``src/tl_templates/cuda/{reduce,scan}.h``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tirlens.hardware.spec import Device
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

from ...tree.context import WARP, WARPGROUP, dtype_bytes
from ...tree.node import CostNode
from ..compiler.loop_carried import find_carried_dependence
from ..memory.l1_reuse import new_sector_share

# An instruction that needs the result of the one before (Volta 4; B300 4.2).
DEPENDENT_CLOCKS = 4.0
# A load from shared memory (Volta 20 to 30; B300 29).
SHARED_CLOCKS = 30.0
# The exchange and the operation on what it brings (Volta 23 and 4; B300 26 for the exchange).
SHUFFLE_CLOCKS = 27.0
# A barrier of a block whose warps arrive together: 22 and 2 for each warp on a B300, here of four.
BARRIER_CLOCKS = 30.0
# Arrivals, fences and commits, which wait for nobody: an estimate between the issue of one
# dependent instruction and the 9 clocks of a fence within the block (B300).
ARRIVAL_CLOCKS = 5.0
# From the end of one iteration's matrix instructions to the start of the next one's, where one
# warpgroup issues, waits and starts again: the H200 rows of `tests/measured` with one consumer take
# 0.575 us for 128 x 128 x 64, of which the instructions are 0.28.  That of mma.sync is an estimate:
# a chain of eight m16n8k16, as below.
MATRIX_CLOCKS = {True: 460.0, False: 250.0}  # wgmma, mma.sync
# From the start of a product by tcgen05 to its end, beside the time that it keeps the cores busy:
# 132 to 148 on a B200 (SemiAnalysisAI, microbench-blackwell@9a068d8, umma_latency/fit_results.csv).
TCGEN05_CLOCKS = 148.0
# An atomic operation on global memory: 318 to a lane and 790 to the 32 lanes of a warp (B300,
# ``justifications/15_atomics.md``); an estimate between the two, as many warps have some lanes.
ATOMIC_CLOCKS = 600.0
# Clocks of an instruction in a chain of dependent ones, by unit: 4 as above, of special functions
# 15 to 42 (B300; exp2 15, tanh 18, sin 24, rcp 42).  Of conversions 12 is an estimate: they share
# that unit and have no table to look up.
CHAIN_CLOCKS: Mapping[str, float] = {"fma": 4.0, "int": 4.0, "sfu": 24.0, "cvt": 12.0}
# An estimate: what is longer is of several values, which do not wait for each other.
LONGEST_CHAIN_CLOCKS = 400.0
# Statements that are executed once for each element; others are for all elements of a tile.
ELEMENTWISE = (Store, Evaluate)
# Sectors of 32 bytes that L2 fetches from DRAM at a time (``cudaLimitMaxL2FetchGranularity``).
FETCHED_SECTORS = 2
# Registers of a thread that can wait for loads at the same time: those that ptxas 13.0 has in
# attention over ragged sequences (see `ADDRESS_REGISTERS` of `occupancy`).
LOADING_REGISTERS = 64
# A warp's scan of 32 values: five exchanges, the carry, a load and a store of shared memory.
SCAN_CLOCKS = 5 * SHUFFLE_CLOCKS + SHARED_CLOCKS
# An m16n8k16 on the accumulators of the one before: an estimate, the 32 clocks that it keeps the
# cores of an SM since Ampere busy and some; 21 on a B300.  A fill of registers: two dependent
# instructions.
_STATEMENT_CLOCKS: Mapping[type[Statement], float] = {
    Mma: 35.0,
    Atomic: ATOMIC_CLOCKS,
    Fill: 8.0,
}
# Arrivals and fences wait for nobody; the wait for a product by wgmma is part of the product's.
_BARRIER_CLOCKS: Mapping[BarrierKind, float] = {
    "wait": BARRIER_CLOCKS,
    "arrive": ARRIVAL_CLOCKS,
    "wgmma": 0.0,
}


def wait_seconds(
    item: CostNode,
    device: Device,
    waits: bool = True,
    together: float = 1.0,
    latency_share: float = 1.0,
) -> float:
    """The time of one execution of a leaf that no throughput explains.

    `waits`: whether its loads wait for memory, or for data that comes with earlier loads.
    A load that is only started here (TMA, cp.async) makes nobody wait.  The compiler brings the
    loads of `together` turns of a loop into one execution.  They wait for a part of the latencies
    where less is under way at a time.
    """
    if isinstance(item.source, Gemm):
        return _matrix_wait(item, device)
    seconds = _step_clocks(item, waits) / device.clock_hz
    started = any(entry.access.route in ("tma", "async") for entry in item.count.accesses)
    if item.read_bytes and waits and not started:
        share = new_sector_share(item)
        fresh = min(share * together, 1.0)
        kept = SHARED_CLOCKS / device.clock_hz
        latency_s = load_latency_s(item, device, share < 1) * latency_share
        each = fresh * latency_s + (1 - fresh) * kept
        seconds += _batches(item) * each
    return seconds


def carried_seconds(item: CostNode, device: Device, blocks: int) -> float:
    """How long a thread's chain of turns takes that each need the result of the one before."""
    if not isinstance(item.source, ELEMENTWISE):
        return 0.0
    chain = find_carried_dependence(item, blocks)
    if chain is None:
        return 0.0
    link = DEPENDENT_CLOCKS / device.clock_hz
    if chain.scope.startswith("shared"):
        link += SHARED_CLOCKS / device.clock_hz
    elif chain.scope == "global":
        link += device.l2.latency_s
    return chain.links * link


def _matrix_wait(item: CostNode, device: Device) -> float:
    """What starting and draining matrix instructions adds to them.

    Warpgroups that share a product, each with its rows, fill each other's waits.
    """
    clocks = MATRIX_CLOCKS["wgmma" in device.features] / device.clock_hz
    groups = max(item.threads / WARPGROUP, 1.0)
    executions = item.count.executions or 1
    once = item.busy_s.get("tensor", 0.0) * device.sm_count / executions
    return max(clocks - once * (1 - 1 / groups), 0.0)


def load_latency_s(item: CostNode, device: Device, walks: bool = False) -> float:
    """How long a leaf's loads take to come, on average over the levels that they come from.

    Who `walks` from sector to sector finds every second one in L2, which fetches two at a time
    (``cudaLimitMaxL2FetchGranularity``: 64 bytes).
    """
    asked = item.traffic.l2_read_bytes
    if item.source.per == "thread" and asked < 0.25 * (item.read_bytes or 0):
        return SHARED_CLOCKS / device.clock_hz
    missed = min(item.traffic.dram_requested_bytes / asked, 1.0) if asked else 1.0
    if walks:
        missed /= FETCHED_SECTORS
    return missed * device.dram.latency_s + (1 - missed) * device.l2.latency_s


def _batches(item: CostNode) -> float:
    """How many times one execution waits: as often as its registers for loads are filled."""
    spread = item.mapping
    if spread is None or item.source.per == "thread":
        return 1.0
    if spread.is_serial:
        return spread.repeats
    sizes = [
        dtype_bytes(entry.buffer.dtype)
        for entry in item.count.accesses
        if entry.access.mode == "read" and entry.buffer.scope == "global"
    ]
    held = max(sum(sizes) * spread.vector / 4, 1.0)
    return max(math.ceil(spread.repeats * held / LOADING_REGISTERS), 1)


def _step_clocks(item: CostNode, waits: bool) -> float:
    node: Statement = item.source
    if isinstance(node, Reduce):
        return reduce_clocks(item)
    if isinstance(node, Scan):
        return scan_clocks(item)
    if isinstance(node, Barrier):
        return _BARRIER_CLOCKS[node.kind]
    if isinstance(node, Mma) and node.is_asynchronous:
        # A barrier tells when it is done, and who needs it waits there.
        return 0.0
    clocks = _STATEMENT_CLOCKS.get(type(node), 0.0)
    if isinstance(node, Atomic) and not item.read_bytes and not item.write_bytes:
        return SHARED_CLOCKS
    if isinstance(node, (Mma, Atomic, Annotate)):
        return clocks
    if item.shared_bytes and (waits or not isinstance(node, Load)):
        clocks += SHARED_CLOCKS
    return clocks + chain_clocks(item)


def chain_clocks(item: CostNode) -> float:
    """A thread's dependent instructions for one element, which its other elements overlap with."""
    elements = item.count.executions if isinstance(item.source, ELEMENTWISE) else None
    if elements is None:
        elements = max((entry.total or 0 for entry in item.count.arith), default=0)
    if not elements:
        return 0.0
    total = sum(
        CHAIN_CLOCKS.get(unit, 0.0) * number
        for (unit, _), number in item.arith.instructions.items()
    )
    return min(total / elements, LONGEST_CHAIN_CLOCKS)


def reduce_clocks(item: CostNode) -> float:
    """A reduction of a tile: each thread's serial part, then the exchange between threads.

    The template halves the number of threads in each step: by a round trip through shared memory
    between barriers while more than a warp is left, then by shuffles.  Rows follow each other
    where a barrier stands between them and overlap otherwise.
    """
    sizes = _tile(item)
    if sizes is None:
        return BARRIER_CLOCKS
    rows, row = sizes
    threads = max(item.threads, 1)
    sharing = _sharing(item, rows, row, threads)
    mine = max(rows * sharing / threads, 1.0)
    serial = DEPENDENT_CLOCKS * max(row / sharing, 1.0)
    steps = math.log2(sharing) if sharing > 1 else 0.0
    across = max(steps - math.log2(WARP), 0.0)
    exchange = across * (2 * BARRIER_CLOCKS + SHARED_CLOCKS) + (steps - across) * SHUFFLE_CLOCKS
    if across:
        return mine * (serial + exchange)
    return math.ceil(mine / 4) * (serial + exchange)


def _tile(item: CostNode) -> tuple[float, float] | None:
    """Outputs of a reduction or scan, and the elements of each."""
    reads = [entry for entry in item.count.accesses if entry.access.mode == "read"]
    executions = item.count.executions
    if not reads or not executions or reads[0].elements is None:
        return None
    elements = reads[0].elements / executions
    dim = item.source.dim if isinstance(item.source, (Reduce, Scan)) else None
    extents = reads[0].access.extents
    if dim is None or not -len(extents) <= dim < len(extents):
        return (1.0, max(elements, 1.0))
    row = extents[dim]
    if not isinstance(row, int) or row < 1:
        return (1.0, max(elements, 1.0))
    return (max(elements / row, 1.0), float(row))


def _sharing(item: CostNode, rows: float, row: float, threads: int) -> float:
    """How many threads hold a part of one row, a power of two.

    Four do in the result of a matrix instruction; elsewhere vectors of a row lie on neighbouring
    threads.  In a tile of shared memory or registers of one thread nobody else has a part.
    """
    if any(access.buffer in item.accumulators for access in item.source.accesses):
        return 4.0
    if item.source.per == "thread":
        return 1.0
    vector = max(_tile_vector(item, row), 1)
    return float(2 ** int(math.log2(max(min(threads, row / vector), 1))))


def _tile_vector(item: CostNode, row: float) -> int:
    """Neighbours of a row on one thread: those of a copy, else 16 bytes of the tile itself."""
    own = 16 / max(dtype_bytes(item.count.accesses[0].buffer.dtype), 0.5)
    return int(min(item.row_vector or own, max(row, 1)))


def scan_clocks(item: CostNode) -> float:
    """A scan along one dimension: a warp takes a line, 32 values at a time."""
    sizes = _tile(item)
    if sizes is None:
        return SCAN_CLOCKS
    lines, length = sizes
    warps = max(item.threads // WARP, 1)
    return math.ceil(lines / warps) * math.ceil(length / WARP) * SCAN_CLOCKS
