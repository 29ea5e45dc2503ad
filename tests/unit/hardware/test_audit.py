"""Every device file holds together, and a slip of a unit in any of its numbers is found."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tirlens.hardware import Device, DeviceError, catalogue, load
from tirlens.hardware.architecture import architecture
from tirlens.hardware.audit import doubts
from tirlens.hardware.catalogue import DATA
from tirlens.hardware.reader import device_of
from tirlens.hardware.toml_file import DeviceTable, merge, numbers_by_key, read_table

GPUS = [name for name in catalogue() if load(name).kind == "gpu"]

# Export versions of a chip.
CUT_DOWN = sorted(name for name in GPUS if load(name).reduced_rates)
# Slips by a factor of 8 that contradict nothing: another memory size of a machine, a system level
# cache of another size, one L2 instead of eight.
MISSED_BY_8 = {("dram.bytes", "Apple"), ("llc.bytes", "Apple"), ("l2.partitions", "AMD")}


def _of_class(key: str) -> str:
    name = key.removeprefix("peaks.").removesuffix(".flop_per_s")
    return "tensor" if name.startswith("tensor.") else name


# Devices of one architecture share the SM, the front end and the way to L2 and memory; of what is
# left, a clock that power lowers and the kind of memory are most.
ALIKE = {
    "launch_s": 1.15,
    "l2.latency_s": 1.3,
    "dram.latency_s": 1.3,
    "dram.saturated_latency_s": 1.3,
}


@pytest.mark.parametrize("arch", sorted({load(name).arch for name in GPUS}))
def test_devices_of_one_architecture_wait_alike(arch: str) -> None:
    alike = [device for device in map(load, GPUS) if device.arch == arch]
    for key, most in ALIKE.items():
        values = {device.id: attrgetter(key)(device) for device in alike}
        known = [value for value in values.values() if value is not None]
        assert not known or max(known) / min(known) <= most + 1e-9, (key, values)


@pytest.mark.parametrize("name", catalogue())
def test_a_device_file_holds_together(name: str) -> None:
    assert doubts(load(name)) == ()


@pytest.mark.parametrize("name", CUT_DOWN)
def test_a_cut_down_chip_is_seen(name: str) -> None:
    device = load(name)
    found = {
        doubt.key.removesuffix(".flop_per_s") for doubt in doubts(replace(device, reduced_rates=()))
    }
    assert found == {
        f"peaks.{peak}"
        for peak in device.peaks
        if any(f"{peak}.".startswith(f"{part}.") for part in device.reduced_rates)
    }


def _longest_first(table: dict[str, Any]) -> list[tuple[str, Any]]:
    """The entries of a table, ``tensor.float16.float16`` before ``tensor.float16``."""
    return sorted(table.items(), key=lambda entry: -len(entry[0]))


def _set(table: dict[str, Any], key: str, value: float) -> None:
    """Give a dotted key another value; ``tensor.float16`` is one name."""
    for name, inner in _longest_first(table):
        if key == name:
            table[name] = value
            return
        if key.startswith(name + ".") and isinstance(inner, dict):
            _set(inner, key.removeprefix(name + "."), value)  # pyright: ignore[reportUnknownArgumentType]
            return
    raise KeyError(key)


def _value(table: dict[str, Any], key: str) -> float:
    for name, inner in _longest_first(table):
        if key == name:
            return inner
        if key.startswith(name + ".") and isinstance(inner, dict):
            return _value(inner, key.removeprefix(name + "."))  # pyright: ignore[reportUnknownArgumentType]
    raise KeyError(key)


def _slips(name: str, factors: tuple[float, ...], keys: Iterable[str] | None = None) -> set[str]:
    """The keys of a device that may be wrong by one of the factors and nobody notices."""
    path = DATA / f"{name}.toml"
    device = load(name)
    below: dict[str, Any] = {}
    if device.kind == "gpu":
        below.update(architecture(device.arch, device.vendor).table)
    below.pop("microarchitecture", None)
    whole_table = merge(
        below,
        read_table(path, lambda base, _: DATA / f"{base}.toml").table,
    )
    original = {key: value for key, value in whole_table.items() if key != "sources"}
    clean = Counter(doubt.key for doubt in doubts(load(name)))
    missed: set[str] = set()
    for key in numbers_by_key(original) if keys is None else keys:
        for factor in factors:
            table = copy.deepcopy(original)
            value = _value(table, key)
            wrong = value * factor
            whole = isinstance(value, int) and wrong == int(wrong)
            _set(table, key, int(wrong) if whole else wrong)
            try:
                changed = Counter(doubt.key for doubt in doubts(device_of(_file(path, table))))
            except DeviceError as error:
                # Of SMs, clock and rate, the file names the rate that contradicts the others.
                shares_a_rate = key == "sm_count" or key.endswith("clock_hz")
                assert f" {key}: " in str(error) or (shares_a_rate and " peaks." in str(error))
                continue
            if value and not changed - clean:
                missed.add(key)
    return missed


def _file(path: Path, table: dict[str, Any]) -> DeviceTable:
    return DeviceTable(path, table, table, {})


def _slow_but_first(names: Iterable[str]) -> list[ParameterSet]:
    """The devices, of which the quick loop has the first of each architecture."""
    seen: set[str] = set()
    found: list[ParameterSet] = []
    for name in names:
        arch = load(name).arch
        found.append(pytest.param(name, marks=[pytest.mark.slow] if arch in seen else []))
        seen.add(arch)
    return found


# From 0 to 1, of which no unit can be mistaken.
SHARES = {"cpu.load_store_sharing", "cpu.write_back"}


@pytest.mark.parametrize("name", _slow_but_first(catalogue()))
def test_every_slip_by_a_power_of_1000_is_found(name: str) -> None:
    assert _slips(name, (1e3, 1e-3, 1e9)) - SHARES == set()


@pytest.mark.parametrize("name", _slow_but_first(GPUS))
def test_bits_for_bytes_are_found(name: str) -> None:
    missed = _slips(name, (8, 1 / 8))
    if name in CUT_DOWN:
        # Any part of the architecture's rate may be what an export version has.
        missed = {key for key in missed if _of_class(key) not in ("tensor", "fp64")}
    assert missed - {key for key, vendor in MISSED_BY_8 if vendor == load(name).vendor} == set()


@pytest.mark.parametrize("name", _slow_but_first(GPUS))
def test_a_size_on_the_chip_in_decimal_kilobytes_is_found(name: str) -> None:
    sizes = ["l2.bytes", "l1_bytes_per_sm", *(f"limits.{key}" for key in _limit_names(load(name)))]
    assert _slips(name, (1.024, 1000 / 1024, 1.048576, 1e6 / 1048576), sizes) == set()


MIB = 1 << 20


def test_the_file_of_a_device_with_64_mib_of_l2_holds_together() -> None:
    device = load(Path(__file__).parent / "data" / "rtx-4080.toml")
    assert device.l2.bytes == 64 * MIB
    assert doubts(device) == ()


@pytest.mark.parametrize("mib", [4, 5, 6, 24, 32, 36, 40, 48, 50, 60, 64, 72, 96, 126, 128, 256])
def test_an_l2_of_any_size_in_decimal_kilobytes_is_found(mib: int) -> None:
    device = load("rtx-4090")

    def wrong(size: int) -> bool:
        changed = replace(device, l2=replace(device.l2, bytes=size))
        return any(
            "decimal" in item.message or "multiple" in item.message for item in doubts(changed)
        )

    assert not wrong(mib * MIB)
    assert wrong(mib * MIB * 1000 // 1024)
    assert wrong(mib * 10**6)


def _limit_names(device: Device) -> list[str]:
    return [key for key, value in vars(device.limits).items() if value]


def test_a_doubt_says_what_speaks_against_a_number() -> None:
    device = load("h100-sxm")
    peaks = {
        **device.peaks,
        "tensor.float16": replace(device.peaks["tensor.float16"], flop_per_s=1979e12),
    }
    (doubt,) = doubts(replace(device, peaks=peaks))
    assert doubt.key == "peaks.tensor.float16.flop_per_s"
    assert doubt.message == "8193 operations per clock and SM, where sm_90 has 4096"
