"""Requirement 7: what is shown follows the edits since, against a reference; never an error."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.robust import amount
from tirlens.ide.document_text import split_lines
from tirlens.model.report import BreakdownEntry, KernelReport, ReadWrite
from tirlens.pipeline import FileReport
from tirlens.session import Analysis, Document, Reading, view
from tirlens.session.configuration import Configuration
from tirlens.settings import Settings
from tirlens.source import read
from tirlens_worker.facts import Span
from tirlens_worker.protocol import Result

EVERYTHING = Configuration(settings=Settings(min_percentage=0.0)).display(Settings())
KERNELS = 4
BODY = 12


def _text() -> str:
    """Kernels of which no line stands twice, so that a reference knows each line for itself."""
    parts = ["from tvm.script import tirx as T"]
    for number in range(KERNELS):
        parts += ["", "@T.prim_func", f'def kernel_{number}(A: T.Buffer((64,), "float32")):']
        parts[-2] += f"  # {number}"
        parts[-3] = f"# before {number}"
        parts += [f"    A[{line}] = T.float32({number})" for line in range(BODY)]
    return "\n".join(parts) + "\n"


def _cost(line: int, end_line: int) -> BreakdownEntry:
    return BreakdownEntry(
        kind="op",
        label=f"line {line}",
        span=Span(line, 4, end_line, 20),
        trips=None,
        executions=1,
        flop=line,
        global_bytes=0,
        dram_bytes=0.0,
        time_s=1e-6,
        share=0.1,
        bound=None,
    )


def _analysis(reading: Reading) -> Analysis:
    """A report with a cost on each line of the kernels, some of them over two lines."""
    reports = tuple(
        KernelReport(
            name=kernel.name,
            definition=kernel.name,
            span=kernel.span,
            framework="tvm",
            framework_version="0.27.0",
            call=kernel.name,
            call_source="definition",
            bindings={},
            device_id="h100-sxm",
            device_name="H100",
            flop=1,
            dram_bytes=ReadWrite(1, 1),
            time_s=BODY * 1e-6,
            bound="dram",
            loops=tuple(
                _cost(line, line + (line % 3 == 0 and line < kernel.extent.end_line))
                for line in range(kernel.extent.end_line - BODY + 1, kernel.extent.end_line + 1)
            ),
        )
        for kernel in reading.source.kernels
    )
    report = FileReport(kernels=reports, source=reading.source)
    return Analysis(reading, Result(1), report)


def _reading(text: str) -> Reading:
    return Reading(text, tuple(split_lines(text)), read(text))


@dataclass
class Reference:
    """The lines as they were given an identity when they were analysed."""

    lines: list[tuple[int | None, str]]

    def now(self) -> dict[int, int]:
        return {old: at + 1 for at, (old, _) in enumerate(self.lines) if old is not None}

    def text(self) -> str:
        return "\n".join(text for _, text in self.lines)


def _edit(source: random.Random, reference: Reference, step: int) -> None:
    lines = reference.lines
    at = source.randrange(len(lines))
    roll = source.random()
    if roll < 0.4:
        lines[at:at] = [(None, f"# new {step} {n}") for n in range(source.randrange(1, 4))]
    elif roll < 0.6:
        del lines[at : at + source.randrange(1, 3)]
    else:
        lines[at] = (None, lines[at][1] + f"  # changed {step}")
    if not lines:
        lines.append((None, ""))


@pytest.mark.slow
def test_07_hints_follow_random_edits_as_the_reference_says() -> None:
    text = _text()
    reading = _reading(text)
    analysis = _analysis(reading)
    assert len(reading.source.kernels) == KERNELS
    costs = {cost.span.line: cost for report in analysis.report.kernels for cost in report.loops}
    assert len(costs) == KERNELS * BODY
    source = random.Random(7)
    sequences = amount(100, 5000 // 8)
    for _ in range(sequences):
        document = Document("file:///a.py", Path("/a.py"), 1, text, text, reading, analysis)
        reference = Reference(list(enumerate(text.split("\n"), 1)))
        for step in range(8):
            _edit(source, reference, step)
            document.text = reference.text()
            now = reference.now()
            expected = {
                now[line]: f"line {line}"
                for line, cost in costs.items()
                if line in now
                and (cost.span.end_line == line or now.get(line + 1) == now[line] + 1)
            }
            found = view.inlay_hints(document, 1, 10**6, EVERYTHING)
            valid = [hint for hint in found if not hint.label.startswith("(")]
            assert {hint.line: hint.tooltip.partition(":")[0] for hint in valid} == expected
            # A line that was edited keeps its hint, in brackets.
            for hint in found:
                if hint not in valid:
                    assert hint.line not in expected
                    number = int(hint.tooltip.partition(":")[0].removeprefix("line "))
                    edited = document.lines[hint.line - 1]
                    assert edited.startswith(reading.lines[number - 1].rstrip()[:8])
            lenses = view.code_lenses(document, True, EVERYTHING)
            assert {lens.kernel for lens in lenses} == {k.name for k in reading.source.kernels}
            for kernel in reading.source.kernels:
                span = range(kernel.extent.line, kernel.extent.end_line + 1)
                intact = all(
                    line in now and now[line] == now.get(kernel.extent.line, 0) + line - span[0]
                    for line in span
                )
                titles = [item.part.title for item in lenses if item.kernel == kernel.name]
                assert ("stale: save to refresh" in titles) == (not intact)
        # Undo brings everything back, with no run.
        document.text = text
        assert len(view.inlay_hints(document, 1, 10**6, EVERYTHING)) == len(costs)
        titles = [item.part.title for item in view.code_lenses(document, True, EVERYTHING)]
        assert "stale: save to refresh" not in titles


@pytest.mark.slow
def test_07_views_answer_any_text_at_all() -> None:
    """Characters instead of lines: whatever is typed, there is an answer and no exception."""
    text = _text()
    reading = _reading(text)
    source = random.Random(8)
    document = Document("file:///a.py", Path("/a.py"), 1, text, text, reading, _analysis(reading))
    pieces = ["", "\n", "\r", "\f", "\u2028", "(", '"""', "def ", "😋", "\0", "@T.prim_func\n"]
    for step in range(amount(500, 5000)):
        if step % 50 == 0:
            document.text = text
        now = document.text
        start = source.randrange(len(now) + 1)
        end = min(len(now), start + source.choice([0, 0, 1, 30]))
        document.text = now[:start] + source.choice(pieces) + now[end:]
        document.reading = _reading(document.text) if step % 10 == 0 else document.reading
        lines = document.lines
        hints = view.inlay_hints(document, 1, 10**6, EVERYTHING)
        assert all(0 < hint.line <= len(lines) for hint in hints)
        valid = [hint for hint in hints if not hint.label.startswith("(")]
        assert all(lines[hint.line - 1] in reading.lines for hint in valid)
        view.code_lenses(document, True, EVERYTHING)
        view.file_diagnostics(document)
        view.hover(document, source.randrange(len(lines)) + 1, 5)
