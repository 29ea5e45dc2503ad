"""Busy time of each unit of the device, in seconds.

Units are ``tensor fp32 fp64 int sfu issue shared l2 atomics dram``.  Busy time is work over the
sustained rate of the whole device.  The largest busy time of a statement is a lower bound of its
time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Gemm, Mma

from ...constants import constant
from ...roofline import peak, sustained_flop_per_s
from ...tree.compiled import Compiled, Instructions
from ...tree.context import SECTOR_BYTES, WARP
from ...tree.moved import Moved, Traffic
from ...tree.node import Leaf
from ...tree.route import Route
from ...tree.thread_mapping import SHARED_SCOPES
from ..compiler.matrix_instructions import matrix_rate_fraction, operand_read_counts
from ..compiler.register_ports import is_register_tile_product
from ..memory.atomic_contention import ATOMIC_PASS_CLOCKS, shared_wavefronts
from ..memory.row_efficiency import row_efficiency

#: Units that all SMs share; ``l2 again`` is the time of L2 hits.
DEVICE_WIDE_UNITS = frozenset({"dram", "l2", "l2 again", "atomics"})
WAVEFRONT_BYTES = constant(
    "WAVEFRONT_BYTES",
    128,
    kind="isa",
    unit="bytes",
    meaning="Bytes of one wavefront of the L1 and shared memory data path: 32 banks of 4 bytes.",
    source='CUDA C++ Programming Guide, "Shared Memory"',
)
MATRIX_BURST_FRACTION = constant(
    "MATRIX_BURST_FRACTION",
    0.95,
    kind="estimate",
    unit="fraction",
    meaning=(
        "Fraction of the peak that back-to-back matrix instructions reach before the power "
        "limit lowers the clock."
    ),
    source="loops of matrix instructions alone reach 0.90 to 0.97",
    bounds=(0.9, 0.97),
)


def burst_fraction(item: Leaf, route: Route, device: Device) -> float:
    """The time of a statement's matrix products without the power limit over that with it."""
    classes = [name for name in item.arith.flop_by_class if name.startswith("tensor.")]
    return max((_power_share(name, route, device) for name in classes), default=1.0)


def _power_share(name: str, route: Route, device: Device) -> float:
    """The rate of a product that the power limit leaves, over its rate without that limit.

    Instructions that reach a part of the peak are limited only where that part is above the rate
    that the limit leaves of the peak.
    """
    rate = MATRIX_BURST_FRACTION * matrix_rate_fraction(name, route.instruction, device)
    return min(peak(device, name).sustained_fraction / rate, 1.0)


def _matrix_flop_per_s(name: str, route: Route, device: Device) -> float:
    """The sustained FLOP per second of a product."""
    fraction = matrix_rate_fraction(name, route.instruction, device)
    if fraction == 1.0:
        return sustained_flop_per_s(device, name)
    rate = MATRIX_BURST_FRACTION * fraction
    return peak(device, name).flop_per_s * rate * _power_share(name, route, device)


def issue_fraction(item: Leaf, compiled: Instructions, device: Device) -> float:
    """The fraction of an SM's issue slots that a statement's instructions fill at full occupancy.

    Products of register tiles fill all slots.  Other compiled code is a mix of instructions, some
    of which wait for operands or units.
    """
    fraction = device.mixed_issue_fraction
    return (
        1.0 if fraction == 1.0 or is_register_tile_product(item, compiled.operations) else fraction
    )


def issue_rate(device: Device) -> float:
    """The instructions of threads per second that a device issues to full warps under load.

    The clock under load is lower than the boost clock in proportion to the sustained rate.
    """
    rate = device.issue_per_clk_per_sm * WARP * device.sm_count * device.clock_hz
    return rate * device.peaks["fp32"].sustained_fraction


def unit_busy_times(
    item: Leaf, compiled: Compiled, moved: Moved, device: Device
) -> dict[str, float]:
    """The busy time of each unit of the device for one statement, in seconds by unit."""
    row, route = compiled.instructions[item], compiled.routes[item]
    out: dict[str, float] = {}
    issued = 0.0
    arith = item.arith
    # An instruction of one lane takes as long as one of a full warp.
    warp = item.context.warp_size
    whole = warp / item.lanes
    for name, flop in arith.flop_by_class.items():
        if name.startswith("tensor."):
            # A matrix instruction with few rows leaves a part of the tensor core idle.
            filled = item.source.filled if isinstance(item.source, Mma) else 1.0
            _add(out, "tensor", flop / _matrix_flop_per_s(name, route, device) / filled)
    for (unit, name), each in row.operations.items():
        instructions = each * whole
        issued += instructions
        if unit == "fma":
            resource = "fp64" if name == "fp64" else "fp32"
            _add(out, resource, 2 * instructions / sustained_flop_per_s(device, name))
        elif unit == "int":
            _add(out, "int", instructions / sustained_flop_per_s(device, "int32"))
        elif unit == "sfu":
            _add(out, "sfu", instructions / sustained_flop_per_s(device, "sfu"))
        elif unit == "cvt":
            # Conversions run on the special function unit.
            _add(out, "sfu", instructions / sustained_flop_per_s(device, "cvt"))
        elif unit == "shuffle":
            _add(out, "shared", instructions / (WARP * device.sm_count * device.clock_hz))
    requests = leaf_requests(item, row, route, device)
    issued += requests.instructions * warp + row.skipped
    integers = row.index * requests.max_instructions * warp + row.predicate
    if integers:
        issued += integers
        _add(out, "int", integers / sustained_flop_per_s(device, "int32"))
    if issued:
        rate = issue_rate(device) * issue_fraction(item, row, device)
        _add(out, "issue", issued / rate)
    clocks = requests.clocks + requests.tile_bytes / device.shared_bytes_per_clk_per_sm
    if clocks:
        _add(out, "shared", clocks / (device.sm_count * device.clock_hz))
    traffic, atomics = moved.traffic[item], moved.atomics[item]
    write_fraction = device.microarchitecture.l2_write_fraction
    l2 = traffic.l2_read_bytes + traffic.l2_write_bytes / write_fraction
    if l2:
        _add(out, "l2", l2 / l2_bytes_per_s(route, device))
    if atomics.passes:
        # A pass reads and writes a sector.
        sectors_s = 2 * SECTOR_BYTES * atomics.passes / l2_bytes_per_s(route, device)
        line_s = atomics.line_passes * ATOMIC_PASS_CLOCKS / device.clock_hz
        _add(out, "atomics", max(sectors_s, line_s))
    dram = traffic.dram_write_bytes
    if traffic.dram_read_bytes:
        dram += traffic.dram_read_bytes / row_efficiency(item)
    if dram:
        _add(out, "dram", dram / moved.memory.dram_bytes_per_s)
    return out


class LeafRequests(NamedTuple):
    """The loads and stores of a statement over the launch.

    Attributes
    ----------
    instructions
        Load and store instructions of warps.
    clocks
        Clocks of the L1 and shared memory data path, summed over SMs.
    tile_bytes
        Bytes to or from shared memory without such instructions: operands of matrix instructions,
        and TMA copies.
    max_instructions
        Instructions of the access with the most.
    """

    instructions: float
    clocks: float
    tile_bytes: float
    max_instructions: float = 0.0


_NO_REQUESTS = LeafRequests(0.0, 0.0, 0.0)


def leaf_requests(item: Leaf, compiled: Instructions, route: Route, device: Device) -> LeafRequests:
    """The requests of a statement to L1 and shared memory, over the launch.

    An instruction takes the larger of one clock for each wavefront and one clock for each group of
    lanes whose addresses the load and store units process at a time.  TMA bypasses L1.
    """
    if not item.count.accesses and not isinstance(item.source, Mma):
        return _NO_REQUESTS
    instructions = clocks = most = 0.0
    pass_clocks = WAVEFRONT_BYTES / device.shared_bytes_per_clk_per_sm
    least = item.context.warp_size / device.load_store_lanes_per_clk_per_sm
    mapping = compiled.mapping
    requests, issued_shares = mapping.requests, mapping.issued_shares
    tile_bytes = _descriptor_operand_bytes(item)
    by_tma = route.copy == "tma"
    times = operand_read_counts(item, route.instruction) if isinstance(item.source, Gemm) else ()
    loaded: set[tuple[Any, ...]] = set()
    for number, entry in enumerate(item.count.accesses):
        request = requests[number] if number < len(requests) else None
        if entry.access.mode == "read" and request is not None:
            # One statement loads what it names several times once.
            place = (entry.access.buffer, entry.access.indices, entry.access.extents)
            if place in loaded:
                continue
            loaded.add(place)
        is_descriptor = entry.access.route == "mma" and item.source.per == "thread"
        is_without_threads = by_tma or is_descriptor or entry.access.route == "tma"
        if request is None or not entry.elements or is_without_threads:
            contended = None
            if entry.access.mode == "atomic" and entry.buffer.scope in SHARED_SCOPES:
                contended = shared_wavefronts(item, number, mapping, device.arch)
            if contended is not None:
                count = (entry.elements or 0) / item.lanes
                instructions += count
                clocks += count * max(contended * pass_clocks, least)
                most = max(most, count)
            elif entry.bytes and entry.buffer.scope in SHARED_SCOPES:
                tile_bytes += entry.bytes * (times[number] if number < len(times) else 1.0)
            continue
        count = entry.elements / request.elements_per_warp
        if issued_shares:
            count *= issued_shares[number]
        if entry.access.route == "async" or route.copy in ("async", "lds"):
            # One instruction reads global memory and writes shared memory.
            instructions += count if entry.buffer.scope in SHARED_SCOPES else 0.0
        else:
            instructions += count
        tags = tag_clocks(request.lines, entry.access.mode == "read", device)
        wavefronts = request.wavefronts
        if entry.access.mode == "atomic" and entry.buffer.scope in SHARED_SCOPES:
            wavefronts = shared_wavefronts(item, number, mapping, device.arch) or wavefronts
        clocks += count * max(wavefronts * pass_clocks, tags, least)
        most = max(most, count)
    return LeafRequests(instructions, clocks, tile_bytes, most)


def tag_clocks(lines: float, loads: bool, device: Device) -> float:
    """Clocks of the L1 tag lookups of one instruction of a warp that accesses `lines` lines.

    NVIDIA's L1 looks up four lines in a clock after the first one: loads of floats with strides 2
    to 26 without bank conflicts, and of rows of 1 to 32 floats, take 1 + (lines - 1) / 4 clocks
    within 10 % on A40, A100 and H200 (te42kyfo/gpu-benches@1c36d50 gpu-strides).  An MI210 looks up
    one line at a time.
    """
    lines_per_clk = device.microarchitecture.l1_lines_per_clk
    if loads and lines and lines_per_clk is not None:
        return 1 + (lines - 1) / lines_per_clk
    return lines * WAVEFRONT_BYTES / device.shared_bytes_per_clk_per_sm


def _descriptor_operand_bytes(item: Leaf) -> float:
    """Bytes of shared memory that matrix instructions read through descriptors."""
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


def l2_bytes_per_s(route: Route, device: Device) -> float:
    """The L2 bandwidth of a statement's accesses, in bytes per second.

    The measured L2 rates are those of load instructions.  TMA tile copies reach 12 to 15 TB/s on an
    H200, at least 0.8 of the 64 bytes per clock of each SM's port.
    """
    rate = device.l2.bytes_per_s * device.l2.sustained_fraction
    if route.copy == "tma":
        sm = device.microarchitecture
        port = sm.l2_port_bytes_per_clk * device.sm_count * device.clock_hz
        rate = max(rate, sm.tma_l2_port_fraction * port)
    return rate


def l2_hit_seconds(traffics: Iterable[Traffic], routes: Iterable[Route], device: Device) -> float:
    """The time of L2 hits in seconds: of bytes that neither come from nor go to DRAM."""
    total = 0.0
    write_fraction = device.microarchitecture.l2_write_fraction
    for traffic, route in zip(traffics, routes, strict=True):
        asked = traffic.l2_read_bytes + traffic.l2_write_bytes / write_fraction
        if not asked:
            continue
        passed = min(traffic.dram_read_bytes, traffic.l2_read_bytes)
        passed += min(traffic.dram_write_bytes, traffic.l2_write_bytes) / write_fraction
        total += (asked - passed) / l2_bytes_per_s(route, device)
    return total


def _add(table: dict[str, float], key: str, value: float) -> None:
    if value:
        table[key] = table.get(key, 0.0) + value


def sum_busy_times(unit_times_s: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The busy time of each unit for some statements together, in seconds by unit."""
    out: dict[str, float] = {}
    for unit_s in unit_times_s:
        for key, value in unit_s.items():
            out[key] = out[key] + value if key in out else value
    return out
