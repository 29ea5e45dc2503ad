"""Lower bounds of kernels without a schedule: no thread bindings, or a device without threads.

The bound holds for every schedule: all operations are executed, and each byte of the arrays is
moved once.  Cache traffic depends on a schedule and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tirlens.hardware.spec import Device

from ..report import KernelReport
from ..roofline import peak, sustained_flop_per_s, sustained_roofline_seconds
from ..tree.kernel_time import KernelTime
from ..tree.node import CostNode, StatementCost, replace_leaves
from ..tree.timed_node import timed_tree
from .report_builder import add_time

_UNITS = {"fp64": "fp64", "sfu": "sfu"}


def limit_to_compulsory_bytes(
    leaves: Sequence[StatementCost], compulsory_bytes: float | None
) -> list[StatementCost]:
    """The leaves with DRAM traffic scaled down to the compulsory bytes."""
    total = sum(leaf.traffic.dram_bytes for leaf in leaves)
    if compulsory_bytes is None or total <= compulsory_bytes:
        return list(leaves)
    share = compulsory_bytes / total
    return [
        leaf.with_traffic(
            replace(
                leaf.traffic,
                dram_read_bytes=leaf.traffic.dram_read_bytes * share,
                dram_write_bytes=leaf.traffic.dram_write_bytes * share,
            )
        )
        for leaf in leaves
    ]


def report_lower_bound(
    report: KernelReport, device: Device, items: Sequence[CostNode], leaves: Sequence[StatementCost]
) -> KernelReport:
    """The report with the lower bound of the time, and the unit that takes the longest.

    The rates are those of the datasheet for a GPU, and sustained ones for an accelerator.
    """
    is_gpu = device.kind == "gpu"
    bound = report.roofline_time_s or 0.0
    if not is_gpu:
        bound = sustained_roofline_seconds(device, report.flop_by_class, report.compulsory_bytes)

    def rate(name: str) -> float:
        return peak(device, name).flop_per_s if is_gpu else sustained_flop_per_s(device, name)

    dram = device.dram.bytes_per_s * (1.0 if is_gpu else device.dram.sustained_fraction)
    items = replace_leaves(items, _with_roofline_times(report, leaves, rate, dram))
    block = timed_tree(items, lambda leaf: max(leaf.busy_s.values(), default=0.0))
    timed = block, KernelTime(0.0, bound, 0.0, None)
    report = add_time(report.replace(schedule="unscheduled"), device, items, timed, device.sm_count)
    return replace(
        report, time_band_s=None, uncertainty={}, bound_reason="lower bound, unscheduled"
    )


def _with_roofline_times(
    report: KernelReport, leaves: Sequence[StatementCost], rate: Callable[[str], float], dram: float
) -> Iterator[StatementCost]:
    """The leaves with the roofline's unit times.

    Of several classes on one unit the one with the longest time counts.
    """
    longest: dict[str, str] = {}
    for name in sorted(report.flop_by_class, key=lambda one: report.flop_by_class[one] / rate(one)):
        longest[_unit(name)] = name
    for leaf in leaves:
        done = leaf.arith.flop_by_class
        seconds = {
            unit: done[name] / rate(name) for unit, name in longest.items() if done.get(name)
        }
        traffic = leaf.traffic.dram_bytes
        if traffic and report.compulsory_bytes is not None:
            seconds["dram"] = traffic / dram
        yield leaf.with_busy_s(seconds)


def _unit(name: str) -> str:
    return "tensor" if name.startswith("tensor.") else _UNITS.get(name, "fp32")
