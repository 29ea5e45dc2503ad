"""The counters of a kernel and of a line, as Markdown tables of terms and figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from tirlens.ide import labels, launch
from tirlens.ide.escaping import code, prose
from tirlens.ide.terms import term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tirlens.model.report import BreakdownEntry, KernelReport

_LEAST_UNCERTAIN = 0.01
_UNCERTAIN = {"reuse": "re-reads"}
_N = TypeVar("_N", int, float)


def kernel(report: KernelReport) -> str:
    """The counters of a kernel: its figures that have a term, in the order of their table."""
    rows = list(_rows(report, _OF_KERNEL))
    return _table([*rows, ("arrays", prose(launch.array_transfers(report)))])


def line(cost: BreakdownEntry, report: KernelReport) -> str:
    """The counters of a line of the kernel `report`."""
    rows = list(_rows(cost, _OF_LINE))
    operations = cost.operations
    if operations.main is not None and cost.dram_bytes:
        unit = labels.operations_unit(operations)
        value = operations.main / cost.dram_bytes
        rows.append(("intensity", intensity(value, report.ridge_point, unit)))
    rows.extend((name, prose(text)) for name, text in cost.details)
    return _table(rows)


def _rows(
    report: KernelReport | BreakdownEntry, texts: Mapping[str, Callable[[Any], str]]
) -> Iterator[tuple[str, str]]:
    """The terms of the figures with their texts: those of `texts`, or the value in its unit."""
    # The first hovers are displayed before the model is imported.
    from tirlens.model.report import figures

    for figure in figures(type(report)):
        if figure.term:
            text = texts.get(figure.name)
            value = getattr(report, figure.name)
            yield (
                figure.term,
                (in_unit(value, figure.unit) if value else "") if text is None else text(report),
            )


def in_unit(value: float | None, unit: str) -> str:
    """The text of a figure: its value in the unit of the table of figures."""
    return _FORMATS[unit](value)


def _flop(report: KernelReport) -> str:
    """``137 GFLOP = 2*M*N*K``; empty where all operations are on integers."""
    operations = report.operations
    if operations.float_ops == 0 and operations.iop:
        return ""
    # A formula counts the products of matrix units of all types.
    formula = None if operations.integer_flop else report.formula.get("flop")
    return _with_formula(labels.flop(operations.float_ops), formula)


def _iop(value: float) -> str:
    """``34.4 GIOP``."""
    return labels.quantity(value, "IOP")


def _rate(report: KernelReport) -> str:
    """``701 TFLOP/s, 71% of peak``; of integers where these are most of the operations."""
    operations = report.operations
    if not operations.are_integer:
        return _of_peak(report.flop_per_s, "FLOP", report.peak_fraction)
    per_s = operations.main / report.time_s if operations.main and report.time_s else None
    return _of_peak(per_s, "IOP", report.peak_fraction)


def intensity(value: float | None, ridge: float | None, unit: str = "FLOP") -> str:
    """``113 FLOP/B, ridge point 295: memory side``; empty if unknown."""
    if value is None:
        return ""
    text = f"{labels.number(float(value))} {unit}/B"
    if ridge is None:
        return text
    side = "compute" if value >= ridge else "memory"
    return f"{text}, {term('ridge point')} {labels.number(float(ridge))}: {side} side"


def _trips(cost: BreakdownEntry) -> str:
    """``32``, or ``up to 4096, 2050 on average`` for a loop whose trip count varies."""
    trips = _format_known(cost.trips, labels.number)
    if cost.mean_trips is None:
        return trips
    return f"up to {trips}, {labels.number(cost.mean_trips)} on average"


def _table(rows: Sequence[tuple[str, str]]) -> str:
    filled = [(name, value) for name, value in rows if value]
    if not filled:
        return ""
    body = "\n".join(f"| {term(name)} | {_cell(value)} |" for name, value in filled)
    return "| | |\n|---|---|\n" + body


def _format_known(value: _N | None, form: Callable[[_N], str]) -> str:
    return "" if value is None else form(value)


def _format_unless_zero(value: float | None, form: Callable[[float | None], str]) -> str:
    """`value` formatted, also if it is unknown; empty if it is zero."""
    return "" if value == 0 else form(value)


def _format_nonzero(value: _N | None, form: Callable[[_N], str]) -> str:
    """`value` formatted; empty if it is unknown or zero."""
    return form(value) if value else ""


def _of_peak(rate: float | None, unit: str, fraction: float | None) -> str:
    """``1.76 TB/s, 52% of peak``; empty if the rate is unknown."""
    if rate is None:
        return ""
    text = labels.rate(rate, unit)
    return text if not rate or fraction is None else f"{text}, {labels.percent(fraction)} of peak"


def _read_write(read: float | None, write: float | None) -> str:
    total = None if read is None or write is None else read + write
    return f"{labels.bytes_(total)} (read {labels.bytes_(read)}, write {labels.bytes_(write)})"


def _with_formula(text: str, formula: str | None) -> str:
    return f"{text} = {code(formula)}" if formula else text


def _useful(report: KernelReport) -> str:
    """``52 %: tile overhang 3 %, masks 45 %``; empty if unknown or if all of it is useful."""
    issued, useful, masked = report.flop, report.useful_flop, report.masked_flop
    if not issued or useful is None or masked is None or useful == issued:
        return ""
    lost = (("tile overhang", issued - useful - masked), ("masks", masked))
    parts = [f"{name} {labels.percent(flop / issued)}" for name, flop in lost if flop]
    return f"{labels.percent(useful / issued)}: {', '.join(parts)}"


def _band(report: KernelReport) -> str:
    """``1.2 ms to 1.5 ms: waits 10%, rate 8%``, with the largest uncertainty first."""
    if report.time_band_s is None:
        return ""
    low, high = report.time_band_s
    uncertainties = sorted(report.uncertainty.items(), key=lambda pair: -pair[1])
    parts = [
        f"{_UNCERTAIN.get(name, name)} {labels.percent(math.expm1(part))}"
        for name, part in uncertainties
        if part >= _LEAST_UNCERTAIN
    ]
    band = f"{labels.seconds(low)} to {labels.seconds(high)}"
    return f"{band}: {', '.join(parts)}" if parts else band


def _confidence(report: KernelReport) -> str:
    """``87%: tilelang on sm_90 with a compute bound: 83% of the measured times ...``."""
    if report.confidence is None:
        return ""
    return f"{labels.percent(report.confidence)}: {'; '.join(report.confidence_reasons)}"


def _registers(report: KernelReport) -> str:
    """``74 a thread (ptxas)``, or that they are estimated."""
    if report.registers_per_thread is None:
        return ""
    source = "estimated" if report.compiled is None else "ptxas"
    return f"{report.registers_per_thread} a thread ({source})"


def _launch(report: KernelReport) -> str:
    if not report.grid:
        return ""
    blocks = f"{' x '.join(map(str, report.grid))} blocks (source)"
    return " of ".join(filter(None, (blocks, launch.block(report))))


def _occupancy(report: KernelReport) -> str:
    found = report.occupancy
    if found is None:
        return ""
    share = labels.percent(found.fraction)
    return f"{launch.blocks_per_sm(found)}, {share}, limited by {found.limiter}"


def _waves(report: KernelReport) -> str:
    found = report.waves
    if found is None:
        return ""
    last = launch.last_wave(found)
    tail = labels.percent(found.tail_fraction)
    return f"{launch.wave_count(found)}, {last}: the tail is {tail} of the time"


def _cell(text: str) -> str:
    return " ".join(text.split())


def _above(_: KernelReport | BreakdownEntry) -> str:
    """What the verdict above the counters says."""
    return ""


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "": labels.number,
    "s": labels.seconds,
    "bytes": labels.bytes_,
    "bytes/s": lambda value: labels.rate(value, "B"),
    "FLOP": labels.flop,
    "FLOP/s": lambda value: labels.rate(value, "FLOP"),
    "FLOP/B": lambda value: f"{labels.number(value)} FLOP/B",
    "IOP": _iop,
    "fraction": labels.percent,
}
# The texts of figures that are more than their value in its unit.
_OF_KERNEL: Mapping[str, Callable[[KernelReport], str]] = {
    "time_s": _above,
    "bound": _above,
    "time_band_s": _band,
    "confidence": _confidence,
    "roofline_time_s": lambda report: _format_known(report.roofline_time_s, labels.seconds),
    "flop": _flop,
    "int_ops": lambda report: _format_nonzero(report.operations.iop, _iop),
    "useful_flop": _useful,
    "flop_per_s": _rate,
    "dram_bytes_per_s": lambda report: _of_peak(report.dram_bytes_per_s, "B", report.dram_fraction),
    "global_bytes": lambda report: _with_formula(
        _read_write(report.global_bytes.read, report.global_bytes.write),
        report.formula.get("global_bytes"),
    ),
    "compulsory_bytes": labels.compulsory,
    "dram_bytes": lambda report: _read_write(report.dram_bytes.read, report.dram_bytes.write),
    "arithmetic_intensity": lambda report: intensity(
        report.arithmetic_intensity,
        report.ridge_point,
        labels.operations_unit(report.operations),
    ),
    "grid": _launch,
    "registers_per_thread": _registers,
    "occupancy": _occupancy,
    "waves": _waves,
}
_OF_LINE: Mapping[str, Callable[[BreakdownEntry], str]] = {
    "trips": _trips,
    "executions": lambda cost: _format_known(cost.executions, labels.number),
    "time_s": _above,
    "share": _above,
    "bound": _above,
    "overlapped_s": lambda cost: (
        labels.seconds(cost.overlapped_s) if cost.time_s and cost.overlapped_s else ""
    ),
    "flop": lambda cost: _format_unless_zero(cost.operations.float_ops, labels.flop),
    "int_ops": lambda cost: _format_nonzero(cost.operations.iop, _iop),
    "global_bytes": lambda cost: _format_unless_zero(cost.global_bytes, labels.bytes_),
    "dram_bytes": lambda cost: _format_unless_zero(cost.dram_bytes, labels.bytes_),
}
