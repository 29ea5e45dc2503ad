"""The roofline picture: what has a place in it, and where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.ide import roofline_points
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
    found = roofline_points.point(report())
    assert found == roofline_points.Point("k (<k>)", 10.0, 1e13, 4e13, 2e12)


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
    assert roofline_points.point(report(**{unknown: None})) is None
