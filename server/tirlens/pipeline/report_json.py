"""The document that ``--format json`` prints and the editor's report view reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tirlens.hardware import Device
from tirlens.model.report import KernelReport
from tirlens.model.totals import ModuleTotal, module_totals
from tirlens.pipeline.file_report import FileReport
from tirlens.pipeline.kernel_json import kernel_json, line_json
from tirlens.pipeline.step_cost import step_cost, step_json
from tirlens_worker.protocol import NeedsArguments, Problem

SCHEMA_VERSION = 1


def to_json(
    reports: Iterable[FileReport],
    device: Device,
    by_launches: bool = False,
    others: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The contract's document for some files; `device` is the one named at its top.

    With `by_launches` it has the cost of the captured step, in which `others` are the operations of
    other libraries.
    """
    files = list(reports)
    kernels: list[dict[str, Any]] = []
    for file in files:
        kernels += [kernel_json(kernel, file.path) for kernel in file.kernels]
        kernels += [_needs_json(item, file.path, device) for item in file.needs]
    return {
        "schema_version": SCHEMA_VERSION,
        "device": device_json(device),
        "kernels": kernels,
        "modules": [
            _module_json(total, file.path)
            for file in files
            for total in module_totals(file.kernels)
        ],
        "not_called": [
            {"name": item.kernel, "file": file.path, **line_json(item.span), "call": item.call}
            for file in files
            for item in file.uncalled
        ],
        "problems": [problem_json(item, file.path) for file in files for item in file.problems],
        "unselected": [
            {"definition": kernel.name, "file": file.path, **line_json(kernel.span)}
            for file in files
            for kernel in file.unselected
        ],
        **({"step": step_json(step_cost(files, others))} if by_launches else {}),
    }


def device_json(device: Device) -> dict[str, Any]:
    """A device in short; ``tirlens devices ID`` has all of it."""
    return {
        "id": device.id,
        "name": device.name,
        "vendor": device.vendor,
        "kind": device.kind,
        "arch": device.arch,
        "sm_count": device.sm_count,
        "clock_hz": device.clock_hz,
        "dram_bytes_per_s": device.dram.bytes_per_s,
        "l2_bytes": device.l2.bytes,
        "peak_flop_per_s": {name: peak.flop_per_s for name, peak in device.peaks.items()},
    }


def _module_json(total: ModuleTotal, path: str) -> dict[str, Any]:
    """The sums over the kernels of one statement."""
    return {
        "definition": total.first.definition,
        "entry": total.entry or None,
        "file": path,
        **line_json(total.first.span),
        "device_id": total.first.device_id,
        "kernels": len(total.kernels),
        "calls": total.calls,
        "time_s": total.time_s,
        "flop": total.flop,
        "int_ops": total.int_ops,
        "dram_bytes": total.dram_bytes,
        "is_lower_bound": total.is_bound,
    }


def _needs_json(needs: NeedsArguments, path: str, device: Device) -> dict[str, Any]:
    """A kernel without arguments: every number of it is unknown."""
    blank = KernelReport(
        name=needs.kernel,
        definition=needs.kernel,
        span=needs.span,
        framework="",
        framework_version="",
        call="",
        call_source="",
        bindings={},
        device_id=device.id,
        device_name=device.name,
        status="needs-bindings",
        needs=needs.names,
        message=needs.reason,
    )
    return {**kernel_json(blank, path), "framework": None, "call": None, "call_source": None}


def problem_json(problem: Problem, path: str) -> dict[str, Any]:
    """A problem at its line; the file's first where it has none."""
    span = problem.span
    return {
        "file": span.file if span and span.file else path,
        **(line_json(span) if span else {"line": 1}),
        "column": span.column if span else 0,
        "message": problem.message,
        "kind": problem.kind,
        "kernel": problem.kernel,
    }
