"""The data of the page of a measured step, and its document."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate, pairwise
from typing import Any

import pytest

from tirlens.hardware import load
from tirlens.ide.measured_page import (
    MeasuredView,
    Stack,
    StackPart,
    measured_document,
    measured_page_data,
    operation_table,
)
from tirlens.ide.measured_page.roofline_data import MeasuredPoint
from tirlens.ide.measured_page.stack_data import stack_data
from tirlens.ide.measured_page.table_data import (
    MOST_ROWS,
    Column,
    TableView,
    short_name,
    table_data,
)
from tirlens.ide.measured_page.timeline_data import MOST_SEGMENTS, timeline_data
from tirlens.measured.performance.rates import Performance
from tirlens.measured.records import Operation, Position
from tirlens.measured.timeline import step_of

US = 1e-6
HOSTILE = "</script><script>alert(1)</script>\x1b[31m\u202e<!-- \u2028"


def operation(name: str, start: float, time: float, **fields: Any) -> Operation:
    return Operation(name, Position("t", 1), start_s=start * US, time_s=time * US, **fields)


def layer(count: int = 3) -> list[Operation]:
    """Some layers of a model on two streams, with a gap behind each."""
    found: list[Operation] = []
    for index in range(count):
        at = 100.0 * index
        found += [
            operation("nvjet_tst_128x256", at, 50, device="0", stream="7"),
            operation("flash_fwd_kernel", at + 50, 20, device="0", stream="7"),
            operation("ncclDevKernel_AllReduce", at + 60, 25, device="0", stream="20"),
        ]
    return found


def view(operations: list[Operation], **fields: Any) -> MeasuredView:
    return MeasuredView("trace.json", "trace.json, a trace", step_of(operations), **fields)


def positions(lane: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Begin, end and kernel of each segment, in nanoseconds."""
    flat = lane["segments"]
    starts = accumulate(flat[0::3])
    return [
        (start, start + length, kernel)
        for start, length, kernel in zip(starts, flat[1::3], flat[2::3], strict=True)
    ]


def test_it_is_json_without_infinities() -> None:
    text = json.dumps(measured_page_data(view(layer())), allow_nan=False)
    assert "ncclDevKernel_AllReduce" in text
    json.dumps(measured_page_data(view([])), allow_nan=False)


def test_segments_are_the_operations_in_nanoseconds() -> None:
    data = timeline_data(step_of(layer(2)))
    assert data is not None
    first, second = data["devices"][0]["lanes"]
    assert (first["name"], second["name"]) == ("stream 7", "stream 20")
    names = [name for name, _, _ in data["names"]]
    assert [(start, end, names[kernel]) for start, end, kernel in positions(first)] == [
        (0, 50_000, "nvjet_tst_128x256"),
        (50_000, 70_000, "flash_fwd_kernel"),
        (100_000, 150_000, "nvjet_tst_128x256"),
        (150_000, 170_000, "flash_fwd_kernel"),
    ]
    assert data["length"] == 185_000
    (gap,) = data["devices"][0]["gaps"]
    assert gap[:5] == (85_000, 15_000, "15 us", "ncclDevKernel_AllReduce", "nvjet_tst_128x256")


def test_the_overview_is_the_time_of_the_devices() -> None:
    step = step_of(layer())
    data = timeline_data(step)
    assert data is not None and step.wall_s is not None
    bins = list(zip(*data["overview"], strict=True))
    assert all(sum(parts) <= 1 + 1e-4 for parts in bins)
    busy = sum(sum(parts) for parts in bins) / len(bins)
    assert busy == pytest.approx((step.busy_s or 0) / step.wall_s, rel=0.02)


def test_the_parts_of_a_bar_are_the_whole() -> None:
    data = measured_page_data(view(layer()))
    for stack in data["stacks"]:
        assert math.isclose(sum(part["length"] for part in stack["parts"]), 1, abs_tol=1e-3)
    by_category, by_kernel = data["stacks"]
    assert by_category["parts"][-1]["category"] == "idle" and by_category["total"] == "285 us"
    # A step that mostly waits has a picture of its kernels, too.
    assert by_kernel["parts"][-1]["category"] != "idle" and by_kernel["total"] == "255 us"
    assert [stack["name"] for stack in data["stacks"]] == ["by category", "by kernel"]


def test_small_parts_of_a_bar_are_one_and_nothing_is_no_bar() -> None:
    parts = [StackPart(f"k{index}", 1.0 + index, "other") for index in range(40)]
    data = stack_data(Stack("by memory", parts))
    assert data is not None
    assert len(data["parts"]) == 13 and data["parts"][-1]["name"] == "28 others"
    assert sum(part["length"] for part in data["parts"]) == pytest.approx(1, abs=1e-3)
    assert stack_data(Stack("by memory", [StackPart("a", 0.0, "other")])) is None


@pytest.mark.slow
def test_a_long_trace_is_merged_and_says_so() -> None:
    """100,000 short operations and some long ones, which keep their own segments."""
    operations = [
        operation("gemm" if index % 1000 == 0 else "add", 3 * index, 2 if index % 1000 else 2.9)
        for index in range(100_000)
    ]
    operations.append(operation("flash_attn", 400_000, 5000))
    step = step_of(operations)
    data = timeline_data(step)
    assert data is not None
    (lane,) = data["devices"][0]["lanes"]
    segments = positions(lane)
    assert len(segments) <= MOST_SEGMENTS and lane["operations"] == 100_001
    assert sum(lane["counts"]) + sum(kernel >= 0 for *_, kernel in segments) == 100_001
    assert segments[-1][:2] == (400_000_000, 405_000_000) and segments[-1][2] >= 0
    assert "drawn together" in data["note"]
    assert all(one[1] <= other[0] for one, other in pairwise(segments))
    html = measured_document(MeasuredView("t", "t", step))
    assert len(html) < 3_000_000


def test_what_is_not_known_is_said() -> None:
    summed = Operation("gemm", Position("t", 1), time_s=3e-5, executions=3)
    data = measured_page_data(view([summed]))
    assert data["timeline"] is None and "no timeline" in data["notes"][0]
    assert data["tiles"][0] == ("time of all operations", "30 us", "")
    stated = [
        Operation("a", Position("t", 1), time_s=1e-5, gap_s=2e-6),
        Operation("b", Position("t", 2), time_s=1e-5),
        Operation("c", Position("t", 3), time_s=None),
    ]
    notes = measured_page_data(view(stated))["notes"]
    assert any("lower bound" in note for note in notes)
    assert any("without a time" in note for note in notes)


def test_the_document_cannot_be_left_by_what_it_says() -> None:
    step = step_of([operation(HOSTILE, 0, 10, stream=HOSTILE, device=HOSTILE)])
    found = MeasuredView(HOSTILE, HOSTILE, step, notes=[HOSTILE])
    html = measured_document(found)
    assert html.count("<script") == 2 and html.count("</script>") == 2 and "<!--" not in html
    embedded = re.search('id="data">(.*?)</script>', html, re.DOTALL)
    assert embedded is not None
    data = json.loads(embedded[1])
    for text in (data["title"], data["notes"][0], data["timeline"]["names"][0][0]):
        assert "\x1b" not in text and "\u202e" not in text and text.startswith("</script>")
    policy = re.search('Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None and policy[1].startswith("default-src 'none'")


def test_the_roofline_has_the_kernels_that_are_counted() -> None:
    points = [
        MeasuredPoint("gemm", 1e-3, 5e11, 1e8, 0.5),
        MeasuredPoint("copy", 1e-4, 0, 1e8),
        MeasuredPoint("fp8", 1e-4, 1.2e11, 1e7),
    ]
    data = measured_page_data(view(layer(), points=points, device=load("h100-sxm")))
    chart = data["roofline"]["chart"]
    assert [point["label"] for point in chart["points"]] == ["gemm", "fp8"]
    # A kernel above the peak of half precision has the next ceiling over it.
    assert len(chart["peaks"]) == 3
    for point in chart["points"]:
        assert 0 < point["x"]["dram"] < 1 and 0 < point["y"] <= max(p["y"] for p in chart["peaks"])
    assert measured_page_data(view(layer(), points=points))["roofline"] is None


def test_tables_are_sorted_by_numbers_and_limited() -> None:
    rows = [[f"k{index}", (f"{index} us", index * US)] for index in range(MOST_ROWS + 5)]
    data = table_data(TableView("Kernels", [Column("kernel", "text"), Column("time")], rows))
    assert len(data["rows"]) == MOST_ROWS and f"of {MOST_ROWS + 5:,} rows" in data["note"]
    assert data["rows"][2] == ["k2", ("2 us", 2e-6)]


def test_the_operations_have_the_columns_that_are_known() -> None:
    rows = [
        Performance(1, operation("gemm", 0, 10), share=0.75, bound="FLOP", flop_fraction=0.7),
        Performance(2, operation("add", 10, 3), share=0.25),
    ]
    table = operation_table(rows)
    assert [column.name for column in table.columns] == [
        "operation", "ID", "total", "time", "FLOPs %", "bound",
    ]  # fmt: skip
    assert table.rows[1][-2:] == [("", None), ""] and table.categories == ["product", "elementwise"]
    many = operation_table([Performance(i, operation("a", i, i % 7)) for i in range(MOST_ROWS + 9)])
    assert len(many.rows) == MOST_ROWS and "that take the most time" in many.note


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, Add>(int)",
            "vectorized_elementwise_kernel",
        ),
        ("void (anonymous namespace)::softmax_warp_forward<float>", "softmax_warp_forward"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD"),
        ("MatmulDeviceOperation", "MatmulDeviceOperation"),
        ("void cutlass::Kernel2<cutlass_80_wmma_s161616gemm>(P)", "cutlass_80_wmma_s161616gemm"),
        ("void cutlass::device_kernel<a::b::FlashAttnFwdSm90<1, 2>>", "FlashAttnFwdSm90"),
        ("<lambda>", "<lambda>"),
        ("", ""),
    ],
)
def test_the_short_name_of_a_kernel(name: str, short: str) -> None:
    assert short_name(name) == short
