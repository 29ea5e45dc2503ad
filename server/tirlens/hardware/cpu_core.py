"""The core of a CPU and its caches, as the model needs them.

Times are clocks of the device's `clock_hz`, as in the vendors' optimisation guides and on
uops.info.  Names with ``vector`` are for the width at which the compiler vectorizes loops, ``wide``
for that of the widest registers, which explicit vectors use (LLVM uses 32 of 64 bytes on Intel's
AVX-512 servers), and ``narrow`` for at most half of the compiler's width.  A core whose units are
narrower than its registers executes two narrow instructions in the time of a vector one (Zen 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tirlens.hardware.quantity import Range

# Bytes of a cache line and of a page, of x86-64, and of Arm as Linux mostly runs there.
CACHE_LINE_BYTES = 64
PAGE_BYTES = 4096
# Latency of an integer addition, in clocks.  Source: uops.info.
INTEGER_ADD_LATENCY_CLK = 1.0

_InstructionClocks = Annotated[float, Range(0.05, 8, "clocks")]
_Latency = Annotated[float, Range(1, 20, "clocks")]


@dataclass(frozen=True)
class CpuCache:
    """A cache beyond L1.

    Attributes
    ----------
    bytes, ways
        The size, and the lines of each set.
    cores
        The cores that share the cache.
    line_clk
        Clocks of a line that the prefetchers fetch ahead of time.
    scattered_line_clk
        Clocks of another line, with as many misses in flight as the core can have.
    crowded_line_clk
        Clocks of such a line if all lines go to one set of L1, as at strides of 4 KiB.
    """

    bytes: int
    ways: Annotated[int, Range(1, 64, "ways")]
    cores: Annotated[int, Range(1, 512, "cores")]
    line_clk: Annotated[float, Range(0.2, 500, "clocks")]
    scattered_line_clk: Annotated[float, Range(0.2, 1000, "clocks")]
    crowded_line_clk: Annotated[float, Range(0.2, 1000, "clocks")]


@dataclass(frozen=True)
class CpuL2(CpuCache):
    """The L2 of a core."""

    bytes: Annotated[int, Range(1 << 17, 1 << 25, "bytes")]


@dataclass(frozen=True)
class CpuL3(CpuCache):
    """The last cache, which cores share."""

    bytes: Annotated[int, Range(1 << 20, 1 << 30, "bytes")]


@dataclass(frozen=True)
class CpuCore:
    """Rates and latencies of one core, and its caches.

    The `*_clk` of an instruction is its reciprocal throughput, unless the name says latency.

    Attributes
    ----------
    vector_bytes
        The width at which the compiler vectorizes loops.
    narrow_arithmetic_clk, arithmetic_clk, wide_arithmetic_clk
        A multiply-add.
    integer_clk
        A simple operation on a vector of integers.
    narrow_load_clk, narrow_store_clk, load_clk, store_clk, wide_load_clk, wide_store_clk
        A load and a store.
    load_store_sharing
        Of the loads and stores of one loop, the fraction of the shorter time that adds to the
        longer one; 0 if they overlap.
    write_back
        Clocks that a scattered store adds for its write-back, over those of a prefetched line.
    latency_clk, multiply_add_latency_clk, max_latency_clk
        Latencies of a floating-point addition, multiply-add and maximum.
    forward_clk, vector_forward_clk, integer_forward_clk
        Store-to-load forwarding of an element, a vector and an integer.
    divide_clk
        A division of a vector.
    call_clk
        One call of ``expf`` of the C library.
    gather_clk, scatter_clk
        A gather and a scatter of a vector.
    unrolled_instructions
        Instructions up to which the compiler repeats the body of a loop.
    window
        The reorder buffer, in instructions.
    scheduler
        Instructions of the reorder buffer that can wait for their operands.
    l1_ways, l2, l3
        The caches; None without a third level.
    dram_line_clk, dram_scattered_line_clk
        As those of a cache, for one core alone.  All cores share the device's DRAM bandwidth.
    wide_lines
        Time of a line from L2 or beyond in a loop of the widest registers, over that in others.
    tlb_bytes
        Bytes that the second-level TLB covers.
    page_walk_clk
        A miss in the TLB.
    call_s
        One call of a compiled function, in seconds.
    processor
        LLVM's name of the processor (``-mcpu``); empty where kernels are not compiled for it.
    """

    vector_bytes: Annotated[int, Range(8, 256, "bytes")]
    narrow_arithmetic_clk: _InstructionClocks
    arithmetic_clk: _InstructionClocks
    wide_arithmetic_clk: _InstructionClocks
    integer_clk: _InstructionClocks
    narrow_load_clk: _InstructionClocks
    narrow_store_clk: _InstructionClocks
    load_clk: _InstructionClocks
    store_clk: _InstructionClocks
    wide_load_clk: _InstructionClocks
    wide_store_clk: _InstructionClocks
    load_store_sharing: Annotated[float, Range(0, 1, "of the shorter ones' time")]
    write_back: Annotated[float, Range(0, 1, "of a line's time")]
    latency_clk: _Latency
    multiply_add_latency_clk: _Latency
    max_latency_clk: _Latency
    forward_clk: Annotated[float, Range(0.5, 40, "clocks")]
    vector_forward_clk: Annotated[float, Range(0.5, 40, "clocks")]
    integer_forward_clk: Annotated[float, Range(0.1, 40, "clocks")]
    divide_clk: Annotated[float, Range(0.5, 80, "clocks")]
    call_clk: Annotated[float, Range(1, 200, "clocks")]
    gather_clk: Annotated[float, Range(1, 200, "clocks")]
    scatter_clk: Annotated[float, Range(1, 200, "clocks")]
    unrolled_instructions: Annotated[int, Range(10, 10_000, "instructions")]
    window: Annotated[int, Range(8, 2000, "instructions")]
    scheduler: Annotated[float, Range(4, 1000, "instructions")]
    l1_ways: Annotated[int, Range(1, 64, "ways")]
    l2: CpuL2
    dram_line_clk: Annotated[float, Range(0.5, 500, "clocks")]
    dram_scattered_line_clk: Annotated[float, Range(1, 2000, "clocks")]
    wide_lines: Annotated[float, Range(1, 2, "times")]
    tlb_bytes: Annotated[int, Range(1 << 18, 1 << 31, "bytes")]
    page_walk_clk: Annotated[float, Range(2, 200, "clocks")]
    call_s: Annotated[float, Range(5e-9, 2e-6, "seconds")]
    l3: CpuL3 | None = None
    processor: str = ""
