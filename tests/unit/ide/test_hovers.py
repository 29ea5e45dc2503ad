"""What a hover says of a kernel, beyond the figures that other tests compare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm
from tirlens.evaluation.search_result import KnownValue
from tirlens.hardware import load
from tirlens.ide import hovers
from tirlens.model import analyze
from tirlens.model.report import BreakdownEntry
from tirlens_worker.facts import Span


def test_the_band_says_what_makes_it_wide() -> None:
    report = replace(
        analyze(gemm(), load("h200")),
        time_band_s=(1e-6, 2e-6),
        uncertainty={"rate": 0.1, "reuse": 0.2, "launch": 0.001, "waits": 0.0},
    )
    assert "/#band) | 1 us to 2 us: re-reads 22%, rate 11% |" in hovers.kernel(report)
    assert "/#band) | 1 us to 2 us |" in hovers.kernel(replace(report, uncertainty={}))
    assert "/#band)" not in hovers.kernel(replace(report, time_band_s=None))


def test_the_confidence_says_what_it_is_known_from() -> None:
    report = analyze(gemm(), load("h200"))
    assert report.confidence is not None
    (reason,) = report.confidence_reasons
    assert f"/#confidence) | {report.confidence:.0%}: {reason} |" in hovers.kernel(report)
    assert "/#confidence)" not in hovers.kernel(replace(report, confidence=None))


def test_what_the_text_gives_of_an_assumed_call_is_apart_from_what_is_assumed() -> None:
    known = (
        KnownValue("dim", "512", Span(26, 4, 26, 9)),
        KnownValue("tail", "64", Span(26, 4, 26, 9)),
        KnownValue("topk", "2048", Span(9, 0, 9, 4, "/repository/model.py")),
    )
    report = replace(analyze(gemm(), load("h200")), known=known, assumed={"heads": "128"})
    found = hovers.assumptions(report)
    assert "Known from the text: `dim=512`, `tail=64` (line 26), `topk=2048` " in found
    assert "([model.py:9](file:///repository/model.py#L9))" in found
    assert "`heads=128?`" in found and "dim=512?" not in found


CALL = Span(7, 4, 7, 20)


def written(
    line: int, file: str | None = None, *children: BreakdownEntry, kind: str = "op"
) -> BreakdownEntry:
    return BreakdownEntry(
        kind=kind,
        label=f"line {line}",
        span=CALL,
        trips=None,
        executions=3,
        flop=100,
        global_bytes=20,
        dram_bytes=10.0,
        time_s=1e-6,
        share=0.25,
        bound="dram",
        children=children,
        sites=(CALL, Span(line, 0, line, 9, file)),
    )


def hovered(column: int, *costs: BreakdownEntry) -> str:
    report = replace(analyze(gemm(), load("h200")), span=Span(1, 0, 1, 9), loops=costs, caveats=())
    found = hovers.hover([report], CALL.line, column)
    assert found is not None and found.span == CALL
    return found.markdown


@pytest.mark.parametrize("column", [0, 10])
def test_the_call_of_a_macro_tells_all_that_the_macro_does(column: int) -> None:
    inner = written(33, "/lib/common.py")
    costs = (written(31), written(32, None, inner, kind="serial"), written(40, "/lib/common.py"))
    told = hovered(column, *costs)
    assert told.startswith("**`macro call`**: 3 us, 75% of ")
    assert "/#flop) | 300 FLOP |" in told and "/#dram) | 30 B |" in told
    assert "executions" not in told and "line 33" not in told
    assert "| `line 31` | 31 |" in told and "| `line 40` | common.py:40 |" in told


def test_a_macro_of_one_loop_is_told_as_the_loop() -> None:
    told = hovered(10, written(32, None, written(33), kind="serial"))
    assert told.startswith("**`line 32`**: 1 us, 25% of ")
