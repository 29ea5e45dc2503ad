"""Samples of generated CUDA lines at the lines of the kernel that they are made of."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tirlens.cli import execute_here
from tirlens.measured.matching.kernel_lines import KernelLines, SourceText, lines_of_kernel
from tirlens.measured.performance.source_lines import samples_by_line
from tirlens.measured.records import Position, SourceLine

TEXT = SourceText(
    [
        "#include <cuda.h>",
        "__global__ void k(float* A) {",
        "  float x = A[threadIdx.x];",
        "  x = x * 2;",
        "  A[threadIdx.x] = x;",
        "  __syncthreads();",
        "}",
    ],
    [0, 0, 12, 13, 12, 0, 0],
)


def found(rows: list[tuple[int, str, float]], text: SourceText = TEXT) -> KernelLines | None:
    """What `text` makes of lines with their numbers, texts and samples."""
    lines = [
        SourceLine(
            "k",
            Position("t", number),
            source,
            1,
            "header.h" if number > 100 else "k.cu",
            number,
            counters={"# Samples": samples, "stall_wait": samples / 2, "stall_lg": samples},
        )
        for number, source, samples in rows
    ]
    (kernel,) = samples_by_line(lines)
    return lines_of_kernel(kernel, text)


def test_lines_with_the_generated_text_are_those_of_the_kernel() -> None:
    lines = found(
        [
            (3, "float x = A[threadIdx.x];", 60),
            (4, "  x = x * 2;", 10),
            (5, "  A[threadIdx.x] = x;", 20),
            (6, "  __syncthreads();", 5),
            (120, "inline", 5),
        ]
    )
    assert lines is not None and lines.evidence == "text"
    assert [(one.line, one.samples, one.share) for one in lines.lines] == [
        (12, 80, 0.8),
        (13, 10, 0.1),
    ]
    assert list(lines.lines[0].stalls.items()) == [("lg", 80), ("wait", 40)]
    assert lines.other_share == pytest.approx(0.1)


@pytest.mark.parametrize(
    "rows",
    [
        [(3, "float y = A[0];", 60), (4, "x = x * 2;", 10)],
        [(4, "float x = A[threadIdx.x];", 60)],
        [(3, "float x = A[threadIdx.x];", 60), (99, "return;", 1)],
        [(3, "", 60), (4, "", 10)],
        [(3, "", 60), (4, "", 10), (7, "", 5)],
        [(1, "<Unable to open source file>", 60), (4, "", 10), (5, "", 5)],
    ],
    ids=["another text", "another line", "behind the end", "few numbers", "a brace", "an include"],
)
def test_lines_of_another_text_are_not(rows: list[tuple[int, str, float]]) -> None:
    assert found(rows) is None


def test_numbers_alone_are_said() -> None:
    lines = found([(3, "<Unable to open source file>", 60), (4, "", 10), (5, "", 5)])
    assert lines is not None and lines.evidence == "numbers"
    assert lines.lines[0].line == 12


KERNEL = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def scale(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for i in T.thread_binding(32, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
            B[i * 128 + j] = A[i * 128 + j] + T.float32(1)
"""


@pytest.mark.slow
def test_the_report_has_the_lines_of_the_file(
    tvm_python: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("")
    Path("scale.py").write_text(KERNEL)
    options = ["scale.py", "--python", str(tvm_python), "--device", "h100-sxm"]
    assert execute_here(["lower", *options, "--format", "json"]) == 0
    (code,) = json.loads(capsys.readouterr().out)["kernels"]
    cuda = code["texts"]["cuda"]["text"].splitlines()
    with Path("lines.csv").open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["File Path", "tvm_kernels.cu"])
        writer.writerow(["Function Name", "scale_kernel"])
        writer.writerow(["Line No", "Source", "Address", "Source", "# Samples", "stall_lg"])
        for number, text in enumerate(cuda, 1):
            samples = 10 if "B_ptr[" in text else 90 if "A_ptr[" in text else 0
            writer.writerow([number, text, "-", "-", samples, samples])
    command = ["report", *options, "--measured", "lines.csv"]
    assert execute_here([*command, "--format", "json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernel_lines"]
    assert (kernel["file"], kernel["evidence"]) == ("scale.py", "text")
    # TVM gives statements no lines: one that names a single array may be any of the kernel.
    (line,) = kernel["lines"]
    assert line["line"] == 10 and line["stalls"] == {"lg": line["samples"]}
    assert line["share"] + kernel["other_share"] == pytest.approx(1) and line["share"] < 0.5
    assert execute_here([*command, "--no-color"]) == 0
    out = capsys.readouterr().out
    assert "Lines of scale_kernel in scale.py" in out
    assert "B[i * 128 + j] = A[i * 128 + j] + T.float32(1)" in out
    assert "no line of the kernel" in out
