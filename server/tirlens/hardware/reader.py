"""A device file (TOML) as a `Device`, or an error that names the key and what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from tirlens.hardware.plausible import LEAST_SUSTAINED, RANGES, Range
from tirlens.hardware.spec import Device, Limits, MemoryLevel, Peak

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT_KEYS = ("id", "name", "vendor", "kind", "arch")
LIST_KEYS = ("features", "aliases")
TABLE_KEYS = ("limits", "dram", "l2", "peaks", "sources")
NUMBER_KEYS = (
    "sm_count",
    "clock_hz",
    "l1_bytes_per_sm",
    "shared_bytes_per_clk_per_sm",
    "issue_per_clk_per_sm",
    "launch_s",
    "band",
)
OPTIONAL_NUMBER_KEYS = ("simd_bytes",)
INTEGER_KEYS = frozenset({"sm_count", "l1_bytes_per_sm", "simd_bytes", "bytes"}) | {
    field.name for field in fields(Limits)
}
SCALAR_CLASSES = ("fp64", "fp32", "fp16", "bf16", "int32", "sfu", "cvt")
TENSOR_TYPES = (
    "float64",
    "tf32",
    "float16",
    "bfloat16",
    "float8",
    "float6",
    "float4",
    "int8",
    "int4",
)
PEAK_CLASSES = frozenset({*SCALAR_CLASSES, *(f"tensor.{name}" for name in TENSOR_TYPES)})


class DeviceError(ValueError):
    """A device that is not known, or a device file that cannot be used; the text says why."""


def read_device(path: Path) -> Device:
    """Read one device file.

    Raises `DeviceError` with ``FILE: KEY: what is wrong`` for a file that is missing or no TOML,
    a key that is unknown or missing, a value of the wrong type, and a number outside the range
    that any real device has (most often a slip of a unit: GB/s instead of bytes/s).
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DeviceError(f"{path}: cannot be read: {error}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DeviceError(f"{path}: not a TOML file: {error}") from error
    return _Reader(path, table).device()


class _Reader:
    def __init__(self, path: Path, table: Mapping[str, Any]) -> None:
        self.path = path
        self.table = table

    def fail(self, key: str, what: str) -> DeviceError:
        return DeviceError(f"{self.path}: {key}: {what}")

    def device(self) -> Device:
        known = (*TEXT_KEYS, *LIST_KEYS, *TABLE_KEYS, *NUMBER_KEYS, *OPTIONAL_NUMBER_KEYS)
        self.check_keys("", self.table, known)
        texts = {key: self.text(key) for key in TEXT_KEYS}
        if texts["kind"] not in ("gpu", "cpu"):
            raise self.fail("kind", f'must be "gpu" or "cpu", not "{texts["kind"]}"')
        numbers = {key: self.number(self.table, "", key) for key in NUMBER_KEYS}
        for key in OPTIONAL_NUMBER_KEYS:
            if key in self.table:
                numbers[key] = self.number(self.table, "", key)
        return Device(
            **texts,
            **cast("dict[str, Any]", numbers),
            limits=self.limits(),
            peaks=self.peaks(),
            dram=self.memory("dram"),
            l2=self.memory("l2"),
            features=frozenset(self.texts("features")),
            aliases=self.texts("aliases"),
            sources=self.sources(),
        )

    def check_keys(self, prefix: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                raise self.fail(prefix + key, f"unknown key; known are {', '.join(known)}")

    def text(self, key: str) -> str:
        value = self.table.get(key)
        if not isinstance(value, str) or not value:
            raise self.fail(key, "missing" if value is None else "must be a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, [])
        if not isinstance(value, list):
            raise self.fail(key, "must be a list of texts")
        items = cast("list[Any]", value)
        if not all(isinstance(item, str) for item in items):
            raise self.fail(key, "must be a list of texts")
        return tuple(items)

    def inner(self, key: str) -> Mapping[str, Any]:
        value = self.table.get(key)
        if not isinstance(value, dict):
            raise self.fail(key, f"missing; write a table [{key}]")
        return cast("dict[str, Any]", value)

    def number(self, table: Mapping[str, Any], prefix: str, key: str) -> int | float:
        full = prefix + key
        value = table.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail(full, "missing" if value is None else "must be a number")
        bounds = RANGES[_range_key(full)]
        cpu = self.table.get("kind") == "cpu"
        if not bounds.holds(value, cpu):
            raise self.fail(full, bounds.complaint(value))
        if key in INTEGER_KEYS:
            if value != int(value):
                raise self.fail(full, f"must be a whole number, not {value}")
            return int(value)
        return float(value)

    def limits(self) -> Limits:
        table = self.inner("limits")
        names = tuple(field.name for field in fields(Limits))
        self.check_keys("limits.", table, names)
        return Limits(**{name: int(self.number(table, "limits.", name)) for name in names})

    def memory(self, key: str) -> MemoryLevel:
        table = self.inner(key)
        names = tuple(field.name for field in fields(MemoryLevel))
        self.check_keys(f"{key}.", table, names)
        values = {name: self.number(table, f"{key}.", name) for name in names}
        return MemoryLevel(**cast("dict[str, Any]", values))

    def peaks(self) -> Mapping[str, Peak]:
        peaks: dict[str, Peak] = {}
        for name, value in self.inner("peaks").items():
            prefix = f"peaks.{name}."
            if name not in PEAK_CLASSES:
                known = ", ".join(sorted(PEAK_CLASSES))
                raise self.fail(prefix[:-1], f"unknown arithmetic class; known are {known}")
            if not isinstance(value, dict):
                raise self.fail(prefix[:-1], "must be a table")
            table = cast("dict[str, Any]", value)
            self.check_keys(prefix, table, ("flop_per_s", "sustained_fraction"))
            peaks[name] = Peak(
                flop_per_s=self.number(table, prefix, "flop_per_s"),
                sustained_fraction=self.number(table, prefix, "sustained_fraction"),
            )
        if "fp32" not in peaks:
            raise self.fail(
                "peaks.fp32", "missing; every device needs the rate of its scalar cores"
            )
        return peaks

    def sources(self) -> Mapping[str, str]:
        """The source of each number: the entry of its full key or of its nearest table."""
        given = self.table.get("sources", {})
        if not isinstance(given, dict):
            raise self.fail("sources", 'must be a table of texts, "key" = "where from"')
        texts = cast("dict[str, Any]", given)
        numbers = tuple(number_keys(self.table))
        for key, value in texts.items():
            if not isinstance(value, str) or not value.strip():
                raise self.fail(f"sources.{key}", "must be a text")
            if not any(name == key or name.startswith(key + ".") for name in numbers):
                raise self.fail(f"sources.{key}", "is the source of no number in this file")
        found: dict[str, str] = {}
        for name in numbers:
            parts = name.split(".")
            prefixes = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
            source = next((texts[prefix] for prefix in prefixes if prefix in texts), None)
            if source is not None:
                found[name] = source
        return found


def number_keys(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted key of every number in a device file."""
    for key, value in table.items():
        if isinstance(value, dict) and key != "sources":
            yield from number_keys(cast("dict[str, Any]", value), f"{prefix}{key}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield prefix + key


def _range_key(full: str) -> str:
    """Ranges are shared by all peaks, but a slow unit such as sfu has its own."""
    if full.startswith("peaks."):
        return "peaks." + full.rsplit(".", 1)[1]
    return full


__all__ = ["LEAST_SUSTAINED", "DeviceError", "Range", "number_keys", "read_device"]
