"""The generated pages: of advice rules, of devices, of constants, and the keys of the JSON."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tirlens.hardware import Cache, Device, MemoryLevel, catalogue, load
from tirlens.hardware.audit import doubts
from tirlens.hardware.quantity import number_fields
from tirlens.ide import labels
from tirlens.model.constants import KINDS, Constant, all_constants
from tirlens.model.report import BreakdownEntry, KernelReport, figures
from tirlens.pipeline.kernel_json import ENTRY_KEYS, KERNEL_KEYS

SERVER = Path(__file__).resolve().parents[2]
# The folders of pages of rules, with the folders of their modules.
RULES = {
    "advice": SERVER / "tirlens" / "advice" / "rules",
    "measured-advice": SERVER / "tirlens" / "measured" / "advice" / "rules",
}
LEVELS = {"dram": "DRAM", "llc": "last-level cache", "l2": "L2"}
# The folders of the model, in the order of its stages.
STAGES = {
    "counting": "Counting",
    "tree": "Data that stages share",
    "gpu.mapping": "Thread mapping",
    "gpu.compiler": "GPU compiler",
    "gpu.occupancy": "Occupancy",
    "gpu.memory": "Memory hierarchy",
    "gpu.units": "Units of the GPU",
    "gpu.block": "Block",
    "gpu.launch": "Launch",
    "cpu.compiler": "CPU compiler",
    "cpu.in_core": "CPU core",
    "cpu.memory": "CPU caches and memory",
    "cpu": "CPU kernel",
    "reporting": "Report",
    "details": "Details of a report",
}
# What a page shows elsewhere than in its table of single numbers.
SHOWN_APART = frozenset(
    {"id", "name", "vendor", "kind", "arch", "features", "aliases", "caveats", "sources"}
    | {"peaks", "fidelities", *LEVELS}
)


@cache
def rules(kind: str = "advice") -> Mapping[str, str]:
    """The page of each advice rule by its path: the docstring of the rule, under its name."""
    found: dict[str, str] = {}
    for path, name, summary, body in _rules(kind):
        source = f"../../{path.relative_to(SERVER).as_posix()}"
        sections = re.sub(r"^(.+)\n-+$", r"## \1", body, flags=re.MULTILINE)
        found[f"{kind}/{name}.md"] = (
            f"# {name}\n\n{_sentence(summary)}\n\n{sections}\n\n"
            f"[Source of the rule]({source}){{ .md-button }}\n"
        )
    return found


def _rules(kind: str) -> Iterable[tuple[Path, str, str, str]]:
    """File, name, summary and the rest of the docstring of each rule."""
    for path in sorted(RULES[kind].glob("[!_]*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        text = inspect.cleandoc(ast.get_docstring(module) or "")
        head, _, body = text.partition("\n\n")
        name, _, summary = " ".join(head.split()).partition(": ")
        yield path, name, summary, body


def table_of_rules(kind: str = "advice") -> str:
    """Every rule with its summary, as links to the pages."""
    rows = [
        f"| [{name}]({kind}/{name}.md) | {_sentence(summary)} |"
        for _, name, summary, _ in _rules(kind)
    ]
    return "\n".join(["| rule | what it finds |", "|---|---|", *rows])


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def devices() -> Mapping[str, str]:
    """The page of each device of the catalogue by its path."""
    return {f"devices/{device.id}.md": device_page(device) for device in _ordered()}


def _ordered() -> list[Device]:
    """GPUs before other devices, those of one vendor together."""
    order = {"gpu": 0, "cpu": 1, "accelerator": 2}
    vendors = ("NVIDIA", "AMD", "Apple")

    def key(device: Device) -> tuple[int, int, str, str]:
        vendor = vendors.index(device.vendor) if device.vendor in vendors else len(vendors)
        return order[device.kind], vendor, device.vendor, device.id

    return sorted(map(load, catalogue()), key=key)


def table_of_devices() -> str:
    """The catalogue, as links to the pages."""
    lines = [
        "| device | architecture | SMs or cores | DRAM | 16-bit matrix | fp32 |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for device in _ordered():
        matrix = device.peaks.get("tensor.float16")
        lines.append(
            f"| [{device.id}](devices/{device.id}.md) | {device.arch} | {device.sm_count} "
            f"| {labels.rate(device.dram.bytes_per_s, 'B')} "
            f"| {labels.rate(matrix.flop_per_s, 'FLOP') if matrix else ''} "
            f"| {labels.rate(device.peaks['fp32'].flop_per_s, 'FLOP')} |"
        )
    return "\n".join(lines)


@cache
def constants() -> Mapping[str, str]:
    """The page of the constants of the model, from their registry."""
    entries = all_constants().values()
    about = (
        f"The {len(entries)} numbers and tables of the model. Numbers of a device or its "
        "architecture are on the pages of the [devices](devices.md)."
    )
    lines = [
        "# Constants",
        "",
        about,
        "",
        "| kind | meaning | number |",
        "|---|---|--:|",
    ]
    for kind, meaning in KINDS.items():
        number = sum(entry.kind == kind for entry in entries)
        lines.append(f"| {kind} | {_sentence(meaning)} | {number} |")
    for folder, title in STAGES.items():
        rows = [_constant_row(entry) for entry in entries if _stage(entry) == folder]
        if rows:
            head = ["| constant | value | unit | meaning | kind, source |", "|---|--:|---|---|---|"]
            lines += ["", f"## {title}", "", *head, *rows]
    return {"constants.md": "\n".join([*lines, ""])}


def table_of_numbers() -> str:
    """The range of each number that a device file can have."""
    lines = ["| number | least | greatest | unit |", "|---|--:|--:|---|"]
    lines += [
        f"| `{one.key}` | {one.range.low:g} | {one.range.high:g} | {one.range.unit} |"
        for one in number_fields(Device)
    ]
    return "\n".join(lines)


def _stage(entry: Constant) -> str:
    """The folder of the model that declares a constant."""
    path = entry.module.removeprefix("tirlens.model.")
    return next(name for name in STAGES if f"{path}.".startswith(f"{name}."))


def _constant_row(entry: Constant) -> str:
    source = f"{entry.kind}: {entry.source}" if entry.source else entry.kind
    if entry.rows:
        source += f"; rows: {entry.rows}"
    value = f"{entry.value:g}" if isinstance(entry.value, (int, float)) else "table"
    if entry.bounds is not None:
        value += " ({:g} to {:g})".format(*entry.bounds)
    texts = (entry.unit, entry.meaning, source)
    return " | ".join([f"| `{entry.name}`", value, *map(_escaped, texts)]) + " |"


def table_of_keys(keys: Mapping[str, str], report: type) -> str:
    """The keys of a report in JSON: those that are no figures, and its figures with their units."""
    rows = [f"| `{name}` | | {meaning} |" for name, meaning in keys.items()]
    rows += [f"| `{one.name}` | {one.unit} | {one.meaning} |" for one in figures(report)]
    return "\n".join(["| key | unit | meaning |", "|---|---|---|", *rows])


TABLES: Mapping[str, Callable[[], str]] = {
    "<!-- table of the keys of a kernel -->": lambda: table_of_keys(KERNEL_KEYS, KernelReport),
    "<!-- table of the keys of an entry -->": lambda: table_of_keys(ENTRY_KEYS, BreakdownEntry),
    "<!-- table of rules -->": table_of_rules,
    "<!-- table of rules on measured operations -->": lambda: table_of_rules("measured-advice"),
    "<!-- table of devices -->": table_of_devices,
    "<!-- table of numbers -->": table_of_numbers,
}


class _Sources:
    """The sources of one device in the order of their first mention, counted from 1."""

    def __init__(self, device: Device) -> None:
        self.known = device.sources
        self.texts: list[str] = []

    def mark(self, *keys: str) -> str:
        """The numbers of the sources of some keys, as links to the list."""
        found = [self.known[key] for key in keys if key in self.known]
        for text in found:
            if text not in self.texts:
                self.texts.append(text)
        numbers = sorted({self.texts.index(text) + 1 for text in found})
        return " ".join(f"[{number}](#source-{number})" for number in numbers)


def device_page(device: Device) -> str:
    """All numbers of a device, each with the number of its source."""
    sources = _Sources(device)
    cores = {"NVIDIA": "SMs", "AMD": "compute units"}.get(device.vendor, "cores")
    clock = labels.quantity(device.clock_hz, "Hz")
    about = [device.vendor, device.arch, f"{device.sm_count} {cores} at {clock}"]
    lines = [
        f"# {device.name}",
        "",
        ", ".join([*about, *sorted(device.features)]) + ".",
        "",
        f"```sh\ntirlens analyze FILE --device {device.id}\n```",
        "",
    ]
    if device.aliases:
        lines += ["Other names: " + ", ".join(f"`{name}`" for name in device.aliases) + ".", ""]
    for caveat in device.caveats:
        lines += ["!!! note", f"    {_escaped(_sentence(caveat))}.", ""]
    for doubt in doubts(device):
        lines += ["!!! warning", f"    `{doubt.key}`: {_escaped(doubt.message)}", ""]
    lines += ["## Memory", "", *_memory(device, sources), ""]
    lines += ["## Arithmetic", "", *_arithmetic(device, sources), ""]
    if device.fidelities:
        lines += ["## Math fidelities", "", *_fidelities(device, sources), ""]
    lines += ["## Limits and other numbers", "", *_others(device, sources), ""]
    if sources.texts:
        lines += ["## Sources", ""]
    for number, text in enumerate(sources.texts, 1):
        lines.append(f'{number}. <span id="source-{number}"></span>{_escaped(text)}')
    data = f"../../tirlens/hardware/data/{device.id}.toml"
    lines += ["", f"[Device file]({data}){{ .md-button }}", ""]
    return "\n".join(lines)


def _memory(device: Device, sources: _Sources) -> list[str]:
    lines = [
        "| level | size | data sheet | sustained | latency | source |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for key, title in LEVELS.items():
        level: MemoryLevel | None = getattr(device, key)
        if level is None:
            continue
        count = level.partitions if isinstance(level, Cache) else 1
        parts = f" in {count} parts" if count > 1 else ""
        given = [f"{key}.{one.name}" for one in fields(level)]
        lines.append(
            f"| {title} | {labels.bytes_(level.bytes)}{parts} "
            f"| {labels.rate(level.bytes_per_s, 'B')} "
            f"| {_sustained(level.bytes_per_s, level.sustained_fraction, 'B')} "
            f"| {labels.seconds(level.latency_s)} | {sources.mark(*given)} |"
        )
    return lines


def _arithmetic(device: Device, sources: _Sources) -> list[str]:
    lines = [
        "| class | data sheet | sustained | per clock and SM | rated at | source |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for name, peak in device.peaks.items():
        clock_hz = peak.clock_hz or device.clock_hz
        given = [f"peaks.{name}.{one.name}" for one in fields(peak)]
        lines.append(
            f"| `{name}` | {labels.rate(peak.flop_per_s, 'FLOP')} "
            f"| {_sustained(peak.flop_per_s, peak.sustained_fraction, 'FLOP')} "
            f"| {peak.flop_per_s / device.sm_count / clock_hz:.4g} "
            f"| {labels.quantity(clock_hz, 'Hz')} | {sources.mark(*given)} |"
        )
    return lines


def _fidelities(device: Device, sources: _Sources) -> list[str]:
    lines = [
        "| math fidelity | class | data sheet | sustained | default | source |",
        "|---|---|--:|--:|---|---|",
    ]
    for fidelity, rates in device.fidelities.items():
        for name, peak in rates.items():
            given = [f"fidelities.{fidelity}.{name}.{one.name}" for one in fields(peak)]
            lines.append(
                f"| {fidelity} | `{name}` | {labels.rate(peak.flop_per_s, 'FLOP')} "
                f"| {_sustained(peak.flop_per_s, peak.sustained_fraction, 'FLOP')} "
                f"| {'yes' if device.peaks.get(name) == peak else ''} | {sources.mark(*given)} |"
            )
    return lines


def _others(device: Device, sources: _Sources) -> list[str]:
    lines = ["| key | value | source |", "|---|--:|---|"]
    for one in fields(device):
        if one.name == "microarchitecture" and device.kind != "gpu":
            continue
        if one.name not in SHOWN_APART:
            lines += _numbers(getattr(device, one.name), one.name, sources)
    return lines


def _numbers(value: Any, key: str, sources: _Sources) -> Iterable[str]:
    """The rows of one number, or of all numbers in a table."""
    if is_dataclass(value):
        for one in fields(value):
            yield from _numbers(getattr(value, one.name), f"{key}.{one.name}", sources)
    elif isinstance(value, (int, float)):
        yield f"| `{key}` | {value:,.6g} | {sources.mark(key)} |"


def _sustained(rate: float, fraction: float, unit: str) -> str:
    return f"{labels.rate(rate * fraction, unit)} ({labels.percent(fraction)})"


def _escaped(text: str) -> str:
    """Plain text in which Markdown and HTML find no sign of theirs."""
    return re.sub(r"([\\`*_{}\[\]<>#|$])", r"\\\1", text)
