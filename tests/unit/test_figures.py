"""The table of figures: what is written is what is documented, and kernels in sequence merge."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.kernels import gemm
from tirlens.cli import delimited
from tirlens.cli.rows import Selection
from tirlens.hardware import load
from tirlens.ide import counters, hovers, tables, terms
from tirlens.model import analyze
from tirlens.model.multi_kernel import merge_reports
from tirlens.model.report import BreakdownEntry, KernelReport, ReadWrite, figures
from tirlens.model.report.figure import every, mean, no_sum, of_longest, total
from tirlens.pipeline import FileReport
from tirlens.pipeline.kernel_json import ENTRY_KEYS, KERNEL_KEYS, cost_json, kernel_json

REPORT = analyze(gemm(), load("h100-sxm"))
DOCS = Path(__file__).parents[2] / "server/docs"


def test_the_json_has_the_documented_keys_and_no_others() -> None:
    kernel, entry = kernel_json(REPORT, "k.py"), cost_json(REPORT.loops[0])
    assert set(kernel) == {*KERNEL_KEYS, *(one.name for one in figures(KernelReport))}
    assert set(entry) == {*ENTRY_KEYS, *(one.name for one in figures(BreakdownEntry))}


def test_the_documentation_has_the_tables_of_keys() -> None:
    text = (DOCS / "json.md").read_text(encoding="utf-8")
    assert "<!-- table of the keys of a kernel -->" in text
    assert "<!-- table of the keys of an entry -->" in text


@pytest.mark.parametrize("report", [KernelReport, BreakdownEntry])
def test_a_figure_says_what_it_is_and_how_it_is_shown(report: type) -> None:
    known = terms.anchors()
    for one in figures(report):
        assert one.meaning, one.name
        assert not re.search(r"^[A-Z].*\\.$", one.meaning), "no sentence, but a part of one"
        assert not one.term or one.anchor == known[one.term], one.name
        assert counters.in_unit(1, one.unit), one.name


def test_kernels_in_sequence_have_the_sum_or_mean_of_each_figure() -> None:
    slow = replace(REPORT, status="ok")
    fast = analyze(gemm(), load("b200"))
    assert slow.time_s is not None and fast.time_s is not None and fast.time_s < slow.time_s
    merged = merge_reports([fast, slow])
    time_s = fast.time_s + slow.time_s
    shares = [fast.time_s / time_s, slow.time_s / time_s]
    recomputed = {"flop_per_s", "dram_bytes_per_s", "arithmetic_intensity"}
    for one in figures(KernelReport):
        values: list[Any] = [getattr(report, one.name) for report in (fast, slow)]
        found = getattr(merged, one.name)
        if one.merge is of_longest:
            assert found == values[1], one.name
        elif one.merge is no_sum and one.name not in recomputed:
            assert not found, one.name
        elif one.merge in (total, mean, every):
            assert found == one.merge(values, shares), one.name
    assert merged.time_s == time_s
    assert merged.flop is not None and merged.dram_bytes.total is not None
    assert merged.flop_per_s == pytest.approx(merged.flop / time_s)
    assert merged.dram_bytes_per_s == pytest.approx(merged.dram_bytes.total / time_s)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], 3),
        ([1, None], None),
        ([(1.0, 2.0), (3.0, 4.0)], (4.0, 6.0)),
        ([{"fp32": 1}, {"fp32": 2, "sfu": 3}], {"fp32": 3, "sfu": 3}),
        ([ReadWrite(1, 2), ReadWrite(3, None)], ReadWrite(4, None)),
    ],
    ids=["numbers", "unknown", "band", "classes", "read-write"],
)
def test_a_total(values: list[Any], expected: object) -> None:
    assert total(values) == expected


def test_a_mean_is_weighted_by_time_and_leaves_out_what_is_not_known() -> None:
    assert mean([1.0, 3.0], [0.25, 0.75]) == 2.5
    assert mean([None, 3.0], [0.25, 0.75]) == 3.0
    assert mean([{"dram": 1.0}, {}], [0.25, 0.75]) == {"dram": 0.25}


def test_hovers_tables_and_csv_show_the_figures_of_the_table() -> None:
    hover = hovers.kernel(REPORT)
    for term in ("FLOP", "DRAM", "L2", "band", "occupancy"):
        assert f"| {terms.term(term)} |" in hover
    columns = [one.column for one in figures(KernelReport) if one.column]
    assert list(tables.kernel_cells(REPORT)) == [*columns, "device"]
    out = io.StringIO()
    delimited.write_csv(out, [FileReport((REPORT,), path="k.py")], Selection())
    kernel, first, *_ = csv.DictReader(io.StringIO(out.getvalue()))
    assert {one.name for one in figures(BreakdownEntry)} <= set(kernel)
    assert int(kernel["flop"]) == REPORT.flop and int(kernel["l2_bytes"]) == REPORT.l2_bytes
    assert float(first["time_s"]) == REPORT.loops[0].time_s
