"""The lines of the workspace's kernels with the samples that Nsight Compute took of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.lower import generate
from tirlens.cli.traced_file import Traced
from tirlens.cli.worker_pool import WorkerPool, worker_pool
from tirlens.ide import labels, places
from tirlens.ide.escaping import visible
from tirlens.measured.matching.device_functions import readings
from tirlens.measured.matching.kernel_lines import KernelLines, SourceText, lines_of_kernel
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.performance.source_lines import KernelSamples, samples_by_line
from tirlens.pipeline import line_json
from tirlens.pipeline.generation_request import linked_code
from tirlens_worker.facts import Span
from tirlens_worker.protocol import CUDA

_MOST_LINES = 20


@dataclass(frozen=True)
class SampledKernel:
    """A sampled execution, and the lines of the one file of the workspace that it executes.

    `lines` is None where no generated code is that of the trace, for the `reason`.
    """

    sampled: KernelSamples
    file: Traced | None = None
    lines: KernelLines | None = None
    reason: str = ""


def sampled_kernels(report: MeasuredReport, traced: Sequence[Traced]) -> tuple[SampledKernel, ...]:
    """The sampled executions whose function has the name of one of the kernels of `traced`."""
    sampled = [one for trace in report.traces for one in samples_by_line(trace.source_lines)]
    named = [(one, files) for one in sampled if (files := _files_of(one, traced))]
    if not named:
        return ()
    with worker_pool(1) as pool:
        texts = _Texts(pool)
        return tuple(_find(one, files, texts) for one, files in named)


def _files_of(sampled: KernelSamples, traced: Sequence[Traced]) -> list[Traced]:
    functions = {reading.function for reading in readings(sampled.kernel)}
    return [
        file for file in traced if any(facts.name in functions for facts in file.result.kernels)
    ]


class _Texts:
    """The texts that may be the source of a kernel, of each file once."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._known: dict[str, list[tuple[str, SourceText]]] = {}

    def of(self, file: Traced, sampled: KernelSamples) -> Iterator[SourceText]:
        """The file itself, for code with line directives, and the generated code by calls."""
        own = file.text.splitlines()
        yield SourceText(own, range(1, len(own) + 1))
        functions = {reading.function for reading in readings(sampled.kernel)}
        if file.path not in self._known:
            self._known[file.path] = list(self._generate(file))
        yield from (text for name, text in self._known[file.path] if name in functions)

    def _generate(self, file: Traced) -> Iterator[tuple[str, SourceText]]:
        answer = self._pool.run(generate(self._pool, file, [CUDA]))
        if answer is None:
            return
        for code in linked_code(answer, file.result.kernels):
            for text in code.texts:
                yield code.name, SourceText(text.text.splitlines(), text.lines)


def _find(sampled: KernelSamples, files: Sequence[Traced], texts: _Texts) -> SampledKernel:
    found: list[tuple[Traced, KernelLines]] = []
    for file in files:
        for text in texts.of(file, sampled):
            lines = lines_of_kernel(sampled, text)
            # Calls that differ in sizes alone have the same lines.
            if lines is not None and (file, lines) not in found:
                found.append((file, lines))
    if len(found) == 1:
        ((file, lines),) = found
        return SampledKernel(sampled, file, lines)
    if found:
        return SampledKernel(sampled, reason="the code of several kernels or calls fits its lines")
    return SampledKernel(
        sampled,
        reason="the code that is generated for no call of the kernel has its lines: "
        "profile with --import-source yes, the same framework and the same call",
    )


def show(kernels: Sequence[SampledKernel], arguments: argparse.Namespace, out: Console) -> None:
    """Print the lines of the files with the most samples."""
    for one in kernels:
        name = visible(one.sampled.kernel)
        out.print()
        if one.lines is None or one.file is None:
            out.print(Text(f"Lines of {name}: {one.reason}"))
            continue
        out.print(Text(f"Lines of {name} in {visible(one.file.path)}", style="bold"))
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("Samples", justify="right", no_wrap=True)
        table.add_column("Stalls", no_wrap=True)
        table.add_column("Line", justify="right", no_wrap=True)
        table.add_column("Source")
        texts = one.file.text.splitlines()
        for line in one.lines.lines[:_MOST_LINES]:
            source = texts[line.line - 1].strip() if line.line <= len(texts) else ""
            table.add_row(
                labels.percent(line.share),
                ", ".join(list(line.stalls)[:2]),
                _place(one.file, line.line),
                Text(visible(source), no_wrap=True, overflow="ellipsis"),
            )
        if one.lines.other_share > 0:
            table.add_row(labels.percent(one.lines.other_share), "", "", "no line of the kernel")
        out.print(table)
        if one.lines.evidence == "numbers":
            out.print("By the numbers of the generated lines: the trace has no source text.")


def _place(file: Traced, line: int) -> str:
    if file.notebook is None:
        return str(line)
    return places.line(file.notebook.in_cell(Span(line, 0, line, 0)))


def data(kernels: Sequence[SampledKernel], arguments: argparse.Namespace) -> dict[str, Any]:
    """The samples of the lines of files, by executions."""
    return {"kernel_lines": [_json(one) for one in kernels]}


def _json(one: SampledKernel) -> dict[str, Any]:
    lines, file = one.lines, one.file
    found = {"kernel": one.sampled.kernel, "execution": one.sampled.execution}
    if lines is None or file is None:
        return {**found, "file": None, "reason": one.reason, "lines": []}
    notebook = file.notebook
    spans = [Span(line.line, 0, line.line, 0) for line in lines.lines]
    return {
        **found,
        "file": file.path,
        "evidence": lines.evidence,
        "samples": lines.samples,
        "other_share": lines.other_share,
        "lines": [
            {
                **line_json(span if notebook is None else notebook.in_cell(span)),
                "samples": line.samples,
                "share": line.share,
                "stalls": dict(line.stalls),
            }
            for span, line in zip(spans, lines.lines, strict=True)
        ],
    }
