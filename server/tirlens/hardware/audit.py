"""Implausible numbers of a device file: they contradict each other or the architecture.

The reader rejects what no device can be; these are relations that hold for the devices of the
catalogue and that a factor of 8 (bits for bytes) or a mixed-up clock breaks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from tirlens.hardware.architecture import Architecture, architecture
from tirlens.hardware.quantity import Range, numbers
from tirlens.hardware.spec import Device
from tirlens.math_fidelity import PASSES

KIB = 1024
# A rate in a data sheet is rounded to three digits, and rated at a clock that may be rounded too.
RATE_TOLERANCE = 0.06
# Caches come in multiples of these sizes, which decimal kilobytes are not.
GRAINS = {"l2.bytes": 512 * KIB, "l1_bytes_per_sm": KIB, "limits.shared_bytes_per_sm": KIB}
# 1000/1024 = 125/128: a size in decimal kilobytes is a multiple of 125 bytes, also where it is one
# of the grain (64 MB). No chip has a cache of 125 parts.
DECIMAL = 125
# Of every device; the keys of `RELATIONS` hold for GPUs.
COMMON = {
    "dram.bytes_per_s": Range(0.1, 64, "bytes per clock and SM or core"),
    "l2.bytes_per_s": Range(7, 90, "bytes per clock and SM or core"),
}
CLASSES = {
    "fp64": Range(1, 512, "operations per clock and SM or core"),
    "fp32": Range(4, 1024, "operations per clock and SM or core"),
    "fp16": Range(2, 2048, "operations per clock and SM or core"),
    "bf16": Range(2, 2048, "operations per clock and SM or core"),
    "int32": Range(4, 512, "operations per clock and SM or core"),
    "sfu": Range(0.1, 128, "operations per clock and SM or core"),
    "cvt": Range(1, 512, "operations per clock and SM or core"),
    "tensor.float64": Range(1, 1024, "operations per clock and SM or core"),
}
TENSOR = Range(64, 65536, "operations per clock and SM or core")
RELATIONS = {
    "dram.bytes": Range(0.0125, 0.095, "seconds to read all of the memory"),
    "l2.latency_s": Range(1e-7, 6e-7, "seconds"),
    "dram.latency_s": Range(3e-7, 1.2e-6, "seconds"),
    "dram.one_way_fraction": Range(1.0, 1.12, "of the share that is sustained both ways"),
    "dram.saturated_latency_s": Range(0.9, 2.2, "times the latency under load"),
    "launch_s": Range(7e-7, 6e-6, "seconds"),
    "tdp_w": Range(0.5, 4.5, "watts per SM and GHz"),
    "band": Range(0.08, 1.0, "of the time"),
    "l2.partitions": Range(1, 8, "parts"),
    "llc.bytes_per_s": Range(1.2, 6, "times the DRAM rate"),
    "llc.bytes": Range(4, 200, "times the L2"),
    "llc.latency_s": Range(2e-7, 1e-6, "seconds"),
}


@dataclass(frozen=True)
class Doubt:
    """An implausible number: its key, and the reason."""

    key: str
    message: str


def doubts(device: Device) -> tuple[Doubt, ...]:
    """The numbers that contradict each other or the device's architecture."""
    found = list(_common(device))
    if device.kind != "cpu":
        found += _sizes(device)
    if device.kind == "gpu":
        found += _relations(device)
        found += _limits(device, architecture(device.arch, device.vendor))
        found += rate_doubts(device)
    else:
        found += _without_threads(device)
    return tuple(found)


def _common(device: Device) -> Iterator[Doubt]:
    per_clk = device.clock_hz * device.sm_count
    values = {
        "dram.bytes_per_s": device.dram.bytes_per_s / per_clk,
        "l2.bytes_per_s": device.l2.bytes_per_s / per_clk,
    }
    yield from _out_of_range(values, COMMON)
    for name, peak in device.peaks.items():
        rate = peak.flop_per_s / device.sm_count / (peak.clock_hz or device.clock_hz)
        yield from _out_of_range({f"peaks.{name}.flop_per_s": rate}, CLASSES.get(name, TENSOR))
    yield from _fidelities(device)


def _fidelities(device: Device) -> Iterator[Doubt]:
    """Rates whose product with the passes of their fidelity is not that of a single pass."""
    for fidelity, rates in device.fidelities.items():
        for name, peak in rates.items():
            expected = device.fidelities.get("LoFi", {}).get(name)
            if expected is None:
                yield Doubt(f"fidelities.{fidelity}.{name}", "has no rate for LoFi")
            elif abs(peak.flop_per_s * PASSES[fidelity] / expected.flop_per_s - 1) > RATE_TOLERANCE:
                yield Doubt(
                    f"fidelities.{fidelity}.{name}.flop_per_s",
                    f"{peak.flop_per_s:.4g}, where LoFi has {expected.flop_per_s:.4g}: "
                    f"not 1/{PASSES[fidelity]} of it",
                )


def _out_of_range(
    values: Mapping[str, float], ranges: Mapping[str, Range] | Range
) -> Iterator[Doubt]:
    for key, value in values.items():
        expected = ranges if isinstance(ranges, Range) else ranges[key]
        if not expected.low <= value <= expected.high:
            yield Doubt(key, expected.complaint(value))


def _without_threads(device: Device) -> Iterator[Doubt]:
    """What a CPU's or an accelerator's core has none or a handful of."""
    limits = device.limits
    counts = {
        "limits.threads_per_sm": limits.threads_per_sm,
        "limits.threads_per_block": limits.threads_per_block,
        "limits.blocks_per_sm": limits.blocks_per_sm,
        "limits.warp_size": limits.warp_size,
    }
    yield from _out_of_range(counts, Range(1, 8, "on a core that is no SM"))
    registers = {
        "limits.registers_per_sm": limits.registers_per_sm,
        "limits.registers_per_thread": limits.registers_per_thread,
    }
    yield from _out_of_range(registers, Range(0, 512, "registers"))


def _sizes(device: Device) -> Iterator[Doubt]:
    values = (device.l2.bytes, device.l1_bytes_per_sm, device.limits.shared_bytes_per_sm)
    for (key, grain), value in zip(GRAINS.items(), values, strict=True):
        if key == "l2.bytes" and "unified-memory" in device.features:
            grain //= 2
        if value % DECIMAL == 0:
            yield Doubt(key, f"{value} bytes are decimal kilobytes: sizes on a chip are binary")
        elif value % grain:
            yield Doubt(key, f"{value} bytes are no multiple of {grain}, as sizes on a chip are")


def _relations(device: Device) -> Iterator[Doubt]:
    ghz = device.clock_hz / 1e9
    values = {
        "l2.latency_s": device.l2.latency_s,
        "dram.latency_s": device.dram.latency_s,
        "launch_s": device.launch_s,
        "band": device.band,
        "l2.partitions": device.l2.partitions,
    }
    if "unified-memory" not in device.features:
        values["dram.bytes"] = device.dram.bytes / device.dram.bytes_per_s
    if device.dram.one_way_fraction is not None:
        both_ways = device.dram.sustained_fraction
        values["dram.one_way_fraction"] = device.dram.one_way_fraction / both_ways
    if device.dram.saturated_latency_s is not None:
        saturated_s = device.dram.saturated_latency_s
        values["dram.saturated_latency_s"] = saturated_s / device.dram.latency_s
    if device.tdp_w is not None:
        values["tdp_w"] = device.tdp_w / device.sm_count / ghz
    if device.llc is not None:
        values["llc.bytes_per_s"] = device.llc.bytes_per_s / device.dram.bytes_per_s
        values["llc.bytes"] = device.llc.bytes / device.l2.bytes
        values["llc.latency_s"] = device.llc.latency_s
    yield from _out_of_range(values, RELATIONS)


def _limits(device: Device, known: Architecture) -> Iterator[Doubt]:
    """Numbers that are not those of the architecture, or not in its range."""
    found = {number.key: number.value for number in numbers(device)}
    for key, expected in _of_architecture(known.table):
        if found[key] != expected:
            yield Doubt(key, f"{found[key]:g}, where {known.name} has {expected:g}")
    for key, expected in known.ranges.items():
        yield from _out_of_range({key: found[key]}, expected)


def _of_architecture(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers that a device cannot have otherwise than its architecture."""
    for key, value in table.items():
        if isinstance(value, Mapping) and key != "microarchitecture":
            yield from _of_architecture(cast("Mapping[str, Any]", value), f"{prefix}{key}.")
        elif isinstance(value, (int, float)):
            yield prefix + key, value


def rate_doubts(device: Device) -> Iterator[Doubt]:
    """Peaks of a GPU that are not SMs x clock x the architecture's rate, but for reduced ones."""
    known = architecture(device.arch, device.vendor)
    if device.kind != "gpu" or not known.rates:
        return
    for name, peak in device.peaks.items():
        rate = peak.flop_per_s / device.sm_count / (peak.clock_hz or device.clock_hz)
        expected = known.rates.get(name, ())
        is_reduced = any(f"{name}.".startswith(f"{part}.") for part in device.reduced_rates)
        if not expected:
            yield Doubt(f"peaks.{name}", f"{known.name} has no such units")
        elif is_reduced and rate <= max(expected) * (1 + RATE_TOLERANCE):
            continue
        elif not any(abs(rate / value - 1) <= RATE_TOLERANCE for value in expected):
            choices = " or ".join(f"{value:g}" for value in expected)
            message = f"{rate:.4g} operations per clock and SM, where {known.name} has {choices}"
            if rate < max(expected):
                message += "; a chip with fewer units has their names in reduced_rates"
            yield Doubt(f"peaks.{name}.flop_per_s", message)
