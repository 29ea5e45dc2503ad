"""The table of kernels of ``tirlens report`` in the room that there is."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tirlens.cli.report import wide_table
from tirlens.model.report import KernelReport
from tirlens_worker.facts import Span

KERNEL = KernelReport(
    name="a_kernel_with_a_rather_long_name",
    definition="a_kernel_with_a_rather_long_name",
    span=Span(1, 0, 1, 0),
    framework="tvm",
    framework_version="0.27",
    call="",
    call_source="module-level",
    bindings={},
    device_id="h100-sxm",
    device_name="H100",
    time_s=1.69e-5,
    time_band_s=(1.01e-5, 2.82e-5),
    bound="parallelism",
    flop=2_147_483_648,
    compulsory_bytes=6_291_456,
)


@pytest.mark.parametrize(
    ("width", "kept", "left_out"),
    [
        (160, "compulsory", "device"),
        (120, "10.1 us - 28.2 us", "compulsory"),
        (80, "2.15 GFLOP", "band"),
        (64, "2.15 GFLOP", "rate"),
        (40, "16.9 us", "too few blocks"),
    ],
)
def test_columns_are_left_out_and_no_figure_is_cut(width: int, kept: str, left_out: str) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(wide_table([KERNEL], width))
    assert kept in out.getvalue() and left_out not in out.getvalue()
    # The name alone is shortened.
    assert out.getvalue().count("\u2026") <= 1
    assert max(map(len, out.getvalue().splitlines())) <= width


def test_the_device_is_told_where_there_are_several() -> None:
    out = io.StringIO()
    Console(file=out, width=160).print(wide_table([KERNEL, replace(KERNEL, device_id="l4")], 160))
    assert "h100-sxm" in out.getvalue() and "l4" in out.getvalue()
