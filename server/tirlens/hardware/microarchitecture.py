"""The microarchitecture of a GPU: latencies, and rates that its vendor does not publish.

``data/architectures`` has a file for each architecture or vendor whose numbers are known, and
``gpu.toml`` for all others.  A device file overrides single numbers in ``[microarchitecture]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tirlens.hardware.toml_file import DeviceTable, read_table

FOLDER = Path(__file__).parent / "data" / "architectures"


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

    dependent_clk: float
    sfu_clk: float
    conversion_clk: float
    shared_clk: float
    shuffle_clk: float
    barrier_clk: float
    arrival_clk: float
    buffer_handover_clk: float
    atomic_clk: float
    mma_clk: float
    product_restart_clk: float
    asynchronous_product_clk: float
    instructions_in_flight: float
    instructions_in_flight_per_warp: float
    register_unit: int
    l2_port_bytes_per_clk: float
    tma_l2_port_fraction: float
    l2_write_fraction: float
    mma_16bit_fraction: float
    mma_tf32_fraction: float
    mma_float8_fraction: float
    mma_int8_fraction: float
    dram_sector_bytes: int
    l1_lines_per_clk: float | None = None


@cache
def architecture_table(arch: str, vendor: str) -> DeviceTable:
    """The file of an architecture, else of its vendor, else that of all other GPUs."""
    base = arch.rstrip("af") if arch.startswith("sm_") else arch
    names = (base, vendor.lower(), "gpu")
    paths = (FOLDER / f"{name}.toml" for name in names if name.isidentifier())
    path = next(path for path in paths if path.is_file())
    return read_table(path, lambda name, _: FOLDER / f"{name}.toml")


__all__ = ["Microarchitecture", "architecture_table"]
