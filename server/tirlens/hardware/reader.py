"""A device file (TOML) as a `Device`, or an error that names the key and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from tirlens.hardware.cpu_core import CpuCache, CpuCore
from tirlens.hardware.microarchitecture import Microarchitecture, architecture_table
from tirlens.hardware.number_ranges import RANGES
from tirlens.hardware.spec import Device, Limits, MemoryLevel, Peak
from tirlens.hardware.toml_file import DeviceError, DeviceTable, number_keys, read_table
from tirlens.math_fidelity import PASSES

TEXT_KEYS = ("id", "name", "vendor", "kind", "arch")
LIST_KEYS = ("features", "aliases", "caveats")
TABLE_KEYS = (
    "limits",
    "dram",
    "l2",
    "llc",
    "peaks",
    "fidelities",
    "cpu",
    "microarchitecture",
    "sources",
)
NUMBER_KEYS = (
    "sm_count",
    "clock_hz",
    "l1_bytes_per_sm",
    "shared_bytes_per_clk_per_sm",
    "issue_per_clk_per_sm",
    "launch_s",
    "band",
)
OPTIONAL_NUMBER_KEYS = (
    "load_store_lanes_per_clk_per_sm",
    "mixed_issue_fraction",
    "simd_bytes",
    "tdp_w",
)
KINDS = ("gpu", "cpu", "accelerator")
INTEGER_KEYS = frozenset({"sm_count", "l1_bytes_per_sm", "simd_bytes", "bytes", "partitions"}) | {
    field.name
    for kind in (Limits, CpuCore, CpuCache, Microarchitecture)
    for field in fields(kind)
    if field.type == "int"
}
MEMORY_KEYS = ("bytes", "bytes_per_s", "sustained_fraction", "latency_s")
# What only some levels have.
OPTIONAL_MEMORY_KEYS = {
    "l2": ("partitions",),
    "dram": ("one_way_fraction", "saturated_latency_s"),
}
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


def read_device(path: Path, resolve: Callable[[str, Path], Path] | None = None) -> Device:
    """Read one device file.

    `resolve` finds the file that ``extends = "NAME"`` means, given NAME and the file that says so;
    without it NAME is a path from that file.

    Raises `DeviceError` with ``FILE:LINE: KEY: what is wrong`` for a file that is missing or no
    TOML, a key that is unknown or missing, a value of the wrong type, and a number outside the
    range that any real device has (most often a slip of a unit: GB/s instead of bytes/s).
    """
    try:
        return device_of(read_table(path, resolve or _sibling_path))
    except RecursionError as error:
        raise DeviceError(f"{path}: tables are nested too deeply") from error


def device_of(file: DeviceTable) -> Device:
    """The device of a table that was read, or `DeviceError`; see `read_device`."""
    return _Reader(file).device()


def _sibling_path(name: str, path: Path) -> Path:
    return path.parent / name


class _Reader:
    def __init__(self, file: DeviceTable) -> None:
        self.file = file
        self.table = file.table

    def fail(self, key: str, what: str) -> DeviceError:
        return DeviceError(f"{self.file.where(key)}: {key:.80}: {what:.1000}")

    def device(self) -> Device:
        known = (*TEXT_KEYS, *LIST_KEYS, *TABLE_KEYS, *NUMBER_KEYS, *OPTIONAL_NUMBER_KEYS)
        self.check_keys("", self.table, known)
        texts = {key: self.text(key) for key in TEXT_KEYS}
        if texts["kind"] not in KINDS:
            choices = '", "'.join(KINDS[:-1])
            raise self.fail("kind", f'must be "{choices}" or "{KINDS[-1]}", not "{texts["kind"]}"')
        numbers = {key: self.number(self.table, "", key) for key in NUMBER_KEYS}
        for key in OPTIONAL_NUMBER_KEYS:
            if key in self.table:
                numbers[key] = self.number(self.table, "", key)
        return Device(
            **texts,
            **cast("dict[str, Any]", numbers),
            limits=self.limits(),
            microarchitecture=self.microarchitecture(),
            peaks=self.peaks(),
            fidelities=self.fidelities(),
            dram=self.memory("dram"),
            l2=self.memory("l2"),
            llc=self.memory("llc") if "llc" in self.table else None,
            cpu=self.cpu() if texts["kind"] == "cpu" else None,
            features=frozenset(self.texts("features")),
            aliases=self.texts("aliases"),
            caveats=self.texts("caveats"),
            sources=self.sources(),
        )

    def check_keys(self, prefix: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
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
        if not bounds.holds(value, gpu=self.table.get("kind") == "gpu"):
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
        optional = OPTIONAL_MEMORY_KEYS.get(key, ())
        self.check_keys(f"{key}.", table, (*MEMORY_KEYS, *optional))
        present = [*MEMORY_KEYS, *(name for name in optional if name in table)]
        values = {name: self.number(table, f"{key}.", name) for name in present}
        return MemoryLevel(**cast("dict[str, Any]", values))

    def cpu(self) -> CpuCore:
        table = self.inner("cpu")
        names = tuple(field.name for field in fields(CpuCore))
        self.check_keys("cpu.", table, names)
        values = {
            name: self.number(table, "cpu.", name) for name in names if name not in ("l2", "l3")
        }
        return CpuCore(
            **cast("dict[str, Any]", values),
            l2=self.cache(table, "l2"),
            l3=self.cache(table, "l3") if "l3" in table else None,
        )

    def cache(self, around: Mapping[str, Any], key: str) -> CpuCache:
        table = around.get(key)
        if not isinstance(table, dict):
            raise self.fail(f"cpu.{key}", f"missing; write a table [cpu.{key}]")
        found = cast("dict[str, Any]", table)
        names = tuple(field.name for field in fields(CpuCache))
        self.check_keys(f"cpu.{key}.", found, names)
        values = {name: self.number(found, f"cpu.{key}.", name) for name in names}
        return CpuCache(**cast("dict[str, Any]", values))

    def microarchitecture(self) -> Microarchitecture:
        """The numbers of the architecture, and in their place those of the device file."""
        key = "microarchitecture"
        own: Mapping[str, Any] = self.inner(key) if key in self.table else {}
        names = tuple(field.name for field in fields(Microarchitecture))
        self.check_keys(f"{key}.", own, names)
        table = {**self.architecture().table[key], **own}
        values = {name: self.number(table, f"{key}.", name) for name in names if name in table}
        return Microarchitecture(**cast("dict[str, Any]", values))

    def architecture(self) -> DeviceTable:
        return architecture_table(self.text("arch"), self.text("vendor"))

    def peaks(self) -> Mapping[str, Peak]:
        fidelities = self.fidelities()
        peaks: dict[str, Peak] = {}
        for name, value in self.inner("peaks").items():
            if isinstance(value, str):
                rate = fidelities.get(value, {}).get(name)
                if rate is None:
                    raise self.fail(f"peaks.{name}", f"[fidelities.{value}] has no rate for it")
                peaks[name] = rate
            else:
                peaks[name] = self.peak(f"peaks.{name}.", name, value)
        if "fp32" not in peaks:
            raise self.fail(
                "peaks.fp32", "missing; every device needs the rate of its scalar cores"
            )
        return peaks

    def peak(self, prefix: str, name: str, value: Any, fidelity: str | None = None) -> Peak:
        """The rate of an arithmetic class, at a math fidelity where the units have several."""
        if name not in PEAK_CLASSES:
            known = ", ".join(sorted(PEAK_CLASSES))
            raise self.fail(prefix[:-1], f"unknown arithmetic class; known are {known}")
        if not isinstance(value, dict):
            raise self.fail(prefix[:-1], "must be a table")
        table = cast("dict[str, Any]", value)
        self.check_keys(prefix, table, ("flop_per_s", "sustained_fraction", "clock_hz"))
        return Peak(
            flop_per_s=self.number(table, prefix, "flop_per_s"),
            sustained_fraction=self.number(table, prefix, "sustained_fraction"),
            clock_hz=self.number(table, prefix, "clock_hz") if "clock_hz" in table else None,
            fidelity=fidelity,
        )

    def fidelities(self) -> Mapping[str, Mapping[str, Peak]]:
        """The rates of the matrix units by math fidelity and arithmetic class."""
        if "fidelities" not in self.table:
            return {}
        rates = self.inner("fidelities")
        self.check_keys("fidelities.", rates, PASSES)
        found: dict[str, Mapping[str, Peak]] = {}
        for name in rates:
            prefix = f"fidelities.{name}."
            if not isinstance(rates[name], dict):
                raise self.fail(prefix[:-1], "must be a table")
            classes = cast("dict[str, Any]", rates[name])
            found[name] = {
                key: self.peak(f"{prefix}{key}.", key, table, name)
                for key, table in classes.items()
            }
        return found

    def sources(self) -> Mapping[str, str]:
        given = self.table.get("sources", {})
        if not isinstance(given, dict):
            raise self.fail("sources", 'must be a table of texts, "key" = "where from"')
        numbers = number_keys(self.file.raw)
        for key, value in cast("dict[str, Any]", given).items():
            if not isinstance(value, str) or not value.strip():
                raise self.fail(f"sources.{key}", "must be a text")
            for part in _parts(key):
                if not any(_means(part, name) for name in numbers):
                    raise self.fail(f"sources.{key}", f"{part}: is no number in this file")
        if self.table["kind"] != "gpu":
            return self.with_sources_of_peaks(_sources(self.file))
        return {**_sources(self.architecture()), **_sources(self.file)}

    def with_sources_of_peaks(self, sources: Mapping[str, str]) -> Mapping[str, str]:
        """The sources, also of peaks that name a fidelity: those of its rates."""
        found = dict(sources)
        for name, fidelity in self.inner("peaks").items():
            prefix = f"fidelities.{fidelity}.{name}."
            for key, text in sources.items():
                if key.startswith(prefix):
                    found[f"peaks.{name}.{key.removeprefix(prefix)}"] = text
        return found


def _sources(file: DeviceTable) -> dict[str, str]:
    """The source of each number: of the keys of ``[sources]`` that mean it, the longest."""
    found = _sources(file.base) if file.base is not None else {}
    texts = {
        part: text for key, text in file.raw.get("sources", {}).items() for part in _parts(key)
    }
    for name in number_keys(file.raw):
        meant = [key for key in texts if _means(key, name)]
        if meant:
            found[name] = texts[max(meant, key=lambda key: (key == name, len(key)))]
        elif file.base is not None:
            found[name] = f"{file.path.name}, without a source"
    return found


def _parts(key: str) -> list[str]:
    """The numbers, tables and patterns that one key of ``[sources]`` names."""
    return [part.strip() for part in key.split(",")]


def _means(key: str, name: str) -> bool:
    """Whether a key of ``[sources]`` is a number's, its table's, or a pattern such as ``*.x``."""
    return name == key or name.startswith(key + ".") or ("*" in key and fnmatchcase(name, key))


def _range_key(full: str) -> str:
    """Ranges are shared by all peaks, at whatever fidelity, and by the caches of a CPU."""
    if full not in RANGES and full.startswith(("cpu.l2.", "cpu.l3.")):
        return "cpu.cache." + full.rsplit(".", 1)[1]
    if full.startswith(("peaks.", "fidelities.")):
        return "peaks." + full.rsplit(".", 1)[1]
    return full


__all__ = ["device_of", "read_device"]
