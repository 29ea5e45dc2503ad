"""Sums over the kernels that one statement builds: the functions of a module or of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tirlens.model.operations import Operations
from tirlens.model.report import KernelReport
from tirlens_worker.facts import Span


@dataclass(frozen=True)
class ModuleTotal:
    """The kernels of one statement and their sums, each kernel times its calls.

    `entry` is the Relax function that calls them, empty for a module without one.  A sum is None
    if a summand is not known, that of times on several devices as well.
    """

    entry: str
    kernels: tuple[KernelReport, ...]
    calls: int
    time_s: float | None
    flop: int | None
    dram_bytes: float | None
    int_ops: int | None = 0
    integer_flop: int = 0

    @property
    def operations(self) -> Operations:
        """The operations of all calls."""
        return Operations(self.flop, self.int_ops, self.integer_flop)

    @property
    def first(self) -> KernelReport:
        """The first kernel; all have its statement."""
        return self.kernels[0]

    @property
    def assumed(self) -> dict[str, str]:
        """The sizes of the kernels that nothing gives, as expressions by name."""
        return {name: text for kernel in self.kernels for name, text in kernel.assumed.items()}

    @property
    def is_bound(self) -> bool:
        """Whether the time of a kernel is a lower bound, because it is not scheduled."""
        return any(kernel.schedule == "unscheduled" for kernel in self.kernels)


def module_totals(reports: Iterable[KernelReport]) -> list[ModuleTotal]:
    """The totals of the statements that build several kernels or a graph, in their order."""
    groups: dict[tuple[Span, str, str], list[KernelReport]] = {}
    for report in reports:
        if report.built is not None:
            key = report.span, report.definition, report.built.entry
            groups.setdefault(key, []).append(report)
    return [
        _total(entry, kernels)
        for (_, _, entry), kernels in groups.items()
        if entry or len(kernels) > 1
    ]


def _total(entry: str, kernels: Sequence[KernelReport]) -> ModuleTotal:
    calls = [kernel.built.calls if kernel.built else 1 for kernel in kernels]
    time_s = _weighted_sum([kernel.time_s for kernel in kernels], calls)
    return ModuleTotal(
        entry=entry,
        kernels=tuple(kernels),
        calls=sum(calls),
        time_s=time_s if len({kernel.device_id for kernel in kernels}) == 1 else None,
        flop=_exact_sum([kernel.flop for kernel in kernels], calls),
        int_ops=_exact_sum([kernel.int_ops for kernel in kernels], calls),
        integer_flop=sum(
            kernel.operations.integer_flop * count
            for kernel, count in zip(kernels, calls, strict=True)
        ),
        dram_bytes=_weighted_sum([kernel.dram_bytes.total for kernel in kernels], calls),
    )


def _weighted_sum(values: Sequence[float | None], counts: Sequence[int]) -> float | None:
    known = [
        value * count for value, count in zip(values, counts, strict=True) if value is not None
    ]
    return sum(known) if len(known) == len(values) else None


def _exact_sum(values: Sequence[int | None], counts: Sequence[int]) -> int | None:
    known = [
        value * count for value, count in zip(values, counts, strict=True) if value is not None
    ]
    return sum(known) if len(known) == len(values) else None
