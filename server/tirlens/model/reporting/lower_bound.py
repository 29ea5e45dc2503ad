"""Lower bounds of kernels without a schedule: no thread bindings, or a device without threads.

The bound holds for every schedule.  All operations are executed, sums of products of narrow types
on the matrix units.  Each byte of the arrays that the function takes is moved once; its own arrays
are removed by schedules that fuse their statements.  Cache traffic depends on a schedule and is
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer

from ..counting.kernel_counts import Footprint
from ..dtypes import bits, tensor_class
from ..report import KernelReport
from ..roofline import (
    dominant_class,
    peak,
    roofline_seconds,
    sustained_flop_per_s,
    sustained_roofline_seconds,
)
from ..tree.busy import NO_SPILLS, Busy
from ..tree.kernel_time import KernelTime
from ..tree.moved import Traffic
from ..tree.node import CostNode, Leaf, leaves_of
from ..tree.statement_costs import Leafs
from ..tree.table import Table
from ..tree.timed_node import timed_tree
from .report_builder import add_time

_UNITS = {"fp64": "fp64", "sfu": "sfu"}
# Operands of which matrix units compute the same sums of products as the scalar cores.
_NARROW = ("float16", "bfloat16", "float8")


def unavoidable_footprint(
    footprint: Footprint | None, buffers: Iterable[Buffer]
) -> Footprint | None:
    """The footprint of the arrays that a function takes, without those that it allocates.

    Nor does it have the bytes that the function reads after it has written them.
    """
    if footprint is None:
        return None
    return footprint.unavoidable({buffer.id for buffer in buffers if buffer.is_parameter})


def fastest_classes(leaves: Iterable[Leaf]) -> dict[str, int]:
    """The FLOP of statements by the class in which a schedule computes them fastest."""
    found: dict[str, int] = {}
    for leaf in leaves:
        matrix = _matrix_class(leaf)
        for name, flop in leaf.arith.flop_by_class.items():
            key = name if matrix is None or name == "sfu" else matrix
            found[key] = found.get(key, 0) + flop
    return found


def _matrix_class(leaf: Leaf) -> str | None:
    """The matrix units' class of a sum of products of narrow types; None for other statements."""
    operations = {one.op for one in leaf.source.arith if not one.index}
    if not ("fma" in operations or {"mul", "add"} <= operations):
        return None
    dtypes: dict[str, dict[str, str]] = {"read": {}, "write": {}, "atomic": {}}
    for entry in leaf.count.accesses:
        dtypes[entry.access.mode][entry.access.buffer] = entry.buffer.dtype
    read, written = dtypes["read"], dtypes["write"]
    operands = {dtype for name, dtype in read.items() if name not in written}
    if not written.keys() & read.keys() or not all(one.startswith(_NARROW) for one in operands):
        return None
    widest = max(operands, key=lambda dtype: bits(dtype) or 0, default=None)
    return None if widest is None else tensor_class(widest, next(iter(written.values())))


def limit_to_compulsory_bytes(
    traffic: Table[Traffic], compulsory_bytes: float | None
) -> Table[Traffic]:
    """The traffic of statements, that of DRAM scaled down to the compulsory bytes."""
    total = sum(one.dram_bytes for one in traffic)
    if compulsory_bytes is None or total <= compulsory_bytes:
        return traffic
    share = compulsory_bytes / total
    return Table(
        replace(
            one,
            dram_read_bytes=one.dram_read_bytes * share,
            dram_write_bytes=one.dram_write_bytes * share,
        )
        for one in traffic
    )


def report_lower_bound(
    report: KernelReport,
    device: Device,
    tree: tuple[CostNode, ...],
    traffic: Table[Traffic],
    least_bytes: int | None,
) -> KernelReport:
    """The report with the lower bound of the time, and the unit that takes the longest.

    `least_bytes` are the bytes that any cache moves at least.
    The rates are those of the datasheet for a GPU, and sustained ones for an accelerator.
    """
    is_gpu = device.kind == "gpu"
    leaves = leaves_of(tree)
    flop_by_class = fastest_classes(leaves)
    bytes_moved = least_bytes
    if bytes_moved is not None and not report.compulsory_is_exact:
        # An upper bound of the compulsory bytes is no lower bound of the time.
        bytes_moved = min(bytes_moved, round(sum(one.dram_bytes for one in traffic)))
    roofline = roofline_seconds if is_gpu else sustained_roofline_seconds
    bound = roofline(device, flop_by_class, bytes_moved)
    report = report.replace(roofline_time_s=roofline_seconds(device, flop_by_class, bytes_moved))

    def rate(name: str) -> float:
        return peak(device, name).flop_per_s if is_gpu else sustained_flop_per_s(device, name)

    dram = device.dram.bytes_per_s * (1.0 if is_gpu else device.dram.sustained_fraction)
    unit_s = Table(_roofline_times(report, flop_by_class, leaves, traffic, rate, dram))
    busy = Busy(unit_s, Table(NO_SPILLS for _ in leaves))
    block = timed_tree(tree, lambda leaf: max(unit_s[leaf].values(), default=0.0))
    timed = block, KernelTime(0.0, bound, 0.0, None)
    costs = Leafs(tree, traffic, busy, None)
    report = add_time(report.replace(schedule="unscheduled"), device, costs, timed, device.sm_count)
    return replace(
        report,
        time_band_s=None,
        uncertainty={},
        peak_fraction=_share_of_peak(report.peak_fraction),
        bound_reason="lower bound, unscheduled",
        math_fidelity=_math_fidelity(device, flop_by_class),
    )


def _math_fidelity(device: Device, flop_by_class: Mapping[str, int]) -> str | None:
    """The fidelity of the matrix products that take the longest; None where there are none."""
    products = {name: flop for name, flop in flop_by_class.items() if name.startswith("tensor.")}
    slowest = dominant_class(device, products)
    return None if slowest is None else peak(device, slowest).fidelity


def _share_of_peak(fraction: float | None) -> float | None:
    """The share of a peak; None for sums of products that another unit may compute faster."""
    return fraction if fraction is not None and fraction <= 1 + 1e-9 else None


def _roofline_times(
    report: KernelReport,
    flop_by_class: Mapping[str, int],
    leaves: Sequence[Leaf],
    traffic: Table[Traffic],
    rate: Callable[[str], float],
    dram: float,
) -> Iterator[Mapping[str, float]]:
    """The roofline's unit times of the statements.

    Of several classes on one unit the one with the longest time counts.
    """
    longest: dict[str, str] = {}
    for name in sorted(flop_by_class, key=lambda one: flop_by_class[one] / rate(one)):
        longest[_unit(name)] = name
    for leaf in leaves:
        done = fastest_classes([leaf])
        seconds = {
            unit: done[name] / rate(name) for unit, name in longest.items() if done.get(name)
        }
        moved_bytes = traffic[leaf].dram_bytes
        if moved_bytes and report.compulsory_bytes is not None:
            seconds["dram"] = moved_bytes / dram
        yield seconds


def _unit(name: str) -> str:
    return "tensor" if name.startswith("tensor.") else _UNITS.get(name, "fp32")
