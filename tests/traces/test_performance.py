"""Rates, shares, bound classes and stacks of measured operations."""

from __future__ import annotations

import pytest

from tirlens.hardware import load
from tirlens.measured.performance.peaks import Peaks, device_of, peaks_of
from tirlens.measured.performance.rates import performance, performances, with_shares
from tirlens.measured.performance.stacking import stack
from tirlens.measured.records import MeasuredDevice, Operation, OperationKind, Position, Tensor

PEAKS = Peaks(dram_bytes_per_s=100.0, flop_per_s=1000.0)


def operation(
    name: str = "k",
    time_s: float | None = 1.0,
    gap_s: float | None = None,
    kind: OperationKind = "kernel",
    flop: int | None = None,
    dram_bytes: int | None = None,
    memory: str | None = None,
) -> Operation:
    return Operation(
        name,
        Position("t", 2),
        kind,
        "0",
        time_s=time_s,
        gap_s=gap_s,
        flop=flop,
        dram_bytes=dram_bytes,
        inputs=() if memory is None else (Tensor(memory=memory),),
    )


@pytest.mark.parametrize(
    ("dram_bytes", "flop", "bound"),
    [
        (65, 649, "DRAM"), (64, 650, "FLOP"), (65, 650, "BOTH"), (64, 649, "SLOW"), (0, 0, "SLOW"),
        (None, 999, "FLOP"), (99, None, "DRAM"), (None, 649, None), (64, None, None),
    ],
)  # fmt: skip
def test_bound_classes_at_65_percent(
    dram_bytes: int | None, flop: int | None, bound: str | None
) -> None:
    row = performance(operation(dram_bytes=dram_bytes, flop=flop), 1.0, PEAKS)
    assert row.bound == bound


def test_a_host_operation_is_host_and_no_peak_is_no_bound() -> None:
    assert performance(operation(kind="host", time_s=None), 1.0, PEAKS).bound == "HOST"
    unknown = performance(operation(flop=9, dram_bytes=9), 1.0, Peaks())
    assert (unknown.bound, unknown.dram_bytes_per_s, unknown.dram_fraction) == (None, 9.0, None)


@pytest.mark.parametrize("time_s", [None, 0.0])
def test_without_a_time_there_is_no_rate(time_s: float | None) -> None:
    row = performance(operation(time_s=time_s, flop=9, dram_bytes=9), 0.0, PEAKS)
    assert (row.share, row.flop_per_s, row.dram_bytes_per_s) == (None, None, None)


def test_shares_have_the_gaps_and_are_of_what_is_left() -> None:
    operations = operation(time_s=1.0, gap_s=2.0), operation(time_s=1.0)
    rows = performances((each, PEAKS) for each in operations)
    assert [row.share for row in rows] == [0.75, 0.25]
    assert [row.share for row in with_shares(rows[1:])] == [1.0]


@pytest.mark.parametrize(
    ("fidelity", "passes"), [("LoFi", 1), ("HiFi2", 2), ("HiFi3", 3), ("HiFi4", 4)]
)
@pytest.mark.parametrize(
    ("device_id", "clock_hz"), [("wormhole-n150", 1e9), ("blackhole-p150", 1.35e9)]
)
def test_the_peak_of_tensix_cores(
    fidelity: str, passes: int, device_id: str, clock_hz: float
) -> None:
    row = Operation("Matmul", Position("t", 2), cores=10, attributes={"MATH FIDELITY": fidelity})
    peaks = peaks_of(row, load(device_id))
    # 4096 FLOP a clock and core in one pass (tt-metal, tech_reports/GEMM_FLOPS).
    assert peaks.flop_per_s == pytest.approx(4096 * clock_hz * 10 / passes, rel=1e-3)
    assert peaks.dram_bytes_per_s == load(device_id).dram.bytes_per_s


@pytest.mark.parametrize(
    ("measured", "identifier"),
    [
        (MeasuredDevice("0", architecture="wormhole_b0"), "wormhole-n150"),
        (MeasuredDevice("0", architecture="blackhole"), "blackhole-p150"),
        (MeasuredDevice("0", "NVIDIA H100 80GB HBM3"), "h100-sxm"),
        (MeasuredDevice("0", "AMD Instinct MI300X"), "mi300x"),
        # Boards of one architecture differ.
        (MeasuredDevice("0", architecture="sm_90"), None),
        (MeasuredDevice("0", "A board that nobody has"), None),
    ],
)
def test_the_device_of_a_trace(measured: MeasuredDevice, identifier: str | None) -> None:
    device = device_of(measured)
    assert (device and device.id) == identifier


def test_stacks() -> None:
    rows = performances(
        (each, PEAKS)
        for each in (
            operation("Matmul", 1.0, flop=500, memory="DEV_0_DRAM_INTERLEAVED"),
            operation("Matmul", 3.0, flop=600, memory="DEV_1_L1_HEIGHT_SHARDED"),
            operation("LayerNorm", 12.0),
            operation("cpu", None, kind="host"),
        )
    )
    norm, product, host = stack(rows, "op")
    assert (norm.name, norm.share, product.operations, host.share) == ("LayerNorm", 0.75, 2, 0.0)
    assert (product.time.total, product.time.minimum, product.time.maximum) == (4.0, 1.0, 3.0)
    assert product.time.deviation == pytest.approx(2**0.5)
    fraction = product.flop_fraction
    assert (fraction.minimum, fraction.maximum) == (0.2, 0.5)
    assert fraction.mean == pytest.approx(0.35)
    assert product.weighted_flop_fraction == pytest.approx((0.5 + 3 * 0.2) / 4)
    assert norm.weighted_flop_fraction is None
    assert {each.name for each in stack(rows, "memory")} == {
        "LayerNorm", "Matmul (in0:dram_interleaved)", "Matmul (in0:height_sharded)", "cpu",
    }  # fmt: skip
    assert {each.name for each in stack(rows, "category")} >= {"product", "normalisation"}


FP32 = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
FP64 = "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"


@pytest.mark.parametrize(
    ("counted", "counters", "is_known"),
    [
        ("fp32, fp64", {FP32: 9.0, FP64: 0.0}, True),
        ("fp32, fp64", {FP32: 9.0, FP64: 1.0}, False),
        ("fp32 (tensor instructions not counted)", {FP32: 9.0}, False),
        ("fp32, tensor", {FP32: 9.0}, False),
        ("", {}, False),
    ],
)
def test_the_peak_of_fp32_is_that_of_fp32_alone(
    counted: str, counters: dict[str, float], is_known: bool
) -> None:
    device = load("h100-sxm")
    row = Operation("k", Position("t", 2), counters=counters, attributes={"flop_counted": counted})
    expected = device.peaks["fp32"].flop_per_s if is_known else None
    assert peaks_of(row, device).flop_per_s == expected


def test_the_peak_of_dram_from_the_counters_of_a_board_that_is_not_known() -> None:
    counters = {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 80.0}
    row = Operation("k", Position("t", 2), time_s=2.0, dram_bytes=160, counters=counters)
    assert peaks_of(row, None).dram_bytes_per_s == 100.0
    assert performance(row, 2.0, peaks_of(row, None)).dram_fraction == pytest.approx(0.8)
