"""One kernel in JSON, and the entries of its breakdown."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime, timezone
from typing import Any, cast

from tirlens import language_models
from tirlens.ide.notebook_file import CellSpan
from tirlens.model.report import Advice, BreakdownEntry, KernelReport, MeasuredTime, figures
from tirlens.source.edits import Replacement
from tirlens_worker.facts import Span

#: The keys of a kernel that are no figures, with their meaning.
KERNEL_KEYS: Mapping[str, str] = {
    "name": "the name of the kernel's function",
    "definition": "the name of its `def`",
    "file": "the file of its `def`",
    "line": "the line of its `def`",
    "column": "the column of its `def`",
    "framework": "`name` and `version`",
    "device": (
        "`id`, `name`, and `source`: `directive`, `project`, `option`, `target`, `schedule` (a CPU "
        "for loops of `T.parallel`), `instructions` (a GPU that has those of the source), "
        "`machine` or `default`"
    ),
    "math_fidelity": (
        "`name` and `source` (`directive`, `project`, `option`, `default`) of the "
        "[math fidelity](devices.md#math-fidelity) of the matrix products on Tensix cores; null "
        "for other kernels and devices"
    ),
    "call": "the [arguments](arguments.md) that the figures are for",
    "call_source": "[where](arguments.md#where-arguments-come-from) they come from",
    "call_site": "`FILE:LINE` of a call in another file; else null",
    "launches": "how often a [captured](capture.md) call was launched; else null",
    "bindings": "the sizes of the dynamic dimensions",
    "assumed": (
        "the arguments and sizes that nothing gives, with the values that are assumed: "
        '`{"N": 4096, "dtype": "float16"}`'
    ),
    "known": (
        "the arguments of an assumed call that the text gives where it does not give all of them: "
        "`value` and `place` (`FILE:LINE`) by name"
    ),
    "model": (
        "the [language model](arguments.md#language-models) that gives some of the arguments and "
        "sizes: `id`, `name`, `source` (the address of its configuration), `sizes` by name, and "
        "`chosen` (whether the user named it); else null"
    ),
    "sizes": "the arguments and dynamic dimensions on which the shapes of the arrays depend",
    "arrays": "`name`, `dtype` and `shape` of the arrays that the kernel takes",
    "status": (
        "`ok`, `no-time` (its counts are known, its time is not), `needs-bindings`, "
        "`unsupported` or `error`"
    ),
    "needs": "the arguments to give where the status is `needs-bindings`",
    "message": "the reason of a status other than `ok`",
    "launch_facts": (
        "`source`, `lowered` or `compiled`: the [tier](measure.md) that threads, "
        "shared memory, registers and local memory are from"
    ),
    "lowered": "what [lowering](measure.md) says; else null",
    "budget": "the [budget](ci.md#budgets) of `time_s` and `dram_bytes`",
    "over_budget": "what exceeds it",
    "measured": (
        "the [stored](measured.md#stored-times) times of this call, that on the kernel's device "
        "first: `device`, `board`, `time_s`, `low_s` and `high_s` (10th and 90th percentile), "
        "`samples`, `measured_at`, `tool`, `is_edited` (null where it is not known), `edits` (null "
        "where they are not counted)"
    ),
    "built": (
        "for a kernel that a statement builds: the `step` (`create_prim_func`, `reorder`), "
        "`version` of its schedule, `is_last_version`, `previous_time_s`, the Relax function "
        "`entry` that calls it `calls` times with `arrays`, and `same_as_line` where an earlier "
        "statement built the same function; else null"
    ),
    "loops": "the [breakdown](#an-entry-of-the-breakdown)",
    "advice": (
        "`rule`, `line`, `column`, `severity`, `message`, `action` (the message in a few words), "
        "`saving_s`, `edit` (null until it was [tried](advice.md#edits-are-tried))"
    ),
    "caveats": "`line` and `message`",
}
#: The keys of an entry of the breakdown that are no figures, with their meaning.
ENTRY_KEYS: Mapping[str, str] = {
    "line": "the line where it begins",
    "column": "the column where it begins",
    "end_line": "the line where it ends",
    "file": "its file; null for the analysed one",
    "sites": "`file`, `line` and `column` of the code of a macro, and of the calls around it",
    "kind": (
        "`pipelined`, `serial`, `parallel`, `unroll`, `vectorized`, `grid`, `block`, `op`, "
        "`branch`, `launch` or `tail`"
    ),
    "op": "the operation of a statement",
    "label": "the line in the words of the source",
    "path": (
        "what the line became on the device: `mma.sync`, `wgmma`, `tcgen05`; `TMA`, `cp.async`, "
        "`loads and stores of threads`, the buffers of a tile; `not pipelined` for a loop whose "
        "stages are lost"
    ),
    "lost": (
        "what the source asks for that the line did not become, and why; empty where nothing is "
        "lost"
    ),
    "details": "more rows of the hover",
    "children": "the entries inside",
}


def kernel_json(kernel: KernelReport, path: str) -> dict[str, Any]:
    """One kernel as in the contract: `KERNEL_KEYS`, and its figures."""
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
        "known": {
            one.name: {
                "value": _value(one.text),
                "place": f"{one.span.file or path}:{one.span.line}",
            }
            for one in kernel.known
        },
        "model": _model_json(kernel),
        "sizes": dict(kernel.sizes),
        "arrays": [asdict(array) for array in kernel.arrays],
        "status": kernel.status,
        "needs": list(kernel.needs),
        "message": kernel.message,
        "launch_facts": kernel.launch_facts,
        "lowered": _lowered_json(kernel),
        **_figures_json(kernel),
        "budget": asdict(kernel.budget),
        "over_budget": list(kernel.over_budget),
        "measured": [_measured_json(item) for item in kernel.measured],
        "built": _built_json(kernel),
        "loops": [cost_json(cost) for cost in kernel.loops],
        "advice": [_advice_json(item) for item in kernel.advice],
        "caveats": [
            {**line_json(item.span or kernel.span), "message": item.message}
            for item in kernel.caveats
        ],
    }


def _model_json(kernel: KernelReport) -> dict[str, Any] | None:
    if kernel.model is None:
        return None
    found = language_models.load(kernel.model.model)
    return {
        "id": kernel.model.model,
        "name": found.name,
        "source": found.source,
        "sizes": dict(kernel.model.values),
        "chosen": kernel.model.is_chosen,
    }


def _figures_json(report: KernelReport | BreakdownEntry) -> dict[str, Any]:
    """The figures by name, those of several parts as objects and lists."""
    return {one.name: _plain(getattr(report, one.name)) for one in figures(type(report))}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, tuple):
        return list(cast("tuple[Any, ...]", value))
    return dict(vars(value)) if is_dataclass(value) else value


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
    """One line of the breakdown with what is inside it: `ENTRY_KEYS`, and its figures."""
    return {
        **line_json(cost.span),
        "column": cost.span.column,
        "end_line": cost.span.end_line,
        "file": cost.span.file,
        "kind": cost.kind,
        "op": cost.op,
        "label": cost.label,
        **_figures_json(cost),
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


def line_json(span: Span) -> dict[str, int]:
    """The line of a span, and the number of its cell in a notebook."""
    cell = {"cell": span.cell} if isinstance(span, CellSpan) else {}
    return {**cell, "line": span.line}
