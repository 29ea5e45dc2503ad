"""A device file (TOML) as a `Device`, or an error that names the key and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tirlens.hardware.architecture import Architecture, architecture
from tirlens.hardware.audit import rate_doubts
from tirlens.hardware.quantity import numbers
from tirlens.hardware.sources import Source, sources_of
from tirlens.hardware.spec import Device, Peak
from tirlens.hardware.structure import GREATEST, StructureError, structure
from tirlens.hardware.toml_file import DeviceError, DeviceTable, merge, numbers_by_key, read_table
from tirlens.math_fidelity import PASSES

KINDS = ("gpu", "cpu", "accelerator")
SCALAR_CLASSES = ("fp64", "fp32", "fp16", "bf16", "int32", "sfu", "cvt")
TENSOR_TYPES = (
    "float64",
    "tf32",
    "float16",
    "float16.float16",
    "bfloat16",
    "float8",
    "float8.float16",
    "float6",
    "float4",
    "int8",
    "int4",
)
PEAK_CLASSES = frozenset({*SCALAR_CLASSES, *(f"tensor.{name}" for name in TENSOR_TYPES)})
# What is no key of a file: read from other keys.
_READ_APART = ("sources", "provenance")
# Significant digits of a rate that is SMs x clock x the architecture's rate.
_RATE_DIGITS = 6


def read_device(path: Path, resolve: Callable[[str, Path], Path] | None = None) -> Device:
    """Read one device file.

    `resolve` finds the file that ``extends = "NAME"`` means, given NAME and the file that says so;
    without it NAME is a path from that file.

    Raises `DeviceError` with ``FILE:LINE: KEY: what is wrong`` for a file that is missing or no
    TOML, a key that is unknown or missing, a value of the wrong type, a number outside the range
    that any real device has (most often a slip of a unit: GB/s instead of bytes/s), and an
    arithmetic rate that the architecture's units do not have.
    """
    try:
        return device_of(read_table(path, resolve or _sibling_path))
    except RecursionError as error:
        raise DeviceError(f"{path}: tables are nested too deeply") from error


def device_of(file: DeviceTable) -> Device:
    """The device of a table that was read, or `DeviceError`; see `read_device`."""
    try:
        return _device(file)
    except StructureError as error:
        raise file.error(error.key, str(error)) from None


def _sibling_path(name: str, path: Path) -> Path:
    return path.parent / name


def _device(file: DeviceTable) -> Device:
    known = _architecture(file.table)
    is_gpu = file.table.get("kind", "gpu") == "gpu"
    below = known.table if is_gpu else {"microarchitecture": known.table["microarchitecture"]}
    table = merge(below, file.table)
    for key in _READ_APART:
        table.pop(key, None)
    rates, defaults = _rates(table, known)
    device = structure(Device, {**table, "peaks": rates})
    if device.kind not in KINDS:
        choices = '", "'.join(KINDS[:-1])
        what = f'must be "{choices}" or "{KINDS[-1]}", not "{device.kind}"'
        raise StructureError("kind", what)
    if is_gpu:
        table["peaks"] = rates
    given = numbers_by_key(table)
    for number in numbers(device):
        if number.key in given and not number.range.holds(number.value, is_gpu):
            raise StructureError(number.key, number.range.complaint(number.value))
    device = _with_fidelities(device, defaults)
    for doubt in rate_doubts(device):
        raise StructureError(doubt.key, doubt.message)
    return _with_sources(device, file, known)


def _architecture(table: Mapping[str, Any]) -> Architecture:
    arch, vendor = table.get("arch"), table.get("vendor", "")
    if not isinstance(arch, str) or not arch:
        raise StructureError("arch", "must be a text" if "arch" in table else "missing")
    return architecture(arch, vendor if isinstance(vendor, str) else "")


def _rates(
    table: Mapping[str, Any], known: Architecture
) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """The rates of ``[peaks]`` with those of the architecture, and the default math fidelities."""
    given = table.get("peaks")
    if not isinstance(given, Mapping):
        raise StructureError("peaks", "missing; write a table [peaks]")
    rates = dict(cast("Mapping[str, Any]", given))
    fidelities = table.get("fidelities", {})
    for key, names in (("peaks", rates), *_tables("fidelities", fidelities)):
        for name in names:
            if name not in PEAK_CLASSES:
                what = f"unknown arithmetic class; known are {', '.join(sorted(PEAK_CLASSES))}"
                raise StructureError(f"{key}.{name}", what)
    defaults = {name: rate for name, rate in rates.items() if isinstance(rate, str)}
    if "fp32" not in rates:
        raise StructureError("peaks.fp32", "missing; every device needs the rate of its cores")
    return {
        name: _with_rate(name, rate, table, known)
        for name, rate in rates.items()
        if name not in defaults
    }, defaults


def _tables(key: str, tables: Any) -> list[tuple[str, Mapping[str, Any]]]:
    if not isinstance(tables, Mapping):
        raise StructureError(key, "must be a table")
    found = {f"{key}.{name}": item for name, item in cast("Mapping[str, Any]", tables).items()}
    for name, item in found.items():
        if name.removeprefix(f"{key}.") not in PASSES:
            raise StructureError(name, f"unknown key; known are {', '.join(PASSES)}")
        if not isinstance(item, Mapping):
            raise StructureError(name, "must be a table")
    return list(found.items())


def _with_rate(name: str, peak: Any, table: Mapping[str, Any], known: Architecture) -> Any:
    """A rate of ``[peaks]``, which without ``flop_per_s`` is SMs x clock x that of one SM."""
    if not isinstance(peak, Mapping) or "flop_per_s" in peak:
        return cast("Any", peak)
    rates = known.rates.get(name, ())
    sms, clock = table.get("sm_count"), cast("Any", peak).get("clock_hz", table.get("clock_hz"))
    if len(rates) != 1:
        choices = " or ".join(f"{rate:g}" for rate in rates)
        what = f"missing; {known.name} has {choices} a clock and SM" if rates else "missing"
        raise StructureError(f"peaks.{name}.flop_per_s", what)
    if not isinstance(sms, (int, float)) or not isinstance(clock, (int, float)):
        return cast("Any", peak)
    sms, clock = min(sms, GREATEST), min(clock, GREATEST)
    return {
        **cast("Mapping[str, Any]", peak),
        "flop_per_s": float(f"{rates[0] * sms * clock:.{_RATE_DIGITS}g}"),
    }


def _with_fidelities(device: Device, defaults: Mapping[str, str]) -> Device:
    """The device with the fidelity in each rate, and with the default rate of each class."""
    fidelities: dict[str, Mapping[str, Peak]] = {
        fidelity: {name: replace(peak, fidelity=fidelity) for name, peak in rates.items()}
        for fidelity, rates in device.fidelities.items()
    }
    peaks = dict(device.peaks)
    for name, fidelity in defaults.items():
        if name not in fidelities.get(fidelity, {}):
            raise StructureError(f"peaks.{name}", f"[fidelities.{fidelity}] has no rate for it")
        peaks[name] = fidelities[fidelity][name]
    return replace(device, peaks=peaks, fidelities=fidelities)


def _with_sources(device: Device, file: DeviceTable, known: Architecture) -> Device:
    found = sources_of(file)
    if device.kind == "gpu":
        given = numbers_by_key(file.table)
        followed = {**known.sources, **_sources_of_rates(device, known)}
        found |= {key: source for key, source in followed.items() if key not in given}
    for name, peak in device.peaks.items():
        prefix = f"fidelities.{peak.fidelity}.{name}."
        for key in [key for key in found if key.startswith(prefix)]:
            found[f"peaks.{name}.{key.removeprefix(prefix)}"] = found[key]
    return replace(
        device,
        sources={key: source.text for key, source in found.items()},
        provenance={key: source.provenance for key, source in found.items()},
    )


def _sources_of_rates(device: Device, known: Architecture) -> Mapping[str, Source]:
    """The sources of rates that follow from those of the architecture."""
    return {
        f"peaks.{name}.flop_per_s": Source(
            f"SMs x clock x {rates[0]:g} a clock and SM: {known.sources[f'rates.{name}'].text}",
            known.sources[f"rates.{name}"].provenance,
        )
        for name, rates in known.rates.items()
        if name in device.peaks and len(rates) == 1
    }


__all__ = ["device_of", "read_device"]
