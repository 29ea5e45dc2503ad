"""What the devices of an architecture have in common: ``data/architectures/<arch>.toml``.

A file extends that of its vendor, and this ``gpu.toml``, with which GPUs of unknown vendors are
described.  Numbers of a device that its file does not give are those of its architecture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from tirlens.hardware.quantity import Range
from tirlens.hardware.sources import Source, sources_of
from tirlens.hardware.toml_file import read_table

FOLDER = Path(__file__).parent / "data" / "architectures"


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    Attributes
    ----------
    name
        The name of its file: ``sm_90``, or the vendor's where the architecture has none.
    table
        Keys of a device file with the values that all devices of the architecture have.
    rates
        Operations per clock and SM by arithmetic class, a multiply-accumulate as two; where boards
        of one architecture differ (fp32 accumulation at half the rate), all that occur.
    ranges
        The range that a number of its devices is in, by key.
    sources
        The sources of all these numbers, those of rates under ``rates.<class>``.
    """

    name: str
    table: Mapping[str, Any]
    rates: Mapping[str, tuple[float, ...]]
    ranges: Mapping[str, Range]
    sources: Mapping[str, Source]


@cache
def architecture(arch: str, vendor: str) -> Architecture:
    """An architecture, else what its vendor's have in common, else what all GPUs have."""
    base = arch.rstrip("af") if arch.startswith("sm_") else arch
    names = (name for name in (base, vendor.lower(), "gpu") if name.isidentifier())
    path = next(path for name in names if (path := FOLDER / f"{name}.toml").is_file())
    file = read_table(path, lambda name, _: FOLDER / f"{name}.toml")
    table = dict(file.table)
    rates = cast("dict[str, float | list[float]]", table.pop("rates", {}))
    ranges = cast("dict[str, tuple[float, float]]", table.pop("ranges", {}))
    for key in ("id", "name"):
        table.pop(key, None)
    return Architecture(
        path.stem,
        table,
        {name: tuple(rate) if isinstance(rate, list) else (rate,) for name, rate in rates.items()},
        {key: Range(low, high, f"on {path.stem}") for key, (low, high) in ranges.items()},
        sources_of(file),
    )
