"""The data of the report page, and the document without a server."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from support import kernels
from tirlens.hardware import load
from tirlens.ide.line_changes import inclusive_times
from tirlens.ide.report_page import (
    Counterpart,
    FileView,
    KernelView,
    Page,
    page_data,
    static_page,
)
from tirlens.ide.report_page.axes import LogAxis, linear_ticks
from tirlens.ide.report_page.kernel_data import kernel_data
from tirlens.model import analyze
from tirlens.model.details import kernel_details
from tirlens_worker.facts import KernelFacts, Span

H100, A100 = load("h100-sxm"), load("a100-80-sxm")
GEMM = kernels.gemm()


def view(facts: KernelFacts = GEMM, **fields: Any) -> KernelView:
    report = analyze(facts, H100)
    return replace(KernelView(report, H100, kernel_details(facts, H100)), **fields)


def page(*views: KernelView, **fields: Any) -> dict[str, Any]:
    file = FileView("/x/k.py", "k.py", views, "saved 14:32:05", **fields)
    return page_data(Page("k.py", [file]))


def test_it_is_json_without_infinities() -> None:
    json.dumps(
        page(view(), view(kernels.scale()), problems=[(3, "no")], text="a\nb"), allow_nan=False
    )


def test_the_bars_of_the_waterfall_are_the_whole_time() -> None:
    found = kernel_data(view())["waterfall"]
    bars = found["bars"]
    assert math.isclose(sum(bar["length"] for bar in bars), 1.0, abs_tol=1e-3)
    for before, after in pairwise(bars):
        assert math.isclose(before["start"] + before["length"], after["start"], abs_tol=1e-3)
    assert [bar["kind"] for bar in bars][-2:] == ["launch", "tail"] or bars[-1]["kind"] == "launch"
    assert [name.split()[0] for _, name in found["limits"]] == ["roofline"]
    assert 0 < found["limits"][0][0] <= 1


def test_the_reachable_time_is_a_limit_of_the_waterfall() -> None:
    report = replace(view().report, reachable_time_s=view().report.time_s / 2)
    (_, roofline), (at, reachable) = kernel_data(replace(view(), report=report))["waterfall"][
        "limits"
    ]
    assert roofline.startswith("roofline ") and reachable.startswith("reachable ")
    assert math.isclose(at, 0.5, abs_tol=1e-3)


def test_positions_are_inside_of_their_charts() -> None:
    data = kernel_data(view())
    chart = data["roofline"]
    assert {point["kind"] for point in chart["points"]} >= {"kernel", "statement"}
    for point in chart["points"]:
        assert 0 < point["y"] < 1 and all(0 < at < 1 for at in point["x"].values())
    for bandwidth in chart["bandwidths"]:
        assert all(-1e-6 <= at <= 1 + 1e-6 for at in bandwidth["line"])
    for lane in data["timeline"]["lanes"]:
        for kind, start, end, *_ in lane["segments"]:
            assert data["timeline"]["kinds"][kind] and 0 <= start <= end <= 1.001


def test_a_point_is_below_its_ceilings() -> None:
    chart = kernel_data(view())["roofline"]
    (kernel,) = (point for point in chart["points"] if point["kind"] == "kernel")
    assert kernel["y"] <= max(peak["y"] for peak in chart["peaks"])
    for bandwidth in chart["bandwidths"]:
        x1, y1, x2, y2 = bandwidth["line"]
        slope = (y2 - y1) / (x2 - x1)
        at = kernel["x"][bandwidth["level"]]
        if at < x2:
            assert kernel["y"] <= y1 + slope * (at - x1) + 1e-6


def test_the_tree_has_the_times_of_another_device() -> None:
    other = analyze(GEMM, A100)
    before = Counterpart("a100-80-sxm", other, inclusive_times(other))
    found = kernel_data(view(before=before))
    assert found["before"]["trend"] == "faster" and found["before"]["change"].startswith("-")
    changes = [row["change"] for row in found["rows"] if "change" in row]
    assert changes and all(change.startswith("-") or change == "=" for change in changes)
    assert all("change" not in row for row in kernel_data(view())["rows"])


def test_a_kernel_without_figures_says_why() -> None:
    failed = replace(view().report, status="error", message="it <broke>")
    data = kernel_data(KernelView(failed, H100))
    assert data["failed"] == "it <broke>" and "rows" not in data


def test_a_foreign_line_is_named_and_leads_nowhere() -> None:
    report = view().report
    entry = replace(report.loops[0], span=Span(9, 0, 9, 5, file="/lib/macro.py"), children=())
    (row,) = kernel_data(KernelView(replace(report, loops=(entry,)), H100))["rows"]
    assert row["place"] == "macro.py:9" and row["line"] is None


def test_the_document_cannot_be_left_by_what_it_says() -> None:
    name = "</script><script>alert(1)</script><!-- \u2028"
    report = replace(view().report, name=name, definition=name)
    html = static_page(page(KernelView(report, H100), text=name))
    assert html.count("<script") == 2 and html.count("</script>") == 2 and "<!--" not in html
    found = re.search('id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["files"][0]["source"][0][0] == name.partition("\u2028")[0]


def test_the_document_loads_nothing() -> None:
    html = static_page(page(view()))
    policy = re.search('Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None and policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    assert not re.search(r'<(?:link|img|iframe)|src="http', html.partition("<script")[0])


def test_the_data_of_many_kernels_is_small() -> None:
    text = json.dumps(page(*[view()] * 20), separators=(",", ":"))
    assert len(text) < 20 * 16_000


@pytest.mark.parametrize("end", [3e-9, 7.7e-5, 1.0, 42.0])
def test_ticks_are_round_and_inside(end: float) -> None:
    ticks = linear_ticks(end)
    assert 3 <= len(ticks) <= 8 and ticks[0] == 0 and ticks[-1] <= end
    assert f"{ticks[1]:.3e}"[0] in "125"


def test_a_logarithmic_axis() -> None:
    axis = LogAxis.around([1.0, 1000.0])
    assert axis.at(1.0) + axis.at(1000.0) == pytest.approx(1, abs=1e-4)
    assert [text for _, text in axis.ticks(str)] == ["1.0", "10.0", "100.0", "1000.0"]
