"""``tirlens lower``: the CUDA source or the lowered IR that the framework makes of kernels."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tirlens import pipeline
from tirlens.cli import file_analysis, outcome
from tirlens.cli.call_steps import merge_steps
from tirlens.cli.errors import UsageError
from tirlens.cli.output import stream, write_json
from tirlens.cli.traced_file import Traced
from tirlens.cli.worker_pool import WorkerPool, worker_pool
from tirlens.ide import places
from tirlens.ide.notebook_file import NotebookFile
from tirlens.pipeline.analysis_request import selected_kernels
from tirlens.pipeline.compilation_request import compilation_steps
from tirlens.pipeline.generation_request import (
    NO_CUDA_KERNEL,
    generated_json,
    generation_request,
    linked_code,
)
from tirlens.pipeline.machine_code import resource_text
from tirlens.worker_client.toolchain import find_toolchain
from tirlens_worker.facts import Span
from tirlens_worker.protocol import SASS, GeneratedCode, Result

# Characters of the margin with source lines.
_MARGIN, _CELL_MARGIN = 5, 13


def execute(arguments: argparse.Namespace) -> int:
    """Generate, print, and give the exit status: 1 where a kernel has no code."""
    if len(arguments.device) > 1:
        raise UsageError("lower takes one --device")
    arguments.files, arguments.lower, arguments.compile = [arguments.file], False, False
    arguments.advice, arguments.jobs, arguments.fresh = False, 1, False
    if arguments.sass:
        arguments.emit, arguments.lines = SASS, True
    with worker_pool(1) as pool:
        (traced,) = file_analysis.trace_in(pool, arguments)
        answer = pool.run(generate(pool, traced, [arguments.emit]))
    if answer is None:
        if traced.result.kernels:
            raise UsageError(NO_CUDA_KERNEL)
        answer = Result(2)
    codes = linked_code(answer, traced.result.kernels)
    outcome.print_problems(file_analysis.in_cells([traced], [traced.report()]))
    for problem in answer.problems:
        print(f"tirlens: {traced.path}: {problem.message}", file=sys.stderr)
    with stream(arguments.output) as file:
        if arguments.format == "json":
            lines = {kernel.definition: kernel.span.line for kernel in traced.result.kernels}
            cells = _cells_json(traced.notebook)
            write_json(file, {"kernels": [generated_json(code, lines) for code in codes], **cells})
        else:
            for code in codes:
                file.write(_text(code, arguments, traced.notebook))
    for code in codes:
        _print_notes(code)
    is_missing = arguments.emit == SASS and any(code.resources_error for code in codes)
    failed = any(code.error for code in codes) or bool(answer.problems)
    return int(not codes or failed or is_missing)


async def generate(
    pool: WorkerPool, traced: Traced, languages: Sequence[str], **options: object
) -> Result | None:
    """The code of the CUDA kernels of `traced` in `languages`; None if it has none.

    `options` replace those of the analysis.
    """
    interpreter = traced.interpreter
    if interpreter is None:
        return None
    path = Path(traced.path)
    chosen = replace(traced.options, **options)  # pyright: ignore[reportArgumentType]
    first = pipeline.analysis_request(2, str(path.absolute()), traced.text, traced.source, chosen)
    compiler = find_toolchain(interpreter.path).compiler
    request = generation_request(first, traced.result, traced.source, chosen, languages, compiler)
    if request is None:
        return None
    names = ", ".join(kernel.name for kernel in selected_kernels(traced.source, traced.options))
    pool.say(f"{traced.path}: generating the code of {names}")
    steps = compilation_steps(request)
    return merge_steps([await pool.analyze(interpreter, one, lambda _: None) for one in steps])


def _cells_json(notebook: NotebookFile | None) -> dict[str, Any]:
    """The first line of each cell of a notebook among the lines of all its Python cells."""
    if notebook is None:
        return {}
    return {"cells": [{"cell": cell, "first_line": above + 1} for cell, above in notebook.cells]}


def _text(code: GeneratedCode, arguments: argparse.Namespace, notebook: NotebookFile | None) -> str:
    """The text of a kernel in the language asked for, with source lines in a margin."""
    with_lines = arguments.lines
    found = [f"// {code.kernel}: {code.call} for {code.arch}\n"] if with_lines else []
    for text in (one for one in code.texts if one.language == arguments.emit):
        lines = text.text.splitlines()
        if not with_lines:
            found += [f"{line}\n" for line in lines]
            continue
        for line, source in zip(lines, text.lines, strict=False):
            margin = _margin(source, notebook)
            found.append(
                f"{margin:>{_CELL_MARGIN if notebook else _MARGIN}} | {line}".rstrip() + "\n"
            )
    return "".join(found)


def _margin(line: int, notebook: NotebookFile | None) -> str:
    if line <= 0 or notebook is None:
        return str(line or "")
    return places.line(notebook.in_cell(Span(line, 0, line, 0)))


def _print_notes(code: GeneratedCode) -> None:
    if code.error:
        print(f"tirlens: {code.kernel}: {code.error}", file=sys.stderr)
    for kernel in code.compiled:
        said = f"{resource_text(kernel)} ({code.arch}, ptxas)"
        print(f"tirlens: {code.kernel}: {said}", file=sys.stderr)
    if code.resources_error:
        print(f"tirlens: {code.kernel}: {code.resources_error}", file=sys.stderr)
