"""One device on the terminal: its numbers in groups, each with the number of its source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.hardware import Cache, Device, MemoryLevel
from tirlens.hardware.audit import doubts
from tirlens.ide import labels

_KEYS_ABOVE = frozenset(
    {"id", "name", "vendor", "kind", "arch", "features", "aliases", "caveats", "sources"}
    | {"peaks", "fidelities", "dram", "l2", "llc", "provenance", "reduced_rates"}
)
_LEVELS = {"dram": "DRAM", "llc": "last level cache", "l2": "L2"}


class _Sources:
    """The sources in the order of their first mention, counted from 1."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.texts: list[str] = []

    def mark(self, *keys: str) -> str:
        """The numbers of the sources of some keys, such as ``1 4``."""
        found = [self.device.sources[key] for key in keys if key in self.device.sources]
        for text in found:
            if text not in self.texts:
                self.texts.append(text)
        return " ".join(str(n) for n in sorted({self.texts.index(text) + 1 for text in found}))


def show(out: Console, device: Device) -> None:
    """Print all that is known of a device, what is doubtful about it, and the sources."""
    sources = _Sources(device)
    clock = labels.quantity(device.clock_hz, "Hz")
    names = {"NVIDIA": "SMs", "AMD": "compute units"}
    cores = names.get(device.vendor, "cores")
    about = [device.vendor, device.arch, f"{device.sm_count} {cores} at {clock}"]
    out.print(Text(f"{device.name} ({device.id})", style="bold"))
    out.print(Text(", ".join([*about, *sorted(device.features)])))
    if device.aliases:
        out.print(Text(f"also: {', '.join(device.aliases)}", style="dim"))
    if device.reduced_rates:
        out.print(Text(f"reduced rates: {', '.join(device.reduced_rates)}"))
    for caveat in device.caveats:
        out.print(Text(f"note: {caveat}", style="yellow"))
    for doubt in doubts(device):
        out.print(Text(f"doubtful: {doubt.key}: {doubt.message}", style="yellow"))
    tables = [_memory(device, sources), _arithmetic(device, sources)]
    if device.fidelities:
        tables.append(_fidelities(device, sources))
    for table in (*tables, _rest(device, sources)):
        out.print()
        out.print(table)
    if sources.texts:
        out.print()
        out.print(Text("Sources", style="bold"))
        out.print(_source_list(sources.texts))


def _source_list(texts: list[str]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for number, text in enumerate(texts, 1):
        table.add_row(str(number), Text(text))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in columns:
        left = name in (columns[0], "source")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    return table


def _memory(device: Device, sources: _Sources) -> Table:
    table = _table("memory", "size", "data sheet", "sustained", "latency", "source")
    for key, title in _LEVELS.items():
        level: MemoryLevel | None = getattr(device, key)
        if level is None:
            continue
        count = level.partitions if isinstance(level, Cache) else 1
        parts = f" in {count} parts" if count > 1 else ""
        table.add_row(
            title,
            labels.bytes_(level.bytes) + parts,
            labels.rate(level.bytes_per_s, "B"),
            _share(level.bytes_per_s, level.sustained_fraction, "B"),
            labels.seconds(level.latency_s),
            sources.mark(
                *(
                    f"{key}.{field.name}"
                    for field in fields(level)
                    if getattr(level, field.name) is not None
                )
            ),
        )
    return table


def _arithmetic(device: Device, sources: _Sources) -> Table:
    table = _table("arithmetic", "data sheet", "sustained", "a clock and SM", "rated at", "source")
    for name, peak in device.peaks.items():
        clock = peak.clock_hz or device.clock_hz
        table.add_row(
            name,
            labels.rate(peak.flop_per_s, "op"),
            _share(peak.flop_per_s, peak.sustained_fraction, "op"),
            f"{peak.flop_per_s / device.sm_count / clock:.4g}",
            labels.quantity(clock, "Hz"),
            sources.mark(*(f"peaks.{name}.{field.name}" for field in fields(peak))),
        )
    return table


def _fidelities(device: Device, sources: _Sources) -> Table:
    table = _table("matrix units at", "", "data sheet", "sustained", "default", "source")
    for fidelity, rates in device.fidelities.items():
        for name, peak in rates.items():
            prefix = f"fidelities.{fidelity}.{name}"
            table.add_row(
                fidelity,
                name,
                labels.rate(peak.flop_per_s, "op"),
                _share(peak.flop_per_s, peak.sustained_fraction, "op"),
                "yes" if device.peaks.get(name) == peak else "",
                sources.mark(*(f"{prefix}.{field.name}" for field in fields(peak))),
            )
    return table


def _rest(device: Device, sources: _Sources) -> Table:
    table = _table("figure", "value", "source")
    for key, value in _figures(device, ""):
        table.add_row(key, _value_text(value), sources.mark(key))
    return table


def _figures(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for field in fields(value):
        inner = getattr(value, field.name)
        if (not prefix and field.name in _KEYS_ABOVE) or inner in (None, 0):
            continue
        if field.name == "microarchitecture" and value.kind != "gpu":
            continue
        if is_dataclass(inner):
            yield from _figures(inner, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, inner


def _share(rate: float, fraction: float, unit: str) -> str:
    return f"{labels.rate(rate * fraction, unit)} ({labels.percent(fraction)})"


def _value_text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
