"""What the model needs to know of one core of a CPU and of the caches around it.

Times are clocks of the device's `clock_hz`, so that they are those of the vendors' optimisation
guides and of uops.info.  ``vector`` means the width at which the compiler vectorises loops by
itself, ``wide`` that of the registers, which explicit vectors use (LLVM keeps to 32 of 64 bytes on
Intel's AVX-512 servers), and ``narrow`` half of the compiler's and less: a core whose units are
narrower than its registers executes two such instructions in the time of a whole one (Zen 4).
"""

from __future__ import annotations

from dataclasses import dataclass

# Bytes of a cache line and of a page, of x86-64, and of Arm as Linux mostly runs there.
CACHE_LINE_BYTES = 64
PAGE_BYTES = 4096


@dataclass(frozen=True)
class CpuCache:
    """A cache behind L1: its size, and what a line from it costs one core.

    `cores` share it.  `line_clk` is for lines that follow each other, which the prefetchers
    foresee; `scattered_line_clk` for others, with as many misses in flight as the core can have;
    `crowded_line_clk` where all of them go to one set of L1, as at strides of 4 KiB.
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

    `*_clk` of an instruction is the reciprocal throughput, of a latency the whole of it.
    `arithmetic_clk` is a multiply-add, `integer_clk` a simple operation on a vector of integers.
    Of loads and stores in one loop those that take less time add `load_store_sharing` of it to that
    of the others: 0 if they go side by side.  `latency_clk` is that of an addition, `call_clk` one
    call of ``expf`` of the C library.
    A load of what was just stored takes `forward_clk`, of a whole vector `vector_forward_clk`, and
    of an integer `integer_forward_clk`.
    The compiler repeats the body of a loop up to `unrolled_instructions`; `window` is the reorder
    buffer in instructions, `scheduler` those of them that can wait for their operands.
    A line that is stored to apart from others takes `write_back` of a line that follows another
    beside, to be sent back.  A line from L2 or behind takes `wide_lines` times as long in a loop of
    registers of full width.  `tlb_bytes` is what the second-level TLB covers and `page_walk_clk` a
    miss in it.  `dram_*` are for one core alone; all together share the device's DRAM rate.
    `call_s` is one call of a compiled function.
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
