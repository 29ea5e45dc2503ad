"""Functions that launch several kernels in sequence, such as the two of a split attention.

The model analyses each kernel with its own launch and merges the reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tirlens_worker.facts import Branch, Expr, KernelFacts, Let, Loop, Node, Statement, While

from .report import BreakdownEntry, CaveatNote, KernelReport
from .report.figure import merged_figures, total

_BLOCK = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
_THREAD = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


def split_kernels(facts: KernelFacts) -> tuple[KernelFacts, ...]:
    """The facts of each kernel that a function launches; `facts` itself if it is one kernel."""
    grids = [node for node in facts.body if _is_grid(node)]
    if len(grids) < 2 or not all(_is_grid(node) or isinstance(node, Let) for node in facts.body):
        return (facts,)
    return tuple(
        _single_kernel(
            facts, (*(node for node in facts.body[:position] if isinstance(node, Let)), grid)
        )
        for position, grid in enumerate(facts.body)
        if _is_grid(grid)
    )


def merge_reports(reports: Sequence[KernelReport]) -> KernelReport:
    """One report of kernels that run in sequence: each figure by its merge rule."""
    for report in reports:
        if not report.has_counts:
            return report
    longest = max(reports, key=lambda report: report.time_s or 0.0)
    time_s = total([report.time_s for report in reports])
    shares = [(report.time_s or 0.0) / time_s if time_s else 0.0 for report in reports]
    notes = dict.fromkeys(note for report in reports for note in report.caveats)
    note = CaveatNote(
        f"{len(reports)} kernels in sequence: launch and bound are those of the longest",
        longest.span,
    )
    merged = replace(
        # Without its time the sequence has none, for the same reason.
        next((report for report in reports if report.time_s is None), longest),
        **merged_figures(reports, shares),
        loops=tuple(_with_share(cost, time_s) for report in reports for cost in report.loops),
        sequence=tuple(report.launch for report in reports),
        caveats=(*notes, note),
    )
    moved = merged.dram_bytes.total
    return replace(
        merged,
        arithmetic_intensity=_quotient(merged.operations.main, moved),
        flop_per_s=_quotient(merged.flop, time_s),
        dram_bytes_per_s=_quotient(moved, time_s),
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


def _quotient(value: float | None, unit: float | None) -> float | None:
    return value / unit if value is not None and unit else None
