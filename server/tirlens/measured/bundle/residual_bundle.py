"""What of a residual can be attached to an issue: facts and figures, no source and no names.

A bundle is evaluated again by the model that reads it (`BundledKernel.question`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tirlens.hardware import DeviceError, catalogue, load
from tirlens.measured.bundle.anonymous_facts import Anonymiser
from tirlens.measured.mechanisms import Mechanism, Question, find_mechanisms
from tirlens.model import analyze
from tirlens.model.report import KernelReport, SequenceLaunch
from tirlens.version import __version__
from tirlens_worker.codec import DecodeError, from_json, to_json
from tirlens_worker.facts import KernelFacts

KEY = "tirlens_residual_bundle"
_VERSION = 1
_LINE_CHARACTERS = 100
#: Counters of Nsight Compute and rocprof, and those of ``tirlens measure``.
_COUNTER = re.compile(
    r"(dram|lts|l1tex|sm|smsp|gpu|gpc|tpc|fbpa|idc|launch|pcie)__[a-z0-9_]{1,100}(\.[a-z0-9_]{1,30}){0,3}"
    r"|(SQ|SQC|TCC|TCP|TA|TD|GRBM|SPI|CPC|CPF)_[A-Z0-9_]{1,60}(_sum|_avr|_max|_min)?"
    r"|dram_read_bytes|dram_write_bytes|gpu_time_s|localMemoryPerThread"
)
_DEVICE_WORD = re.compile(
    r"(NVIDIA|AMD|Apple|Tesla|Quadro|GeForce|RTX|GTX|Titan|Instinct|Radeon|Graphics|PRO|Pro|Max|"
    r"Ultra|Ti|SUPER|Laptop|GPU|Ada|Blackwell|Generation|Server|Workstation|Edition|Device|OAM|"
    r"SXM\d?|PCIe|PCIE|NVL|HBM\d?e?|VF|\d{1,3}GB|\d{2,4}|[A-Z]{1,2}\d{1,4}[A-Za-z]?|MI\d{2,3}[AXH]?)"
)
_FIGURES = (
    "median_s", "mean_s", "minimum_s", "maximum_s", "deviation_s", "p10_s", "p90_s",
    "kernel_time_s",
)  # fmt: skip


class BundleError(ValueError):
    """A file that is no bundle, or not one that this version reads."""


@dataclass(frozen=True)
class Measurement:
    """The measured figures of a kernel, of one execution.

    Attributes
    ----------
    time_s
        The time that is compared.
    figures
        What else is known of it: extremes, deviation, percentiles, in s.
    executions
        How often it was executed.
    grid, threads, shared_bytes, registers
        The launch.
    counters
        Hardware counters.
    device_name
        The board as the trace names it; None where the name has other words than those of boards.
    format_name
        The format of the trace.
    counters_are_of_timed_run
        Whether the counters are of the run that was timed.
    """

    time_s: float
    figures: Mapping[str, float]
    executions: int
    grid: tuple[int, int, int] | None
    threads: int | None
    shared_bytes: int | None
    registers: int | None
    counters: Mapping[str, float]
    device_name: str | None
    format_name: str | None
    counters_are_of_timed_run: bool


@dataclass(frozen=True)
class BundledKernel:
    """A kernel of a bundle.

    `facts`, `bindings` and `device_id` are what the model is asked; `launch` is which launch of
    the function was measured, None for all.  `predicted_s` and `predicted_by` are the prediction
    when the bundle was written, and by which version.
    """

    facts: KernelFacts
    bindings: Mapping[str, int]
    device_id: str
    launch: int | None
    measurement: Measurement
    predicted_s: float | None = None
    predicted_by: str = ""

    def report(self) -> KernelReport:
        """The report of the present model."""
        return analyze(self.facts, load(self.device_id), self.bindings)

    def question(self, report: KernelReport) -> Question | None:
        """The measured kernel beside `report`; None for a launch of several, or without a time."""
        if report.time_s is None or (self.launch is not None and len(report.sequence) > 1):
            return None
        measured = self.measurement
        return Question(
            measured.time_s,
            report,
            load(self.device_id),
            measured.counters,
            measured.grid,
            measured.threads,
            measured.shared_bytes,
            measured.registers,
            measured.figures.get("kernel_time_s"),
            measured.counters_are_of_timed_run,
        )

    def predicted_launch(self, report: KernelReport) -> SequenceLaunch:
        """The launch that was measured, with its prediction."""
        if self.launch is None or not 0 <= self.launch < len(report.sequence):
            return report.launch
        return report.sequence[self.launch]


def anonymous(kernel: BundledKernel, names: Anonymiser) -> BundledKernel | None:
    """`kernel` without text and names; None on a device that the catalogue does not have."""
    if kernel.device_id not in catalogue():
        return None
    measured = kernel.measurement
    facts = names.facts(kernel.facts)
    return BundledKernel(
        facts,
        names.bindings(kernel.bindings),
        kernel.device_id,
        kernel.launch,
        Measurement(
            measured.time_s,
            {name: value for name, value in measured.figures.items() if name in _FIGURES},
            measured.executions,
            measured.grid,
            measured.threads,
            measured.shared_bytes,
            measured.registers,
            _counters(measured.counters),
            _board(measured.device_name),
            measured.format_name,
            measured.counters_are_of_timed_run,
        ),
        kernel.predicted_s,
        __version__,
    )


def _counters(counters: Mapping[str, float]) -> dict[str, float]:
    return {
        name: value
        for name, value in counters.items()
        if _COUNTER.fullmatch(name) and math.isfinite(value)
    }


def _board(name: str | None) -> str | None:
    words = re.split(r"[\s_/-]+", name or "")
    return name if all(map(_DEVICE_WORD.fullmatch, words)) else None


def bundle_text(kernels: Sequence[BundledKernel]) -> str:
    """The bundle of kernels that are `anonymous`, as JSON."""
    document = {
        KEY: _VERSION,
        "tirlens_version": __version__,
        "kernels": [_kernel_json(kernel) for kernel in kernels],
    }
    return _readable_json(document) + "\n"


def _kernel_json(kernel: BundledKernel) -> dict[str, Any]:
    report = kernel.report()
    question = kernel.question(report)
    mechanisms: tuple[Mechanism, ...] = () if question is None else find_mechanisms(question)
    launch = kernel.predicted_launch(report)
    measured = kernel.measurement
    return {
        "device": kernel.device_id,
        "launch": kernel.launch,
        "measured": {
            "time_s": measured.time_s,
            **measured.figures,
            "executions": measured.executions,
            "grid": measured.grid,
            "threads": measured.threads,
            "shared_bytes": measured.shared_bytes,
            "registers": measured.registers,
            "counters": dict(measured.counters),
            "counters_are_of_timed_run": measured.counters_are_of_timed_run,
            "device_name": measured.device_name,
            "format": measured.format_name,
        },
        "predicted": {
            "time_s": launch.time_s,
            "band_s": launch.time_band_s,
            "roofline_time_s": launch.roofline_time_s,
            "bound": launch.bound,
            "dram_read_bytes": report.dram_bytes.read,
            "dram_write_bytes": report.dram_bytes.write,
            "l2_bytes": report.l2_bytes,
            "blocks_per_sm": report.occupancy and report.occupancy.blocks_per_sm,
            "registers_per_thread": report.registers_per_thread,
            "launch_facts": report.launch_facts,
        },
        "mechanisms": [{"name": item.name, "evidence": item.text} for item in mechanisms],
        "bindings": dict(kernel.bindings),
        "facts": to_json(kernel.facts),
    }


def read_bundle(text: str) -> list[BundledKernel]:
    """The kernels of a bundle.

    Raises
    ------
    BundleError
        The text is no bundle, or has a kernel that cannot be read.
    """
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"is no JSON: {error}") from error
    if not isinstance(data, dict) or KEY not in data:
        raise BundleError("is no bundle of residuals")
    document = cast("dict[str, Any]", data)
    if document[KEY] != _VERSION:
        raise BundleError(f"is a bundle of version {document[KEY]!r}; {_VERSION} is read")
    kernels: list[BundledKernel] = []
    for number, entry in enumerate(document.get("kernels") or (), 1):
        try:
            kernels.append(_kernel(entry, str(document.get("tirlens_version", ""))))
        except (DecodeError, DeviceError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise BundleError(f"kernel {number} cannot be read: {error}") from error
        except RecursionError as error:
            raise BundleError(f"kernel {number} cannot be read: it is nested too deeply") from error
    return kernels


def _kernel(entry: Mapping[str, Any], version: str) -> BundledKernel:
    measured = entry["measured"]
    if entry["device"] not in catalogue():
        raise DeviceError(f"{entry['device']!r} is not in the catalogue")
    predicted = entry.get("predicted", {}).get("time_s")
    return BundledKernel(
        from_json(KernelFacts, entry["facts"]),
        {str(name): _whole(size) for name, size in entry["bindings"].items()},
        str(entry["device"]),
        _optional_whole(entry.get("launch")),
        Measurement(
            _positive(measured["time_s"]),
            {name: _positive(measured[name]) for name in _FIGURES if name in measured},
            _whole(measured["executions"]),
            _dimensions(measured["grid"]),
            _optional_whole(measured["threads"]),
            _optional_whole(measured["shared_bytes"]),
            _optional_whole(measured["registers"]),
            {str(name): _positive(value) for name, value in measured["counters"].items()},
            measured["device_name"] and str(measured["device_name"]),
            measured["format"] and str(measured["format"]),
            measured["counters_are_of_timed_run"] is True,
        ),
        None if predicted is None else _positive(predicted),
        version,
    )


def _positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is no number")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} is no figure")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value


def _optional_whole(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _dimensions(value: Any) -> tuple[int, int, int] | None:
    if value is None:
        return None
    x, y, z = map(_whole, value)
    return x, y, z


def _readable_json(value: Any, depth: int = 0) -> str:
    """JSON in which what fits a line is on one line, so that people can read it."""
    text = json.dumps(value)
    if len(text) + depth <= _LINE_CHARACTERS or not isinstance(value, (dict, list, tuple)):
        return text
    inner = "\n" + " " * (depth + 1)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        parts = [f"{json.dumps(key)}: {_readable_json(item, depth + 1)}" for key, item in items]
        return "{" + inner + f",{inner}".join(parts) + "\n" + " " * depth + "}"
    rows = [_readable_json(item, depth + 1) for item in cast("Sequence[Any]", value)]
    return "[" + inner + f",{inner}".join(rows) + "\n" + " " * depth + "]"
