"""The JSON of the contract: what ``--format json`` prints and the editor's report view reads."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from tirlens.hardware import Device
from tirlens.ide.notebook_file import CellSpan
from tirlens.language_models import load
from tirlens.model.report import Advice, BreakdownEntry, KernelReport, MeasuredTime
from tirlens.model.totals import ModuleTotal, module_totals
from tirlens.pipeline.file_report import FileReport
from tirlens.pipeline.step_cost import step_cost, step_json
from tirlens.source.edits import Replacement
from tirlens_worker.facts import Span
from tirlens_worker.protocol import NeedsArguments, Problem

SCHEMA_VERSION = 1

_PLAIN = (
    "status", "message", "schedule", "threads_per_block", "shared_bytes_per_block",
    "registers_per_thread", "launch_facts", "flop", "useful_flop", "int_ops", "compulsory_bytes",
    "compulsory_is_exact", "compulsory_sector_bytes", "compulsory_sectors_are_exact",
    "l2_bytes", "shared_bytes", "time_s", "roofline_time_s", "bound", "bound_class",
    "bound_reason", "arithmetic_intensity", "ridge_point", "flop_per_s", "peak_fraction",
    "dram_bytes_per_s", "dram_fraction",
)  # fmt: skip


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


def line_json(span: Span) -> dict[str, int]:
    """The line of a span, and the number of its cell in a notebook."""
    cell = {"cell": span.cell} if isinstance(span, CellSpan) else {}
    return {**cell, "line": span.line}


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


def kernel_json(kernel: KernelReport, path: str) -> dict[str, Any]:
    """One kernel as in the contract."""
    occupancy, waves = kernel.occupancy, kernel.waves
    return {
        "name": kernel.name,
        "definition": kernel.definition,
        "file": path,
        **line_json(kernel.span),
        "column": kernel.span.column,
        "framework": {"name": kernel.framework, "version": kernel.framework_version},
        "device": {
            "id": kernel.device_id,
            "name": kernel.device_name,
            "source": kernel.device_source,
        },
        "math_fidelity": kernel.math_fidelity
        and {"name": kernel.math_fidelity, "source": kernel.math_fidelity_source},
        "call": kernel.call,
        "call_source": kernel.call_source,
        "call_site": kernel.call_site and f"{kernel.call_site.file}:{kernel.call_site.line}",
        "launches": kernel.launches,
        "bindings": dict(kernel.bindings),
        "assumed": {name: _value(text) for name, text in kernel.assumed.items()},
        "model": kernel.model
        and {
            "id": kernel.model.model,
            "name": load(kernel.model.model).name,
            "source": load(kernel.model.model).source,
            "sizes": dict(kernel.model.values),
            "chosen": kernel.model.is_chosen,
        },
        "sizes": dict(kernel.sizes),
        "arrays": [
            {"name": array.name, "dtype": array.dtype, "shape": array.shape}
            for array in kernel.arrays
        ],
        "needs": list(kernel.needs),
        "grid": list(kernel.grid),
        **{name: getattr(kernel, name) for name in _PLAIN},
        "flop_by_class": dict(kernel.flop_by_class),
        "global_bytes": {"read": kernel.global_bytes.read, "write": kernel.global_bytes.write},
        "dram_bytes": {"read": kernel.dram_bytes.read, "write": kernel.dram_bytes.write},
        "time_band_s": list(kernel.time_band_s) if kernel.time_band_s else None,
        "utilisation": dict(kernel.utilisation),
        "budget": {"time_s": kernel.budget.time_s, "dram_bytes": kernel.budget.dram_bytes},
        "over_budget": list(kernel.over_budget),
        "occupancy": None
        if occupancy is None
        else {
            "blocks_per_sm": occupancy.blocks_per_sm,
            "fraction": occupancy.fraction,
            "limiter": occupancy.limiter,
        },
        "waves": None
        if waves is None
        else {"count": waves.count, "tail_fraction": waves.tail_fraction},
        "formula": dict(kernel.formula),
        "measured": [_measured_json(item) for item in kernel.measured],
        "built": _built_json(kernel),
        "lowered": _lowered_json(kernel),
        "loops": [cost_json(cost) for cost in kernel.loops],
        "advice": [_advice_json(item) for item in kernel.advice],
        "caveats": [
            {**line_json(item.span or kernel.span), "message": item.message}
            for item in kernel.caveats
        ],
    }


def _measured_json(measured: MeasuredTime) -> dict[str, Any]:
    """A stored measured time."""
    return {
        "device": measured.device_id,
        "board": measured.board or None,
        "time_s": measured.time_s,
        "low_s": measured.low_s,
        "high_s": measured.high_s,
        "samples": measured.samples,
        "measured_at": datetime.fromtimestamp(measured.measured_at_s, timezone.utc).isoformat(),
        "tool": measured.tool,
        "is_edited": measured.is_edited,
        "edits": measured.edits,
    }


def _value(text: str) -> Any:
    """The value of an expression if JSON has it, else its text."""
    try:
        value = ast.literal_eval(text)
        json.dumps(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value


def _built_json(kernel: KernelReport) -> dict[str, Any] | None:
    """How a statement built the kernel; None for one that is written."""
    built = kernel.built
    if built is None:
        return None
    return {
        "step": built.step,
        "version": built.number if built.sequence is not None else None,
        "is_last_version": kernel.is_last_version,
        "previous_time_s": kernel.previous_s,
        "entry": built.entry or None,
        "calls": built.calls,
        "arrays": list(built.arrays),
        "same_as_line": built.same_as.line if built.same_as else None,
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


def _lowered_json(kernel: KernelReport) -> dict[str, Any] | None:
    """What lowering says beyond the launch, or why the framework refused; None if it was not."""
    launch = kernel.lowered
    if launch is None:
        return {"error": kernel.lowering_error} if kernel.lowering_error else None
    return {
        "error": None,
        "arch": launch.arch,
        "matrix_instruction": launch.matrix_instruction,
        "arrays": [
            {
                "name": move.buffer,
                "mode": move.mode,
                "route": move.route,
                "widths_bytes": list(move.widths_bytes),
            }
            for move in launch.moves
        ],
    }


def cost_json(cost: BreakdownEntry) -> dict[str, Any]:
    """One line of the breakdown with what is inside it."""
    return {
        **line_json(cost.span),
        "column": cost.span.column,
        "end_line": cost.span.end_line,
        "file": cost.span.file,
        "kind": cost.kind,
        "op": cost.op,
        "label": cost.label,
        "trips": cost.trips,
        "mean_trips": cost.mean_trips,
        "executions": cost.executions,
        "flop": cost.flop,
        "int_ops": cost.int_ops,
        "global_bytes": cost.global_bytes,
        "dram_bytes": cost.dram_bytes,
        "l2_bytes": cost.l2_bytes,
        "shared_bytes": cost.shared_bytes,
        "time_s": cost.time_s,
        "overlapped_s": cost.overlapped_s,
        "share": cost.share,
        "bound": cost.bound,
        "path": list(cost.path),
        "lost": cost.lost,
        "details": dict(cost.details),
        "sites": [
            {"file": site.file, **line_json(site), "column": site.column} for site in cost.sites
        ],
        "children": [cost_json(child) for child in cost.children],
    }


def _advice_json(advice: Advice) -> dict[str, Any]:
    return {
        "rule": advice.rule,
        **line_json(advice.span),
        "column": advice.span.column,
        "severity": advice.severity,
        "message": advice.message,
        "action": advice.action,
        "saving_s": advice.saving_s,
        "edit": None if advice.offered_edit is None else _edit_json(advice.offered_edit),
    }


def _edit_json(edit: Replacement) -> dict[str, Any]:
    span = edit.span
    return {
        "title": edit.title,
        **line_json(span),
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "new_text": edit.new_text,
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
