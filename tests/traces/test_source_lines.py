"""The samples of Nsight Compute at lines and instructions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tirlens.cli import execute_here
from tirlens.measured.performance.source_lines import samples_by_line
from tirlens.measured.records import Position, SourceLine

SAMPLES = Path(__file__).parent / "samples"


def line(number: int, counters: dict[str, float], address: int | None = None) -> SourceLine:
    return SourceLine(
        "k", Position("f", number), f"text {number}", 1, "a.cu", number, address, counters
    )


def test_a_line_has_the_samples_of_its_instructions_once() -> None:
    (kernel,) = samples_by_line(
        [
            line(1, {"# Samples": 30, "stall_wait": 20, "stall_selected": 25}),
            line(1, {"# Samples": 10}, 0x10),
            line(1, {"# Samples": 20}, 0x20),
            line(2, {"# Samples": 90, "stall_lg": 5, "stall_lg (Not Issued)": 60}),
            line(3, {"# Samples": 0}),
        ]
    )
    assert kernel.samples == 120
    assert [(each.line.line, each.share, each.stall) for each in kernel.lines] == [
        (2, 0.75, "lg"),
        (1, 0.25, "wait"),
    ]


def test_a_trace_without_samples_has_no_lines() -> None:
    assert samples_by_line([line(1, {"Instructions Executed": 5}), line(2, {})]) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ncu_source_page_sass.csv", "0xb00bb6100"),
        ("ncu_source_page_cuda_sass.csv", "piestimator.cu:25"),
    ],
)
def test_the_report_prints_them(
    name: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(SAMPLES / name)
    assert execute_here(["report", path]) == 0
    text = capsys.readouterr().out
    assert "Samples of initRNG(curandStateXORWOW *, unsigned int)" in text
    assert expected in text
    assert execute_here(["report", "--format", "json", path]) == 0
    kernels = json.loads(capsys.readouterr().out)["source_lines"]
    assert kernels[0]["lines"][0]["counters"]["Instructions Executed"] > 0
    assert sum(each["share"] for each in kernels[0]["lines"]) == pytest.approx(1)


def test_a_hostile_line_is_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "source.csv"
    path.write_text(
        '"Kernel Name","\x1b[31mk"\n"Address","Source","# Samples"\n"0x1","\x1b]0;title\x07","5"\n'
    )
    assert execute_here(["report", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out
