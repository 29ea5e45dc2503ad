"""The roofline picture: what has a place in it, and where."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tirlens.ide import roofline_chart
from tirlens.model.report import KernelReport
from tirlens_worker.facts import Span


def report(**fields: object) -> KernelReport:
    values: dict[str, object] = {
        "arithmetic_intensity": 10.0,
        "ridge_point": 20.0,
        "flop_per_s": 1e13,
        "dram_bytes_per_s": 1e12,
        "dram_fraction": 0.5,
    }
    made = KernelReport(
        name="<k>",
        definition="k",
        span=Span(1, 0, 1, 0),
        framework="tvm",
        framework_version="0.27",
        call="k",
        call_source="module-level",
        bindings={},
        device_id="h100-sxm",
        device_name="H100",
    )
    return replace(made, **{**values, **fields})  # type: ignore[arg-type]


def test_the_roof_follows_from_bandwidth_and_ridge_point() -> None:
    found = roofline_chart.point(report())
    assert found == roofline_chart.Point("k (<k>)", 10.0, 1e13, 4e13, 2e12)


@pytest.mark.parametrize(
    "unknown",
    [
        "arithmetic_intensity",
        "ridge_point",
        "flop_per_s",
        "dram_bytes_per_s",
        "dram_fraction",
    ],
)
def test_what_is_unknown_has_no_place(unknown: str) -> None:
    assert roofline_chart.point(report(**{unknown: None})) is None
    assert roofline_chart.svg([report(**{unknown: None})]) == ""


def test_equal_roofs_are_drawn_once_and_names_are_escaped() -> None:
    picture = roofline_chart.svg([report(), report(flop_per_s=2e12), report(ridge_point=40.0)])
    assert picture.count("#d9822b") == 2
    assert picture.count("<circle") == 3
    assert "<k>" not in picture and "&lt;k&gt;" in picture


def test_higher_rates_are_higher_and_larger_intensities_further_right() -> None:
    picture = roofline_chart.svg([report(), report(arithmetic_intensity=100.0, flop_per_s=3e13)])
    places = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', picture)
    (x1, y1), (x2, y2) = [(float(x), float(y)) for x, y in places]
    assert x2 > x1 and y2 < y1


def test_a_name_stands_where_there_is_room_and_in_the_circle_always() -> None:
    beside = [report(arithmetic_intensity=10.0 + step / 100) for step in range(9)]
    picture = roofline_chart.svg([*beside, report(flop_per_s=1e11)])
    assert picture.count("<title>") == 10
    # Nine circles lie upon one another: one name to their right, one to their left.
    assert picture.count(">k (&lt;k&gt;)</text>") == 3
