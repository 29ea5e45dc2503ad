"""A device file for this machine's CPU, from the operating system and the times of small kernels.

The kernels and their steps are those of
`tirlens_worker.frameworks.benchmarking.calibration.cpu_kernels`.  A clock is a quarter of the time
of a dependent integer multiplication and addition.  They take three clocks and one on every x86
core of the last ten years, and four together on Arm's Neoverse cores (uops.info, Arm's optimisation
guides).  All other times are measured in clocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date

from tirlens.hardware.calibration.file_text import SourcedNumber, file_text, is_whole
from tirlens.hardware.catalogue import load
from tirlens.hardware.cpu_core import CACHE_LINE_BYTES, INTEGER_ADD_LATENCY_CLK, PAGE_BYTES
from tirlens.hardware.detect_cpu import DetectedCpu
from tirlens.hardware.known_cores import ISSUE_SOURCE, UNROLLED_SOURCE

# Latency of an integer multiplication and an addition, in clocks.
INTEGER_CHAIN_CLK = 4.0
FLOAT_BYTES = 4
# Multiply-adds of one element in the polynomial kernels.
POLYNOMIAL_MULTIPLY_ADDS = 9
# Operations of one element in the integer kernel.
INTEGER_OPERATIONS = 16
# Dependent multiply-adds of one element in the chain kernel.
CHAIN_MULTIPLY_ADDS = 32
# Size of arrays that fit in a cache, and of those that do not, over the size of the cache.
FITTING_FRACTION = 0.5
EXCEEDING_FACTOR = 4.0
# Bytes whose pages fit in every TLB.
MAX_TLB_RESIDENT_BYTES = 4 << 20
# Entries of second-level TLBs (Haswell; Skylake; Ice Lake, Zen 2, Neoverse V1; Zen 4; Zen 5), each
# with a number of pages that only the next larger TLB holds.
TLB_ENTRIES = ((1024, 1280), (1536, 1792), (2048, 2560), (3072, 3584), (4096, 6144))
TLB_HITS = 512
TLB_MISSES = TLB_ENTRIES[-1][1]
# Loads for each store in the kernels of sums, and stores for each load in those of copies.
SUM_LOADS = 7
COPY_STORES = 4
MIN_DRAM_ARRAY_BYTES = 64 << 20
MAX_DRAM_ARRAY_BYTES = 512 << 20
# Relative error within which four of five measured kernels are, on the machines calibrated.
BAND = 0.3
BAND_SOURCE = "four of five kernels in tests/measured/cpu.py are within it, on three servers"
# Largest ratio between two widths that is not due to a disturbance.
MAX_WIDE_LINE_RATIO = 1.25
VECTORS_SOURCE = "LLVM's preferred vector width for the target (X86.td)"
OTHER_SOURCES = {
    "band": BAND_SOURCE,
    "simd_bytes": VECTORS_SOURCE,
    "cpu.vector_bytes": VECTORS_SOURCE,
    "issue_per_clk_per_sm": ISSUE_SOURCE,
    "cpu.unrolled_instructions": UNROLLED_SOURCE,
}
# Fraction of the way from one rate to another above which a time counts as the other rate.
RATE_THRESHOLD = 0.5
# Bisections of the interval from 0 to 1, which reach the precision of a measured time.
BISECTIONS = 10


def kernel_sizes(found: DetectedCpu) -> dict[str, int]:
    """The sizes of the calibration's arrays in bytes, and the cores and vectors that it uses."""
    base = load(found.base)
    l2 = found.caches[2].bytes if 2 in found.caches else base.l2.bytes // base.sm_count
    last = max((cache.bytes for cache in found.caches.values()), default=base.l2.bytes)
    out = {
        "cores": found.cores,
        "lanes": register_bytes(found) // FLOAT_BYTES,
        "vector": vector_bytes(found) // FLOAT_BYTES,
        "l2": int(l2 * FITTING_FRACTION),
        "crowded l2": int(l2 * FITTING_FRACTION),
        "dram": int(min(max(last * EXCEEDING_FACTOR, MIN_DRAM_ARRAY_BYTES), MAX_DRAM_ARRAY_BYTES)),
    }
    for pages in (TLB_HITS, *(more for _, more in TLB_ENTRIES)):
        out[f"pages {pages}"] = pages
    if 3 in found.caches:
        out["l3"] = max(min(int(last * FITTING_FRACTION), MAX_TLB_RESIDENT_BYTES), 2 * l2)
        out["last"] = last
        # At strides of a page, a cache holds one line of each page.
        out["crowded l3"] = min(4 * l2, last // 2)
    return out


def register_bytes(found: DetectedCpu) -> int:
    """The width of the widest registers that the compiler may use."""
    return found.register_bytes or load(found.base).simd_bytes


def vector_bytes(found: DetectedCpu) -> int:
    """The width of the vectors at which the compiler vectorizes loops."""
    if found.vector_bytes is not None:
        return found.vector_bytes
    base = load(found.base)
    assert base.cpu is not None
    return base.cpu.vector_bytes


def device_numbers(found: DetectedCpu, seconds: Mapping[str, float]) -> dict[str, float]:
    """The numbers of a device file by dotted key, from the time of a step of each kernel."""
    clock = INTEGER_CHAIN_CLK / seconds["integer chain"]
    clk = {name: value * clock for name, value in seconds.items()}
    lanes, wide = vector_bytes(found) // FLOAT_BYTES, register_bytes(found) // FLOAT_BYTES
    core = _core_numbers(clk, lanes // 2, lanes, wide)
    detected = {
        "simd_bytes": found.register_bytes,
        "issue_per_clk_per_sm": found.issue_per_clk,
        "dram.bytes": found.memory_bytes,
        "cpu.vector_bytes": found.vector_bytes,
        "cpu.unrolled_instructions": found.unrolled_instructions,
    }
    return {
        "sm_count": found.cores,
        "clock_hz": clock,
        "band": BAND,
        "launch_s": max(seconds["parallel"] - seconds["call"], 2e-7),
        "dram.bytes_per_s": CACHE_LINE_BYTES / min(seconds["stream all"], seconds["stream dram"]),
        "dram.sustained_fraction": 1.0,
        **core,
        "cpu.call_s": max(seconds["call"], 5e-9),
        **_memory_numbers(clk),
        **_cache_numbers(found, clk, clock),
        **{key: value for key, value in detected.items() if value},
        **_peak_numbers(
            found.cores * clock * lanes * 2 / core["cpu.arithmetic_clk"],
            found.cores * clock * wide * 2 / core["cpu.wide_arithmetic_clk"],
        ),
    }


def _core_numbers(clk: Mapping[str, float], narrow: int, lanes: int, wide: int) -> dict[str, float]:
    """Clocks of instructions on vectors of `lanes` floats, and on `narrow` and `wide` vectors."""
    sharing = load_store_sharing(*(clk[name] * lanes for name in ("sums", "copies", "updates")))
    loading, storing = load_store_clk(clk["sums"] * lanes, clk["copies"] * lanes, sharing)
    wide_loading, wide_storing = load_store_clk(
        clk["wide sums"] * wide, clk["wide copies"] * wide, sharing
    )
    narrow_loading, narrow_storing = load_store_clk(
        clk["narrow sums"] * narrow, clk["narrow copies"] * narrow, sharing
    )
    # The updates bound both from above, in case a disturbance made the sums slow.
    loading, storing = (
        min(loading, clk["updates"] * lanes / 2),
        min(storing, clk["updates"] * lanes),
    )
    arithmetic = clk["polynomial"] * lanes / POLYNOMIAL_MULTIPLY_ADDS
    return {
        "cpu.narrow_arithmetic_clk": min(
            clk["narrow polynomial"] * narrow / POLYNOMIAL_MULTIPLY_ADDS, arithmetic
        ),
        "cpu.arithmetic_clk": arithmetic,
        "cpu.wide_arithmetic_clk": max(
            clk["wide polynomial"] * wide / POLYNOMIAL_MULTIPLY_ADDS, arithmetic
        ),
        "cpu.integer_clk": min(clk["integers"] * lanes / INTEGER_OPERATIONS, arithmetic),
        "cpu.narrow_load_clk": min(narrow_loading, loading),
        "cpu.narrow_store_clk": min(narrow_storing, storing),
        "cpu.load_clk": loading,
        "cpu.store_clk": storing,
        "cpu.wide_load_clk": max(wide_loading, loading),
        "cpu.wide_store_clk": max(wide_storing, storing),
        "cpu.load_store_sharing": sharing,
        "cpu.latency_clk": clk["float chain"],
        "cpu.multiply_add_latency_clk": clk["multiply-add chain"],
        "cpu.max_latency_clk": clk["max chain"],
        "cpu.forward_clk": max(clk["two sums"] - clk["float chain"], 1.0),
        "cpu.vector_forward_clk": max(clk["two vector sums"] - clk["float chain"], 1.0),
        "cpu.integer_forward_clk": max(clk["two integer sums"] - INTEGER_ADD_LATENCY_CLK, 0.2),
        # Elements overlap as far as the scheduler holds the operations of their chains.
        "cpu.scheduler": CHAIN_MULTIPLY_ADDS**2 * clk["float chain"] / (clk["chain"] * lanes),
        "cpu.divide_clk": clk["divide"] * lanes,
        "cpu.call_clk": clk["exp"],
        "cpu.gather_clk": max(clk["gather"] * lanes - storing, 1.0),
        "cpu.scatter_clk": max(clk["scatter"] * lanes - loading, 1.0),
    }


def _memory_numbers(clk: Mapping[str, float]) -> dict[str, float]:
    """Clocks of page walks and of lines from DRAM on one core."""
    tlb = tlb_bytes(clk)
    walk = max(page_walk_clk(clk, tlb), 2.0)
    line = clk["stream dram"]
    return {
        "cpu.tlb_bytes": tlb,
        "cpu.page_walk_clk": walk,
        "cpu.dram_line_clk": line,
        "cpu.dram_scattered_line_clk": max(clk["walk dram"] - walk, line),
        "cpu.wide_lines": wide_line_ratio(clk),
    }


def _cache_numbers(
    found: DetectedCpu, clk: Mapping[str, float], clock_hz: float
) -> dict[str, float]:
    """The caches that were detected, and the clocks of their lines on one core."""
    out = {
        "cpu.write_back": min(max(clk["fill l2"] - clk["walk l2"], 0.0) / clk["stream l2"], 1.0),
        "cpu.l2.line_clk": clk["stream l2"],
        "cpu.l2.scattered_line_clk": max(clk["walk l2"], clk["stream l2"]),
        "cpu.l2.crowded_line_clk": max(clk["crowded walk l2"], clk["walk l2"], clk["stream l2"]),
    }
    if first := found.caches.get(1):
        out["l1_bytes_per_sm"] = first.bytes
        out["cpu.l1_ways"] = first.ways
    if second := found.caches.get(2):
        sharing = max(second.processors // found.threads_per_core, 1)
        out["cpu.l2.bytes"] = second.bytes
        out["cpu.l2.ways"] = second.ways
        out["cpu.l2.cores"] = sharing
        out["l2.bytes"] = second.bytes * max(found.cores // sharing, 1)
        out["l2.bytes_per_s"] = CACHE_LINE_BYTES / clk["stream l2"] * clock_hz * found.cores
    if third := found.caches.get(3):
        out["cpu.l3.bytes"] = usable_cache_bytes(
            third.bytes, clk["stream l3"], clk["stream dram"], clk
        )
        out["cpu.l3.ways"] = third.ways
        out["cpu.l3.cores"] = max(third.processors // found.threads_per_core, 1)
        out["cpu.l3.line_clk"] = clk["stream l3"]
        out["cpu.l3.scattered_line_clk"] = max(clk["walk l3"], clk["stream l3"])
        out["cpu.l3.crowded_line_clk"] = max(clk["crowded walk l3"], clk["walk l3"])
    return out


def _peak_numbers(flop_per_s: float, wide_flop_per_s: float) -> dict[str, float]:
    """The peaks by type, from those of fp32 with both vector widths; fp64 has half the lanes."""
    fp32 = max(flop_per_s, wide_flop_per_s)
    peaks = {"fp32": fp32, "fp16": fp32, "bf16": fp32, "fp64": fp32 / 2}
    return {f"peaks.{name}.flop_per_s": peak for name, peak in peaks.items()}


def load_store_clk(sums_clk: float, copies_clk: float, sharing: float) -> tuple[float, float]:
    """The clocks of a load and of a store of a vector.

    A sum has `SUM_LOADS` loads and one store, a copy one load and `COPY_STORES` stores.  The single
    instruction adds the fraction `sharing` of its clocks.  Each result is at least half of the time
    over the number of instructions.
    """
    both = SUM_LOADS * COPY_STORES - sharing**2
    load = (COPY_STORES * sums_clk - sharing * copies_clk) / both
    store = (SUM_LOADS * copies_clk - sharing * sums_clk) / both
    load = max(load, sums_clk / (SUM_LOADS + 1) / 2)
    return load, max(store, copies_clk / (COPY_STORES + 1) / 2)


def load_store_sharing(sums_clk: float, copies_clk: float, updates_clk: float) -> float:
    """The fraction of the shorter of loads and stores that does not overlap, from 0 to 1.

    An update has two loads and a store, whose time increases with the fraction.
    """

    def predicted_clk(sharing: float) -> float:
        load, store = load_store_clk(sums_clk, copies_clk, sharing)
        return max(2 * load, store) + sharing * min(2 * load, store)

    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if predicted_clk(middle) < updates_clk else (low, middle)
    return low


def wide_line_ratio(clk: Mapping[str, float]) -> float:
    """Time of a line in copies with the widest registers, over that with the compiler's vectors."""
    ratios = [
        clk[f"wide copy {level}"] / clk[f"copy {level}"]
        for level in ("l3", "dram")
        if f"copy {level}" in clk
    ]
    return min(max(math.prod(ratios) ** (1 / len(ratios)), 1.0), MAX_WIDE_LINE_RATIO)


def tlb_bytes(clk: Mapping[str, float]) -> int:
    """The bytes that the TLB covers: those of the most pages that need no page walks."""
    fast, slow = clk[f"pages {TLB_HITS}"], clk[f"pages {TLB_MISSES}"]
    for entries, more in TLB_ENTRIES:
        if clk[f"pages {more}"] > fast + RATE_THRESHOLD * (slow - fast):
            return entries * PAGE_BYTES
    return TLB_ENTRIES[-1][0] * PAGE_BYTES


def page_walk_clk(clk: Mapping[str, float], covers: int) -> float:
    """Clocks of a page walk: the least, as the page tables may miss in the caches."""
    missed = [more for _, more in TLB_ENTRIES if more * PAGE_BYTES > covers]
    return min(clk[f"pages {more}"] for more in missed) - clk[f"pages {TLB_HITS}"]


def usable_cache_bytes(size: int, near: float, far: float, clk: Mapping[str, float]) -> int:
    """The bytes of a shared last-level cache that one process can use.

    The size is between that of the largest array that is read at the cache's rate and that of the
    next one, which is read at DRAM's rate.
    """
    for part in (2, 3, 4):
        if clk[f"stream last {part}/4"] > near + RATE_THRESHOLD * max(far - near, 0.0):
            return size * (2 * part - 1) // 8
    return size


def device_file(
    found: DetectedCpu, measured: Mapping[str, float], when: date, unrepeated: Sequence[str] = ()
) -> str:
    """The text of a device file, which extends that of the generic CPU.

    Parameters
    ----------
    found
        The CPU.
    measured
        The numbers by dotted key.
    when
        The day of the measurement.
    unrepeated
        The kernels without two runs that agree, which a comment lists.
    """
    source = f"measured on this machine, {when.isoformat()}"
    detected = "reported by the operating system"

    def source_of(key: str) -> str:
        is_detected = is_whole(key) and key not in ("cpu.l3.bytes", "cpu.tlb_bytes")
        return OTHER_SOURCES.get(key, detected if is_detected else source)

    numbers = {key: SourcedNumber(value, source_of(key)) for key, value in measured.items()}
    if found.processor:
        numbers["cpu.processor"] = SourcedNumber(found.processor, "")
    return file_text(
        load(found.base).id,
        found.name,
        f"{found.name}, {found.cores} cores",
        numbers,
        [f"No two runs agreed of: {', '.join(unrepeated)}"] if unrepeated else [],
    )
