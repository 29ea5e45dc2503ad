"""Devices in a plausible order: one that is ahead in every figure is behind in no kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from support.kernels import gemm, scale
from support.stored_facts import entries
from tirlens.hardware import Device, catalogue, load
from tirlens.model import analyze
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

GPUS = {name: load(name) for name in catalogue() if load(name).kind == "gpu"}
#: How far behind it may be: whole waves and latencies in clocks, which more SMs at a lower clock
#: have longer.
TOLERANCE = 1.07


def figures(device: Device) -> dict[str, float]:
    """All that a device has of something, where more is better: rates, bandwidths, sizes."""
    clocks_per_s = device.sm_count * device.clock_hz
    limits = device.limits
    return {
        "sms": device.sm_count,
        "clock": clocks_per_s,
        "shared": clocks_per_s * device.shared_bytes_per_clk_per_sm,
        "issue": clocks_per_s * device.issue_per_clk_per_sm,
        "load and store": clocks_per_s * device.load_store_lanes_per_clk_per_sm,
        "dram": device.dram.bytes_per_s * device.dram.sustained_fraction,
        "l2": device.l2.bytes_per_s * device.l2.sustained_fraction,
        "l2 bytes": device.l2.bytes,
        "shared bytes": limits.shared_bytes_per_sm,
        "registers": limits.registers_per_sm,
        "threads": limits.threads_per_sm,
        **{name: rate.flop_per_s for name, rate in device.peaks.items()},
    }


def is_ahead(first: Device, second: Device) -> bool:
    """Whether a device is ahead in every figure of one of its vendor that has the same code."""
    if first.vendor != second.vendor or not first.features >= second.features:
        return False
    # Another architecture may get other code: a producer of tiles where there is TMA.
    if ("tma" in first.features) != ("tma" in second.features):
        return False
    ours, theirs = figures(first), figures(second)
    return all(ours.get(name, 0.0) >= value for name, value in theirs.items())


PAIRS = [
    (first, second)
    for first in GPUS
    for second in GPUS
    if first != second and is_ahead(GPUS[first], GPUS[second])
]


def stored(file: str, name: str) -> KernelFacts:
    """A traced kernel, as its source has it."""
    item = next(one for one in entries(file) if one["definition"] == name)
    return replace(from_json(KernelFacts, item), lowered=())


KERNELS = {
    "product 4096": lambda: gemm(4096, 4096, 4096, stages=2),
    "product 8192": lambda: gemm(8192, 8192, 8192, stages=2),
    "stream": lambda: scale(1 << 26),
    "attention": lambda: stored("h100_examples", "flashattn_fwd"),
    "softmax": lambda: stored("h100_sweep", "softmax"),
    "norm": lambda: stored("h100_sweep", "rms_norm"),
    "attention of the sweep": lambda: stored("h100_sweep", "attention"),
    "reduction": lambda: stored("h100_examples", "flashattn_bwd_preprocess"),
}


@cache
def time_s(kernel: str, device: str) -> float | None:
    return analyze(_facts(kernel), GPUS[device]).time_s


@cache
def _facts(kernel: str) -> KernelFacts:
    return KERNELS[kernel]()


def test_pairs_are_known() -> None:
    assert len(PAIRS) > 40
    assert {("h200", "h100-sxm"), ("a100-80-sxm", "a100-40-sxm"), ("l40s", "l4")} <= set(PAIRS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_device_that_is_ahead_in_every_figure_is_not_behind(kernel: str) -> None:
    behind: list[str] = []
    compared = 0
    for first, second in PAIRS:
        ours, theirs = time_s(kernel, first), time_s(kernel, second)
        if ours is None or theirs is None:
            continue
        compared += 1
        if ours > TOLERANCE * theirs:
            behind.append(f"{first} {ours * 1e6:.4g} us, {second} {theirs * 1e6:.4g} us")
    assert compared > 10
    assert not behind


@pytest.mark.parametrize("kernel", ["product 4096", "product 8192", "stream", "softmax"])
@pytest.mark.parametrize(
    ("first", "second"), [("rtx-5090", "rtx-4090"), ("h200", "h100-sxm"), ("gh200", "h100-sxm")]
)
def test_later_boards_are_ahead(first: str, second: str, kernel: str) -> None:
    ours, theirs = time_s(kernel, first), time_s(kernel, second)
    assert ours is not None and theirs is not None
    assert ours <= 1.01 * theirs
