"""Functions that launch several kernels in sequence, such as the two of a split attention.

The model analyses each kernel with its own launch and merges the reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from tirlens_worker.facts import Branch, Expr, KernelFacts, Let, Loop, Node, Statement, While

from .operations import sum_counts
from .report import BreakdownEntry, CaveatNote, KernelReport, ReadWrite

_BLOCK = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
_THREAD = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


def split_kernels(facts: KernelFacts) -> tuple[KernelFacts, ...]:
    """The facts of each kernel that a function launches; `facts` itself if it is one kernel."""
    grids = [node for node in facts.body if _is_grid(node)]
    if len(grids) < 2 or not all(_is_grid(node) or isinstance(node, Let) for node in facts.body):
        return (facts,)
    return tuple(
        _single_kernel(
            facts, (*(node for node in facts.body[:place] if isinstance(node, Let)), grid)
        )
        for place, grid in enumerate(facts.body)
        if _is_grid(grid)
    )


def merge_reports(reports: Sequence[KernelReport]) -> KernelReport:
    """One report of kernels that run in sequence: sums, and launch and bound of the longest."""
    for report in reports:
        if not report.has_counts:
            return report
    longest = max(reports, key=lambda report: report.time_s or 0.0)
    time_s = _sum_known([report.time_s for report in reports])
    bands = [report.time_band_s for report in reports]
    low, high = (
        _sum_known([None if band is None else band[end] for band in bands]) for end in (0, 1)
    )
    notes = dict.fromkeys(note for report in reports for note in report.caveats)
    note = CaveatNote(
        f"{len(reports)} kernels in sequence: launch and bound are those of the longest",
        longest.span,
    )
    flop = _sum_counts([report.flop for report in reports])
    work = sum_counts(report.operations for report in reports).main
    moved = _sum_read_write([report.dram_bytes for report in reports])
    dram = moved.total
    parts = [(report, (report.time_s or 0.0) / time_s if time_s else 0.0) for report in reports]
    return replace(
        # Without its time the sequence has none, for the same reason.
        next((report for report in reports if report.time_s is None), longest),
        flop=flop,
        useful_flop=_sum_counts([report.useful_flop for report in reports]),
        masked_flop=_sum_counts([report.masked_flop for report in reports]),
        flop_by_class=_sum_by_class([report.flop_by_class for report in reports]),
        int_ops=_sum_counts([report.int_ops for report in reports]),
        global_bytes=_sum_read_write([report.global_bytes for report in reports]),
        compulsory_bytes=_sum_counts([report.compulsory_bytes for report in reports]),
        compulsory_is_exact=all(report.compulsory_is_exact for report in reports),
        compulsory_sector_bytes=_sum_counts([report.compulsory_sector_bytes for report in reports]),
        compulsory_sectors_are_exact=all(report.compulsory_sectors_are_exact for report in reports),
        dram_bytes=moved,
        l2_bytes=_sum_counts([report.l2_bytes for report in reports]),
        shared_bytes=_sum_counts([report.shared_bytes for report in reports]),
        time_s=time_s,
        time_band_s=None if low is None or high is None else (low, high),
        roofline_time_s=_sum_known([report.roofline_time_s for report in reports]),
        arithmetic_intensity=work / dram if work is not None and dram else None,
        flop_per_s=flop / time_s if flop is not None and time_s else None,
        peak_fraction=_weighted_mean([(report.peak_fraction, share) for report, share in parts]),
        dram_bytes_per_s=dram / time_s if dram is not None and time_s else None,
        dram_fraction=_weighted_mean([(report.dram_fraction, share) for report, share in parts]),
        utilisation=_weighted_means([(report.utilisation, share) for report, share in parts]),
        uncertainty=_weighted_means([(report.uncertainty, share) for report, share in parts]),
        formula={},
        loops=tuple(_with_share(cost, time_s) for report in reports for cost in report.loops),
        sequence=tuple(report.launch for report in reports),
        caveats=(*notes, note),
    )


def _is_grid(node: Node) -> bool:
    return isinstance(node, Loop) and node.kind == "grid"


def _single_kernel(facts: KernelFacts, body: tuple[Node, ...]) -> KernelFacts:
    extents: dict[str, Expr] = {}
    used: set[str] = set()
    for node in _walk_nodes(body):
        if isinstance(node, Loop) and node.kind in ("grid", "block") and node.tag:
            extents.setdefault(node.tag, node.extent)
        elif isinstance(node, Statement):
            used.update(access.buffer for access in node.accesses)
    while True:
        owners = {item.alias_of for item in facts.buffers if item.id in used and item.alias_of}
        if owners <= used:
            break
        used |= owners
    return replace(
        facts,
        body=body,
        buffers=tuple(item for item in facts.buffers if item.id in used or item.is_parameter),
        launch=replace(
            facts.launch,
            grid=tuple(extents.get(tag, 1) for tag in _BLOCK),
            threads=tuple(extents.get(tag, 1) for tag in _THREAD),
        ),
        lowered=(),
    )


def _walk_nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, Branch):
            yield from _walk_nodes(node.then + node.orelse)
        elif isinstance(node, (Loop, While)):
            yield from _walk_nodes(node.body)


def _with_share(cost: BreakdownEntry, time_s: float | None) -> BreakdownEntry:
    known = cost.time_s is not None and time_s
    return replace(
        cost,
        share=(cost.time_s or 0.0) / time_s if known and time_s else None,
        children=tuple(_with_share(child, time_s) for child in cost.children),
    )


def _sum_counts(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _sum_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _weighted_mean(weighted: Sequence[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in weighted if value is not None and weight]
    return fmean(*zip(*known, strict=True)) if known else None


def _weighted_means(parts: Sequence[tuple[Mapping[str, float], float]]) -> dict[str, float]:
    names = dict.fromkeys(name for values, _ in parts for name in values)
    return {name: sum(values.get(name, 0.0) * weight for values, weight in parts) for name in names}


def _sum_read_write(parts: Sequence[ReadWrite]) -> ReadWrite:
    return ReadWrite(
        _sum_counts([one.read for one in parts]), _sum_counts([one.write for one in parts])
    )


def _sum_by_class(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {
        name: sum(part.get(name, 0) for part in parts)
        for name in dict.fromkeys(name for part in parts for name in part)
    }
