"""Lower bounds of kernels without a schedule: no thread bindings, or a device without threads.

The bound holds for every schedule.  All operations are executed, sums of products of narrow types
on the matrix units.  Each byte of the arrays that the function takes is moved once; its own arrays
are removed by schedules that fuse their statements.  Cache traffic depends on a schedule and is
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer

from ..counting.kernel_counts import Footprint
from ..dtypes import bits, tensor_class
from ..gpu.kernel import compile_for, find_launch, move_bytes
from ..report import Launch, Work
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
from ..tree.table import Table
from ..tree.timed_kernel import TimedKernel
from ..tree.timed_node import timed_tree
from ..workload import Workload
from .bound import find_bound
from .modelled import Judgement, Modelled, TimeShares
from .traffic import least_dram_bytes, sum_traffic

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


def report_lower_bound(workload: Workload, work: Work, device: Device) -> Modelled:
    """The lower bound of the time of a kernel, and the unit that takes the longest.

    The rates are those of the data sheet for a GPU, and sustained ones for an accelerator.
    """
    is_gpu = device.kind == "gpu"
    footprint = unavoidable_footprint(workload.counted.footprint, workload.facts.buffers)
    moved = limit_to_compulsory_bytes(
        _unscheduled_traffic(workload, device), None if footprint is None else footprint.bytes
    )
    flop_by_class = fastest_classes(leaves_of(workload.tree))

    def rate(name: str) -> float:
        return peak(device, name).flop_per_s if is_gpu else sustained_flop_per_s(device, name)

    dram = device.dram.bytes_per_s * (1.0 if is_gpu else device.dram.sustained_fraction)
    unit_s = Table(
        _roofline_times(
            workload.tree, moved, flop_by_class, rate, None if footprint is None else dram
        )
    )
    least = least_dram_bytes(moved, footprint)
    least = None if least is None else round(least)
    roofline = roofline_seconds if is_gpu else sustained_roofline_seconds
    kernel = TimedKernel(
        workload.tree,
        moved,
        Busy(unit_s, Table(NO_SPILLS for _ in moved)),
        routes=None,
        node_times=timed_tree(workload.tree, lambda leaf: max(unit_s[leaf].values(), default=0.0)),
        time=KernelTime(0.0, roofline(device, flop_by_class, least), 0.0, None),
    )
    traffic = sum_traffic(kernel, footprint, work, device)

    def judge(shares: TimeShares) -> Judgement:
        found = find_bound(device, shares.utilisation, device.sm_count, shares.launch, shares.tail)
        return Judgement(replace(found, reason="lower bound, unscheduled"), {}, None)

    return Modelled(
        kernel,
        traffic,
        roofline_seconds(device, flop_by_class, least),
        launch=Launch(schedule="unscheduled"),
        judge=judge,
        refusal=None,
        notes=(),
        math_fidelity=_math_fidelity(device, flop_by_class),
    )


def _unscheduled_traffic(workload: Workload, device: Device) -> Table[Traffic]:
    """The traffic of the statements as if each were a thread's."""
    compiled = compile_for(workload, device)
    launch = find_launch(workload, compiled, device)
    return move_bytes(workload, compiled, launch, device).traffic


def _math_fidelity(device: Device, flop_by_class: Mapping[str, int]) -> str | None:
    """The fidelity of the matrix products that take the longest; None where there are none."""
    products = {name: flop for name, flop in flop_by_class.items() if name.startswith("tensor.")}
    slowest = dominant_class(device, products)
    return None if slowest is None else peak(device, slowest).fidelity


def _roofline_times(
    tree: tuple[CostNode, ...],
    traffic: Table[Traffic],
    flop_by_class: Mapping[str, int],
    rate: Callable[[str], float],
    dram_bytes_per_s: float | None,
) -> Iterator[Mapping[str, float]]:
    """The roofline's unit times of the statements; without DRAM where its bytes are not known.

    Of several classes on one unit the one with the longest time counts.
    """
    longest: dict[str, str] = {}
    for name in sorted(flop_by_class, key=lambda one: flop_by_class[one] / rate(one)):
        longest[_unit(name)] = name
    for leaf in leaves_of(tree):
        done = fastest_classes([leaf])
        seconds = {
            unit: done[name] / rate(name) for unit, name in longest.items() if done.get(name)
        }
        moved_bytes = traffic[leaf].dram_bytes
        if moved_bytes and dram_bytes_per_s is not None:
            seconds["dram"] = moved_bytes / dram_bytes_per_s
        yield seconds


def _unit(name: str) -> str:
    return "tensor" if name.startswith("tensor.") else _UNITS.get(name, "fp32")
