"""The microarchitecture of a GPU: latencies, and rates that its vendor does not publish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tirlens.hardware.quantity import Clocks, Range

_OfPeak = Annotated[float, Range(0.02, 1.0, "as a fraction of the peak")]


@dataclass(frozen=True)
class Microarchitecture:
    """Latencies and rates of one SM or compute unit.  Clocks are those of the SM.

    Attributes
    ----------
    dependent_clk
        From an arithmetic instruction to one that needs its result.
    sfu_clk, conversion_clk
        The same of special functions and of conversions.
    shared_clk
        A load from shared memory or L1.
    shuffle_clk
        A shuffle and the operation on its result.
    barrier_clk
        A barrier of a block whose warps arrive together.
    arrival_clk
        Arrivals, fences and commits, which do not wait.
    buffer_handover_clk
        The wait for a full buffer of a pipeline and the release of the empty one.
    phase_clk
        From an arrival at a barrier in shared memory (``mbarrier``) until a warp that waits for it
        goes on.
    atomic_clk
        An atomic operation on global memory.
    mma_clk
        A matrix instruction on the accumulators of the one before.
    product_restart_clk
        From the end of one iteration's matrix instructions to the start of the next one's, where
        one group of warps issues, waits and starts again.
    asynchronous_product_clk
        From the start of an asynchronous product to its end, besides the time for which it
        occupies the tensor cores.
    instructions_in_flight
        Warp instructions in flight that keep the pipelines of an SM full.
    instructions_in_flight_per_warp
        Independent instructions of one warp that are in flight at the same time.
    register_unit
        Registers are allocated to the threads of a warp in units of this many.
    l2_port_bytes_per_clk
        Bytes between one SM and L2 per clock and direction.
    tma_l2_port_fraction
        Fraction of the L2 ports of all SMs that TMA tile copies reach.
    l2_write_fraction
        L2 rate of stores over that of loads.
    mma_16bit_fraction, mma_tf32_fraction, mma_float8_fraction, mma_int8_fraction
        Rate of the matrix instructions of single warps (``mma.sync``, ``wmma``) over that of the
        architecture's widest ones (``wgmma``, ``tcgen05.mma``), in clocks, by type of the operands.
    dram_sector_bytes
        Aligned bytes that a miss of the last cache moves from or to DRAM.
    l1_lines_per_clk
        Cache lines that L1 looks up in one clock after the first one of a load; None if each line
        takes the clocks of a wavefront.
    """

    dependent_clk: Clocks
    sfu_clk: Clocks
    conversion_clk: Clocks
    shared_clk: Clocks
    shuffle_clk: Clocks
    barrier_clk: Clocks
    arrival_clk: Clocks
    buffer_handover_clk: Clocks
    phase_clk: Clocks
    atomic_clk: Clocks
    mma_clk: Clocks
    product_restart_clk: Clocks
    asynchronous_product_clk: Clocks
    instructions_in_flight: Annotated[float, Range(1, 256, "instructions")]
    instructions_in_flight_per_warp: Annotated[float, Range(1, 64, "instructions")]
    register_unit: Annotated[int, Range(1, 256, "registers")]
    l2_port_bytes_per_clk: Annotated[float, Range(8, 1024, "bytes per clock")]
    tma_l2_port_fraction: Annotated[float, Range(0.1, 1.0, "as a fraction of the ports")]
    l2_write_fraction: Annotated[float, Range(0.1, 1.5, "as a fraction of the rate of loads")]
    mma_16bit_fraction: _OfPeak
    mma_tf32_fraction: _OfPeak
    mma_float8_fraction: _OfPeak
    mma_int8_fraction: _OfPeak
    dram_sector_bytes: Annotated[int, Range(16, 256, "bytes")]
    l1_lines_per_clk: Annotated[float, Range(0.25, 32, "lines per clock")] | None = None
