"""The columns and cells of tables of kernels and of their lines, for every output format."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tirlens.ide import call_text, counters, labels, launch, places, sizes, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tirlens.model.report import BreakdownEntry, KernelReport
    from tirlens_worker.facts import Span

WORDS = frozenset({"bound", "device"})
"""The columns that hold words and not numbers."""


def kernel_cells(kernel: KernelReport) -> dict[str, str]:
    """The figures of a kernel that are compared with those of others, by their columns."""
    return {**_cells(kernel, _OF_KERNEL), "device": kernel.device_id}


def kernel_columns(kernels: Sequence[KernelReport]) -> list[str]:
    """The columns of a table of these kernels.

    The device is there only where there are several, what is reachable only where a kernel has it.
    """
    names = dict.fromkeys(name for kernel in kernels[:1] for name in kernel_cells(kernel))
    if len({kernel.device_id for kernel in kernels}) == 1:
        del names["device"]
    if all(kernel.reachable_time_s is None for kernel in kernels):
        names.pop("reachable", None)
    return list(names)


def line_columns() -> tuple[str, ...]:
    """The columns of a breakdown."""
    from tirlens.model.report import BreakdownEntry, figures

    return tuple(figure.column for figure in figures(BreakdownEntry) if figure.column)


def line_cells(cost: BreakdownEntry) -> dict[str, str]:
    """The cells of a line of a breakdown by their columns."""
    return _cells(cost, _OF_LINE)


def _cells(
    report: KernelReport | BreakdownEntry, texts: Mapping[str, Callable[[Any], str]]
) -> dict[str, str]:
    """The figures with a column: the texts of `texts`, or the value in its unit."""
    from tirlens.model.report import figures

    return {
        figure.column: texts[figure.name](report)
        if figure.name in texts
        else counters.in_unit(getattr(report, figure.name), figure.unit)
        for figure in figures(type(report))
        if figure.column
    }


def place(span: Span) -> str:
    """``38``, or ``common.py:38`` in another file than the kernel's."""
    return f"{PurePath(span.file).name}:{span.line}" if span.file else places.line(span)


def call_source(kernel: KernelReport) -> str:
    """``call-site``, ``repository bench.py:38``, ``captured bench.py:38, 12 launches``."""
    site = kernel.call_site
    source = f"{kernel.call_source} {place(site)}" if site is not None else kernel.call_source
    return source + launches(kernel)


def launches(kernel: KernelReport) -> str:
    """``, 12 launches`` of a captured call; empty for others."""
    if kernel.launches is None:
        return ""
    return f", {kernel.launches:,} launch" + ("es" if kernel.launches != 1 else "")


def particulars(kernel: KernelReport) -> list[tuple[str, str]]:
    """The figures of a kernel that are not in its lens, with their names."""
    found = {
        "call": f"{call_text.readable(kernel.call)} ({call_source(kernel)})" if kernel.call else "",
        "known": ", ".join(f"{text} ({place(at)})" for text, at in sizes.known_texts(kernel)),
        "assumed": ", ".join(sizes.assumption_texts(kernel)),
        "model": f"{', '.join(kernel.model.values)} {sizes.model_text(kernel)}"
        if kernel.model is not None
        else "",
        "device": f"{kernel.device_name} ({kernel.device_source or kernel.device_id})",
        "math fidelity": f"{kernel.math_fidelity} ({kernel.math_fidelity_source})"
        if kernel.math_fidelity
        else "",
        "launch": _launch(kernel),
        "arrays": launch.array_transfers(kernel),
        "work": f"{labels.all_work(kernel.operations)}; "
        f"{labels.bytes_(kernel.global_bytes.total)} issued, "
        f"{labels.compulsory(kernel)} compulsory, "
        f"{labels.bytes_(kernel.dram_bytes.total)} DRAM",
        "intensity": _intensity(kernel),
        "reachable": _reachable(kernel),
        "formulas": "; ".join(f"{name} = {text}" for name, text in kernel.formula.items()),
    }
    return [(name, text) for name, text in found.items() if text]


def _launch(kernel: KernelReport) -> str:
    if not kernel.grid:
        return ""
    grid = " x ".join(map(str, kernel.grid))
    text = ", ".join(filter(None, (f"grid {grid}", launch.block(kernel))))
    if kernel.occupancy:
        text += f"; {launch.blocks_per_sm(kernel.occupancy)} ({kernel.occupancy.limiter})"
    if kernel.waves:
        text += f", {launch.waves(kernel.waves)}"
    return text


def _reachable(kernel: KernelReport) -> str:
    if not kernel.reachable_by:
        return ""
    time, least = (
        labels.seconds(time_s, labels.ESTIMATE_DIGITS)
        for time_s in (kernel.reachable_time_s, kernel.roofline_time_s)
    )
    return f"{time} by {kernel.reachable_by} (roofline {least})"


def _intensity(kernel: KernelReport) -> str:
    if kernel.arithmetic_intensity is None:
        return ""
    unit = labels.operations_unit(kernel.operations)
    text = f"{labels.number(kernel.arithmetic_intensity)} {unit}/B"
    if kernel.ridge_point is None:
        return text
    return f"{text} (ridge {labels.number(kernel.ridge_point)})"


def _rate(kernel: KernelReport) -> str:
    """Operations per second: ``701 TFLOP/s``."""
    operations, time_s = kernel.operations, kernel.time_s
    per_s = operations.main / time_s if operations.main is not None and time_s else None
    return labels.rate(per_s, labels.operations_unit(operations))


def _band(kernel: KernelReport) -> str:
    band = kernel.time_band_s
    return "" if band is None else f"{labels.seconds(band[0])} - {labels.seconds(band[1])}"


def _trips(cost: BreakdownEntry) -> str:
    if cost.trips is None:
        return ""
    return "<=" * (cost.mean_trips is not None) + labels.number(cost.trips)


# The cells of figures that are more than their value in its unit.
_OF_KERNEL: Mapping[str, Callable[[KernelReport], str]] = {
    "time_band_s": _band,
    "reachable_time_s": lambda kernel: (
        "" if kernel.reachable_time_s is None else labels.seconds(kernel.reachable_time_s)
    ),
    "bound": lambda kernel: verdicts.verdict(kernel).limit,
    "flop": lambda kernel: labels.work(kernel.operations),
    "flop_per_s": _rate,
    "peak_fraction": lambda kernel: (
        "" if kernel.operations.main == 0 else labels.percent(kernel.peak_fraction)
    ),
    "global_bytes": lambda kernel: labels.bytes_(kernel.global_bytes.total),
    "compulsory_bytes": labels.compulsory,
    "dram_bytes": lambda kernel: labels.bytes_(kernel.dram_bytes.total),
    "arithmetic_intensity": lambda kernel: labels.number(kernel.arithmetic_intensity),
    "occupancy": lambda kernel: (
        "" if kernel.occupancy is None else labels.percent(kernel.occupancy.fraction)
    ),
    "waves": lambda kernel: "" if kernel.waves is None else str(launch.wave_count(kernel.waves)),
}
_OF_LINE: Mapping[str, Callable[[BreakdownEntry], str]] = {
    "trips": _trips,
    "time_s": labels.time_or_overlap,
    "flop": lambda cost: labels.work(cost.operations),
    "bound": verdicts.unit,
}
