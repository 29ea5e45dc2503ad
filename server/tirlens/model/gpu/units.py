"""Busy time of each unit, the roofline, and which unit bounds a kernel.

Units: ``tensor fp32 fp64 int sfu issue shared l2 dram``.  Busy time is work over the sustained
rate of the whole device, so that a leaf's greatest busy time is a lower bound of its time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tirlens.hardware.spec import Device, Peak
from tirlens_worker.facts import Copy, Gemm, Mma

from ..tree.context import WARP
from ..tree.node import CostNode
from .compiler.matrix_operands import operand_read_counts
from .compiler.register_ports import is_register_tile_product
from .memory.row_efficiency import row_efficiency

COMPUTE = frozenset(["tensor", "fp32", "fp64", "int", "sfu", "issue"])
MEMORY = frozenset(["shared", "l2", "dram", "atomics"])
SHARED_SCOPES = frozenset(["shared", "shared.dyn"])
# What one pass of the data path that L1 and shared memory have in common moves: 32 banks of four
# bytes (CUDA C++ Programming Guide, "Shared Memory").
PASS_BYTES = 128
# Tags that L1 compares in a clock (measured: see `line_clocks`).
LINES_PER_CLK = 4
# What one SM can take from L2 or give it in a clock: 15.5 TB/s over all SMs of an H200, of which
# tiles that TMA copies reach 12 to 15 and nothing reaches more (see `l2_rate`).
L2_PORT_BYTES_PER_CLK = 64
# Of that, what all SMs reach together with tiles that TMA copies (measured: see `l2_rate`).
TILE_COPY_FRACTION = 0.8
# Of the peak, what back-to-back matrix instructions reach before power limits the clock: an
# estimate; loops of nothing else reach 0.90 to 0.97.
MATRIX_EFFICIENCY = 0.95
# Stores reach L2 at 4 to 4.5 TB/s where loads of tiles reach 10 on an H100 and an H800.
L2_WRITE_FRACTION = 0.45


def peak(device: Device, name: str) -> Peak:
    """The rate of a class; a class the device lacks runs on the unit that does its work.

    A missing tensor-core type is computed in the next wider one, then on the scalar cores.
    """
    for candidate in (name, *_WIDER.get(name, ()), "fp32"):
        found = device.peaks.get(candidate)
        if found is not None:
            return found
    raise ValueError(f"device {device.id} has no rate for fp32")


_WIDER: Mapping[str, tuple[str, ...]] = {
    "tensor.float4": ("tensor.float8", "tensor.float16"),
    "tensor.float6": ("tensor.float8", "tensor.float16"),
    "tensor.float8": ("tensor.float16",),
    "tensor.int4": ("tensor.int8", "tensor.float16"),
    "tensor.int8": ("tensor.float16", "int32"),
    "tensor.bfloat16": ("bf16",),
    "tensor.float16": ("fp16",),
    "tensor.float64": ("fp64",),
}


def burst_fraction(item: CostNode, device: Device) -> float:
    """Time of a leaf's matrix products without the power limit over their time with it."""
    classes = [name for name in item.arith.flop_by_class if name.startswith("tensor.")]
    limited = max((peak(device, name).sustained_fraction for name in classes), default=1.0)
    return min(limited / MATRIX_EFFICIENCY, 1.0)


def sustained(device: Device, name: str) -> float:
    """The FLOP/s that an operation class keeps up at the clocks of a loaded device."""
    found = peak(device, name)
    return found.flop_per_s * found.sustained_fraction


def as_mixed(device: Device, leaves: Iterable[CostNode]) -> Device:
    """The device with the rate that its DRAM has for a kernel's mix of reads and writes.

    Turning between the two takes time, the more often the more even they are: on A100, H100, L40,
    A40 and V100 what only reads or only writes is 2 to 14 % faster than a copy, and a triad, with a
    write for two reads, mostly between them (gpu-benches, gpu-stream).
    """
    one_way, both_ways = device.dram.one_way_fraction, device.dram.sustained_fraction
    if one_way is None:
        return device
    read = write = 0.0
    for leaf in leaves:
        read += leaf.traffic.dram_read_bytes
        write += leaf.traffic.dram_write_bytes
    if not read + write:
        return device
    turning = 2 * min(read, write) / (read + write)
    fraction = one_way + (both_ways - one_way) * turning
    return replace(device, dram=replace(device.dram, sustained_fraction=fraction))


def filled_slots(item: CostNode, device: Device) -> float:
    """The share of an SM's issue slots that a leaf's instructions fill with as many warps as fit.

    Products of register tiles fill them all; what else a compiler makes is of many kinds, of which
    some wait for their operands or for a unit that the others leave idle.
    """
    fraction = device.mixed_issue_fraction
    return 1.0 if fraction == 1.0 or is_register_tile_product(item) else fraction


def busy_seconds(item: CostNode, device: Device) -> dict[str, float]:
    """How long each unit of the whole device is busy with one leaf."""
    out: dict[str, float] = {}
    issued = 0.0
    arith = item.arith
    # A warp of fewer threads takes as long for an instruction as a whole one.
    whole = WARP / item.context.first_warp_lanes
    for name, flop in arith.flop_by_class.items():
        if name.startswith("tensor."):
            # An instruction with too few rows leaves a part of the cores idle.
            filled = item.source.filled if isinstance(item.source, Mma) else 1.0
            _add(out, "tensor", flop / sustained(device, name) / filled)
    for (unit, name), each in item.instructions.items():
        instructions = each * whole
        issued += instructions
        if unit == "fma":
            resource = "fp64" if name == "fp64" else "fp32"
            _add(out, resource, 2 * instructions / sustained(device, name))
        elif unit == "int":
            _add(out, "int", instructions / sustained(device, "int32"))
        elif unit == "sfu":
            _add(out, "sfu", instructions / sustained(device, "sfu"))
        elif unit == "cvt":
            # Conversions run beside the special functions.
            _add(out, "sfu", instructions / sustained(device, "cvt"))
        elif unit == "shuffle":
            _add(out, "shared", instructions / (WARP * device.sm_count * device.clock_hz))
    requests = memory_requests(item, device)
    issued += requests.instructions * WARP + item.skipped_instructions * whole
    integers = item.index_instructions * requests.most * WARP + item.predicate_instructions * whole
    if integers:
        issued += integers
        _add(out, "int", integers / sustained(device, "int32"))
    if issued:
        # The clock under load is lower than the boost clock by as much as the cores' rate is.
        rate = device.issue_per_clk_per_sm * WARP * device.sm_count * device.clock_hz
        rate *= device.peaks["fp32"].sustained_fraction * filled_slots(item, device)
        _add(out, "issue", issued / rate)
    clocks = requests.clocks + requests.tile_bytes / device.shared_bytes_per_clk_per_sm
    if clocks:
        _add(out, "shared", clocks / (device.sm_count * device.clock_hz))
    moved = item.traffic
    l2 = moved.l2_read_bytes + moved.l2_write_bytes / L2_WRITE_FRACTION
    if l2:
        _add(out, "l2", l2 / l2_rate(item, device))
    dram = moved.dram_write_bytes
    if moved.dram_read_bytes:
        dram += moved.dram_read_bytes / row_efficiency(item)
    if dram:
        _add(out, "dram", dram / (device.dram.bytes_per_s * device.dram.sustained_fraction))
    return out


class MemoryRequests(NamedTuple):
    """A leaf's loads and stores: instructions of warps, clocks of L1 and shared memory.

    `most` is the greatest number of instructions of one access.  `tile_bytes` go to or from shared
    memory without load and store instructions, as the operands of matrix instructions and what TMA
    brings.
    """

    instructions: float
    clocks: float
    tile_bytes: float
    most: float = 0.0


_NO_REQUESTS = MemoryRequests(0.0, 0.0, 0.0)


def moved_by_tma(item: CostNode, device: Device) -> bool:
    """Whether TMA can copy a leaf's tile between global and shared memory."""
    moves = isinstance(item.source, Copy) and bool(item.global_bytes)
    return moves and item.shared_bytes > 0 and "tma" in device.features


def memory_requests(item: CostNode, device: Device) -> MemoryRequests:
    """What the accesses of a leaf ask of the path to L1 and shared memory, over the launch.

    An instruction takes a clock for each pass of the data and for each group of lanes whose
    addresses the load and store units take at a time, whichever are more.
    Kernels of matrix products copy their tiles by TMA where there is one, past L1.
    """
    if not item.count.accesses and not isinstance(item.source, Mma):
        return _NO_REQUESTS
    instructions = clocks = most = 0.0
    pass_clocks = PASS_BYTES / device.shared_bytes_per_clk_per_sm
    least = WARP / device.load_store_lanes_per_clk_per_sm
    known, anew = (
        (item.mapping.requests, item.mapping.issued_shares)
        if item.mapping is not None
        else ((), ())
    )
    tile_bytes = _operand_bytes(item)
    by_tma = bool(item.accumulators) and moved_by_tma(item, device)
    times = operand_read_counts(item, device) if isinstance(item.source, Gemm) else ()
    loaded: set[tuple[Any, ...]] = set()
    for number, entry in enumerate(item.count.accesses):
        request = known[number] if number < len(known) else None
        if entry.access.mode == "read" and request is not None:
            # One statement loads what it names several times once.
            place = (entry.access.buffer, entry.access.indices, entry.access.extents)
            if place in loaded:
                continue
            loaded.add(place)
        if request is None or not entry.elements or by_tma or entry.access.route == "tma":
            if entry.bytes and entry.buffer.scope in SHARED_SCOPES:
                tile_bytes += entry.bytes * (times[number] if number < len(times) else 1.0)
            continue
        count = entry.elements / request.elements_per_warp
        if anew:
            count *= anew[number]
        if entry.access.route == "async":
            # One instruction reads global memory and writes shared memory.
            instructions += count if entry.buffer.scope in SHARED_SCOPES else 0.0
        else:
            instructions += count
        tags = line_clocks(request.lines, entry.access.mode == "read", device)
        clocks += count * max(request.wavefronts * pass_clocks, tags, least)
        most = max(most, count)
    return MemoryRequests(instructions, clocks, tile_bytes, most)


def line_clocks(lines: float, loads: bool, device: Device) -> float:
    """Clocks in which L1 finds the `lines` that one instruction of a warp `loads` or stores to.

    NVIDIA's takes four lines in a clock after the first one: loads of floats 2 to 26 apart that
    meet in no bank, and of rows of 1 to 32 floats, take 1 + (lines - 1) / 4 clocks to within a
    tenth on an A40, an A100 and an H200 (te42kyfo/gpu-benches@1c36d50 gpu-strides).  An MI210 takes
    one line after the other, and more.
    """
    if loads and lines and device.vendor == "NVIDIA":
        return 1 + (lines - 1) / LINES_PER_CLK
    return lines * PASS_BYTES / device.shared_bytes_per_clk_per_sm


def _operand_bytes(item: CostNode) -> float:
    """What instructions that name their operands by descriptors read of shared memory."""
    each = float(item.source.operand_bytes) if isinstance(item.source, Mma) else 0.0
    if not each:
        return 0.0
    return sum(
        each
        * (entry.total or 0)
        / math.prod(size for size in entry.arith.shape if isinstance(size, int))
        for entry in item.count.arith
        if entry.arith.op == "mma"
    )


def l2_rate(item: CostNode, device: Device) -> float:
    """Bytes per second between L2 and the SMs for what a leaf moves.

    The measured rates of L2 are of load instructions.  Tiles that TMA copies reach 12 to 15 TB/s
    on an H200, 0.8 and more of the 64 bytes a clock that each SM can take.
    """
    rate = device.l2.bytes_per_s * device.l2.sustained_fraction
    if moved_by_tma(item, device):
        port = L2_PORT_BYTES_PER_CLK * device.sm_count * device.clock_hz
        rate = max(rate, TILE_COPY_FRACTION * port)
    return rate


def repeated_l2_seconds(leaves: Iterable[CostNode], device: Device) -> float:
    """How long L2 is busy with what does not come from or go to DRAM."""
    total = 0.0
    for leaf in leaves:
        moved = leaf.traffic
        asked = moved.l2_read_bytes + moved.l2_write_bytes / L2_WRITE_FRACTION
        if not asked:
            continue
        passed = min(moved.dram_read_bytes, moved.l2_read_bytes)
        passed += min(moved.dram_write_bytes, moved.l2_write_bytes) / L2_WRITE_FRACTION
        total += (asked - passed) / l2_rate(leaf, device)
    return total


def _add(table: dict[str, float], key: str, value: float) -> None:
    if value:
        table[key] = table.get(key, 0.0) + value


def sum_seconds(items: Iterable[CostNode]) -> dict[str, float]:
    """How long each part of the device is busy with `items`, in seconds by its name."""
    out: dict[str, float] = {}
    for item in items:
        for key, value in item.busy_s.items():
            out[key] = out[key] + value if key in out else value
    return out


def roofline_seconds(
    device: Device, flop_by_class: Mapping[str, int], compulsory_bytes: float | None
) -> float:
    """The datasheet roofline: no kernel that does this work on this device is faster."""
    compute = 0.0
    for name, flop in flop_by_class.items():
        compute = max(compute, flop / peak(device, name).flop_per_s)
    memory = (compulsory_bytes or 0.0) / device.dram.bytes_per_s
    return max(compute, memory)


def sustained_roofline_seconds(
    device: Device, flop_by_class: Mapping[str, int], compulsory_bytes: float | None
) -> float:
    """The roofline at the rates that the best long-running kernels reach."""
    compute = (flop / sustained(device, name) for name, flop in flop_by_class.items())
    rate = device.dram.bytes_per_s * device.dram.sustained_fraction
    return max((compulsory_bytes or 0.0) / rate, *compute)


def dominant_class(device: Device, flop_by_class: Mapping[str, int]) -> str | None:
    """The class whose operations take longest at the peak rates."""
    if not flop_by_class:
        return None
    return max(flop_by_class, key=lambda name: flop_by_class[name] / peak(device, name).flop_per_s)
