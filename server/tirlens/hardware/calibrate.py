"""A device file for this machine's CPU from what the system tells and what small kernels take.

The kernels and their steps are those of `tirlens_worker.frameworks.calibration`.  A clock is a
quarter of the time of an integer multiplication and an addition that wait for each other (three
clocks and one on every x86 of the last ten years, and the same together on Arm's Neoverse cores,
after uops.info and Arm's optimisation guides); all else is measured in clocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date

from tirlens.hardware.catalogue import load
from tirlens.hardware.cpu_core import CACHE_LINE_BYTES, PAGE_BYTES
from tirlens.hardware.detect_cpu import FoundCpu
from tirlens.hardware.known_cores import ISSUE_SOURCE, UNROLLED_SOURCE
from tirlens.hardware.reader import INTEGER_KEYS

CHAIN_CLK = 4.0
# An addition of integers.
INTEGER_CLK = 1.0
FLOAT_BYTES = 4
# Multiply-adds in the polynomial of the calibration.
POLYNOMIAL = 9
# Operations on integers in another kernel.
INTEGERS = 16
# Multiply-adds in its chain, each of which waits for the one before.
CHAINED = 32
# Arrays that stay in a cache, relative to its size, and that do not.
WITHIN = 0.5
BEYOND = 4.0
# Pages of 4 KiB few enough for every TLB.
FEW_PAGES = 4 << 20
# Entries of second-level TLBs (Haswell; Skylake; Ice Lake, Zen 2, Neoverse V1; Zen 4; Zen 5) with
# more pages than that, which only the next larger one has.
TLB_ENTRIES = ((1024, 1280), (1536, 1792), (2048, 2560), (3072, 3584), (4096, 6144))
TLB_HITS = 512
TLB_MISSES = TLB_ENTRIES[-1][1]
# Arrays that the calibration's kernels read to write one, and that they write for one read.
READ = 7
WRITTEN = 4
LEAST_BEYOND = 64 << 20
MOST_BEYOND = 512 << 20
# Of the measured kernels on the machines that it was calibrated for, four of five are this near.
BAND = 0.3
BAND_SOURCE = "four of five kernels in tests/measured/cpu.py are as near, on three servers"
# More than this between two widths is another disturbance.
MOST_WIDER = 1.25
VECTORS_SOURCE = "LLVM's preferred vector width for the target (X86.td)"
OTHER_SOURCES = {
    "band": BAND_SOURCE,
    "simd_bytes": VECTORS_SOURCE,
    "cpu.vector_bytes": VECTORS_SOURCE,
    "issue_per_clk_per_sm": ISSUE_SOURCE,
    "cpu.unrolled_instructions": UNROLLED_SOURCE,
}
# Two rates are told apart where one of them is this far towards the other.
BETWEEN = 0.5
# Of an interval between 0 and 1, until it is as short as a measured time is exact.
HALVINGS = 10
# Two runs of a kernel agree where they are no further apart.
AGREE = 1.05


def sizes(found: FoundCpu) -> dict[str, int]:
    """The arrays that the calibration's kernels read, in bytes, and the cores that they use."""
    base = load(found.base)
    l2 = found.caches[2].bytes if 2 in found.caches else base.l2.bytes // base.sm_count
    last = max((cache.bytes for cache in found.caches.values()), default=base.l2.bytes)
    out = {
        "cores": found.cores,
        "lanes": register_bytes(found) // FLOAT_BYTES,
        "vector": vector_bytes(found) // FLOAT_BYTES,
        "l2": int(l2 * WITHIN),
        "crowded l2": int(l2 * WITHIN),
        "dram": int(min(max(last * BEYOND, LEAST_BEYOND), MOST_BEYOND)),
    }
    for pages in (TLB_HITS, *(more for _, more in TLB_ENTRIES)):
        out[f"pages {pages}"] = pages
    if 3 in found.caches:
        out["l3"] = max(min(int(last * WITHIN), FEW_PAGES), 2 * l2)
        out["last"] = last
        # At strides of a page a cache holds of each page but one line.
        out["crowded l3"] = min(4 * l2, last // 2)
    return out


def register_bytes(found: FoundCpu) -> int:
    """The width of the widest registers that the compiler may use."""
    return found.register_bytes or load(found.base).simd_bytes


def vector_bytes(found: FoundCpu) -> int:
    """The width of the vectors that the compiler makes of loops by itself."""
    if found.vector_bytes is not None:
        return found.vector_bytes
    base = load(found.base)
    assert base.cpu is not None
    return base.cpu.vector_bytes


def numbers(found: FoundCpu, seconds: Mapping[str, float]) -> dict[str, float]:
    """The measured numbers of a device file by dotted key."""
    clock = CHAIN_CLK / seconds["integer chain"]
    clk = {name: value * clock for name, value in seconds.items()}
    lanes, wide = vector_bytes(found) // FLOAT_BYTES, register_bytes(found) // FLOAT_BYTES
    core = _core(clk, lanes // 2, lanes, wide)
    told = {
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
        **_memory(clk),
        **_caches(found, clk, clock),
        **{key: value for key, value in told.items() if value},
        **_peaks(
            found.cores * clock * lanes * 2 / core["cpu.arithmetic_clk"],
            found.cores * clock * wide * 2 / core["cpu.wide_arithmetic_clk"],
        ),
    }


def _core(clk: Mapping[str, float], narrow: int, lanes: int, wide: int) -> dict[str, float]:
    """What instructions on vectors of `lanes` floats take, on the `narrow` and the `wide` ones."""
    shared = sharing(*(clk[name] * lanes for name in ("sums", "copies", "updates")))
    loading, storing = moves(clk["sums"] * lanes, clk["copies"] * lanes, shared)
    wide_loading, wide_storing = moves(clk["wide sums"] * wide, clk["wide copies"] * wide, shared)
    narrow_loading, narrow_storing = moves(
        clk["narrow sums"] * narrow, clk["narrow copies"] * narrow, shared
    )
    # Neither can take longer than where they are with others, whatever disturbed the sums.
    loading, storing = (
        min(loading, clk["updates"] * lanes / 2),
        min(storing, clk["updates"] * lanes),
    )
    arithmetic = clk["polynomial"] * lanes / POLYNOMIAL
    return {
        "cpu.narrow_arithmetic_clk": min(
            clk["narrow polynomial"] * narrow / POLYNOMIAL, arithmetic
        ),
        "cpu.arithmetic_clk": arithmetic,
        "cpu.wide_arithmetic_clk": max(clk["wide polynomial"] * wide / POLYNOMIAL, arithmetic),
        "cpu.integer_clk": min(clk["integers"] * lanes / INTEGERS, arithmetic),
        "cpu.narrow_load_clk": min(narrow_loading, loading),
        "cpu.narrow_store_clk": min(narrow_storing, storing),
        "cpu.load_clk": loading,
        "cpu.store_clk": storing,
        "cpu.wide_load_clk": max(wide_loading, loading),
        "cpu.wide_store_clk": max(wide_storing, storing),
        "cpu.load_store_sharing": shared,
        "cpu.latency_clk": clk["float chain"],
        "cpu.multiply_add_latency_clk": clk["multiply-add chain"],
        "cpu.max_latency_clk": clk["max chain"],
        "cpu.forward_clk": max(clk["two sums"] - clk["float chain"], 1.0),
        "cpu.vector_forward_clk": max(clk["two vector sums"] - clk["float chain"], 1.0),
        "cpu.integer_forward_clk": max(clk["two integer sums"] - INTEGER_CLK, 0.2),
        # Elements overlap as far as the scheduler holds the links of their chains.
        "cpu.scheduler": CHAINED**2 * clk["float chain"] / (clk["chain"] * lanes),
        "cpu.divide_clk": clk["divide"] * lanes,
        "cpu.call_clk": clk["exp"],
        "cpu.gather_clk": max(clk["gather"] * lanes - storing, 1.0),
        "cpu.scatter_clk": max(clk["scatter"] * lanes - loading, 1.0),
    }


def _memory(clk: Mapping[str, float]) -> dict[str, float]:
    """What pages and lines of DRAM take one core."""
    tlb = covered(clk)
    walk = max(walked(clk, tlb), 2.0)
    line = clk["stream dram"]
    return {
        "cpu.tlb_bytes": tlb,
        "cpu.page_walk_clk": walk,
        "cpu.dram_line_clk": line,
        "cpu.dram_scattered_line_clk": max(clk["walk dram"] - walk, line),
        "cpu.wide_lines": wider(clk),
    }


def _caches(found: FoundCpu, clk: Mapping[str, float], clock_hz: float) -> dict[str, float]:
    """The caches that the system tells of, and what their lines take one core."""
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
        out["cpu.l3.bytes"] = held(third.bytes, clk["stream l3"], clk["stream dram"], clk)
        out["cpu.l3.ways"] = third.ways
        out["cpu.l3.cores"] = max(third.processors // found.threads_per_core, 1)
        out["cpu.l3.line_clk"] = clk["stream l3"]
        out["cpu.l3.scattered_line_clk"] = max(clk["walk l3"], clk["stream l3"])
        out["cpu.l3.crowded_line_clk"] = max(clk["crowded walk l3"], clk["walk l3"])
    return out


def _peaks(flop_per_s: float, wide_flop_per_s: float) -> dict[str, float]:
    """The peaks by type from those of fp32 with both widths of vectors; fp64 has half the lanes."""
    fp32 = max(flop_per_s, wide_flop_per_s)
    peaks = {"fp32": fp32, "fp16": fp32, "bf16": fp32, "fp64": fp32 / 2}
    return {f"peaks.{name}.flop_per_s": peak for name, peak in peaks.items()}


def moves(sums_clk: float, copies_clk: float, shared: float) -> tuple[float, float]:
    """The clocks of a load and of a store of a vector.

    A sum has `READ` loads and a store, a copy a load and `WRITTEN` stores; the one of its kind
    takes the part `shared` of its time beside the others.  Neither kind is taken for less than half
    of the other's share.
    """
    both = READ * WRITTEN - shared**2
    load = (WRITTEN * sums_clk - shared * copies_clk) / both
    store = (READ * copies_clk - shared * sums_clk) / both
    load = max(load, sums_clk / (READ + 1) / 2)
    return load, max(store, copies_clk / (WRITTEN + 1) / 2)


def sharing(sums_clk: float, copies_clk: float, updates_clk: float) -> float:
    """The part of the shorter of loads and stores that is not beside the others, from 0 to 1.

    An update has two loads and a store, which take longer together the more of it there is.
    """

    def taken_clk(shared: float) -> float:
        load, store = moves(sums_clk, copies_clk, shared)
        return max(2 * load, store) + shared * min(2 * load, store)

    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if taken_clk(middle) < updates_clk else (low, middle)
    return low


def wider(clk: Mapping[str, float]) -> float:
    """How much longer lines take with the widest registers, in loops that copy."""
    ratios = [
        clk[f"wide copy {level}"] / clk[f"copy {level}"]
        for level in ("l3", "dram")
        if f"copy {level}" in clk
    ]
    return min(max(math.prod(ratios) ** (1 / len(ratios)), 1.0), MOST_WIDER)


def covered(clk: Mapping[str, float]) -> int:
    """The bytes whose pages the TLB has: up to the first number of pages that are walked for."""
    fast, slow = clk[f"pages {TLB_HITS}"], clk[f"pages {TLB_MISSES}"]
    for entries, more in TLB_ENTRIES:
        if clk[f"pages {more}"] > fast + BETWEEN * (slow - fast):
            return entries * PAGE_BYTES
    return TLB_ENTRIES[-1][0] * PAGE_BYTES


def walked(clk: Mapping[str, float], covers: int) -> float:
    """The clocks of a page walk: the least, as the page tables themselves may lie badly."""
    missed = [more for _, more in TLB_ENTRIES if more * PAGE_BYTES > covers]
    return min(clk[f"pages {more}"] for more in missed) - clk[f"pages {TLB_HITS}"]


def held(size: int, near: float, far: float, clk: Mapping[str, float]) -> int:
    """How much of a shared last cache one process has: where reading slows towards DRAM's rate.

    That is between the last array that was read fast and the first that was not.
    """
    for part in (2, 3, 4):
        if clk[f"stream last {part}/4"] > near + BETWEEN * max(far - near, 0.0):
            return size * (2 * part - 1) // 8
    return size


def unsettled(runs: Mapping[str, tuple[float, float]]) -> list[str]:
    """The kernels whose least time was met once only, of their two least times."""
    return [name for name, (least, second) in runs.items() if second > least * AGREE]


def device_file(
    found: FoundCpu, measured: Mapping[str, float], when: date, apart: Sequence[str] = ()
) -> str:
    """The text of a device file; what was not measured is the generic CPU's.

    It names the kernels `apart` of which no two runs agreed.
    """
    base = load(found.base)
    source = f"measured on this machine, {when.isoformat()}"
    told = "told by the operating system"
    slug = re.sub(r"[^a-z0-9]+", "-", found.name.lower()).strip("-") or "cpu"
    lines = [
        *([f"# No two runs agreed of: {', '.join(apart)}"] if apart else ()),
        f'extends = "{base.id}"',
        f'id = "{slug}"',
        f"name = {_text(f'{found.name}, {found.cores} cores')}",
        "aliases = []",
    ]
    tables: dict[str, list[str]] = {}
    sources: list[str] = []
    for key, value in measured.items():
        table, _, name = key.rpartition(".")
        number = f"{int(value)}" if _whole(key) else f"{value:.4g}"
        (tables.setdefault(table, []) if table else lines).append(f"{name} = {number}")
        system = _whole(key) and key not in ("cpu.l3.bytes", "cpu.tlb_bytes")
        where = OTHER_SOURCES.get(key, told if system else source)
        sources.append(f'"{key}" = {_text(where)}')
    for table, entries in tables.items():
        lines += ["", f"[{table}]", *entries]
    return "\n".join([*lines, "", "[sources]", *sources, ""])


def _whole(key: str) -> bool:
    """Whether a number is a count or a size, which the system tells."""
    return key.rpartition(".")[2] in INTEGER_KEYS


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
