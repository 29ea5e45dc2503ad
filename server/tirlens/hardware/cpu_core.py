"""The core of a CPU and its caches, as the model needs them.

Times are clocks of the device's `clock_hz`, as in the vendors' optimisation guides and on
uops.info.  Names with ``vector`` are for the width at which the compiler vectorizes loops, ``wide``
for that of the widest registers, which explicit vectors use (LLVM uses 32 of 64 bytes on Intel's
AVX-512 servers), and ``narrow`` for at most half of the compiler's width.  A core whose units are
narrower than its registers executes two narrow instructions in the time of a vector one (Zen 4).
"""

from __future__ import annotations

from dataclasses import dataclass

# Bytes of a cache line and of a page, of x86-64, and of Arm as Linux mostly runs there.
CACHE_LINE_BYTES = 64
PAGE_BYTES = 4096
# Latency of an integer addition, in clocks.  Source: uops.info.
INTEGER_ADD_LATENCY_CLK = 1.0


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
    ways: int
    cores: int
    line_clk: float
    scattered_line_clk: float
    crowded_line_clk: float


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
    """

    vector_bytes: int
    narrow_arithmetic_clk: float
    arithmetic_clk: float
    wide_arithmetic_clk: float
    integer_clk: float
    narrow_load_clk: float
    narrow_store_clk: float
    load_clk: float
    store_clk: float
    wide_load_clk: float
    wide_store_clk: float
    load_store_sharing: float
    write_back: float
    latency_clk: float
    multiply_add_latency_clk: float
    max_latency_clk: float
    forward_clk: float
    vector_forward_clk: float
    integer_forward_clk: float
    divide_clk: float
    call_clk: float
    gather_clk: float
    scatter_clk: float
    unrolled_instructions: int
    window: int
    scheduler: float
    l1_ways: int
    l2: CpuCache
    l3: CpuCache | None
    dram_line_clk: float
    dram_scattered_line_clk: float
    wide_lines: float
    tlb_bytes: int
    page_walk_clk: float
    call_s: float
