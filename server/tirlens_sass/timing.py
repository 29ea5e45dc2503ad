"""How fast an SM executes an opcode, and after how many cycles its result is there.

The data are one TOML file for each family of architectures below ``data``, which extends that of
another one. What no source says is not in them, and None here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .opcodes import OPCODES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DATA = Path(__file__).parent / "data"
# Opcodes that the throughput table counts together, by its rows.
_ROWS = {
    "fp32": "FADD FADD32I FFMA FFMA32I FMUL FMUL32I",
    "fp32x2": "FADD2 FFMA2 FMUL2",
    "fp16x2": "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I",
    "fp64": "DADD DFMA DMUL",
    "special": "MUFU",
    "add": "IADD IADD3 IADD32I VIADD",
    "multiply": "IMAD IMUL IMAD32I IMUL32I",
    "compare": "ISETP ICMP FSETP FSET",
    "minimum": "IMNMX VIMNMX",
    "fp32_minimum": "FMNMX",
    "shift": "SHF SHL SHR",
    "logic": "LOP LOP3 LOP32I",
    "count_bits": "POPC FLO BREV",
    "shuffle": "SHFL",
    "vote": "VOTE",
    "reduce": "REDUX",
    "convert": "F2F F2I I2F",
}
_ROW_OF = {name: row for row, names in _ROWS.items() for name in names.split()}


@dataclass(frozen=True)
class Timing:
    """The timing of an opcode.

    Parameters
    ----------
    threads_per_cycle
        The threads for which an SM executes it in a cycle: 128 are four warps. Of a packed opcode
        (``HFMA2``) a thread has two results. None where no source says it.
    latency_cycles
        The cycles after its issue at which arithmetic may be issued that reads its result; None
        where it is not fixed or not known.
    sources
        Where the numbers come from.
    """

    threads_per_cycle: float | None
    latency_cycles: int | None
    sources: tuple[str, ...]


_UNKNOWN = Timing(None, None, ())


def families() -> tuple[str, ...]:
    """The families of architectures with data: ``sm_80``."""
    return tuple(sorted(path.stem for path in _DATA.glob("sm_*.toml")))


def timing(name: str, architecture: str) -> Timing:
    """The timing of an opcode on an architecture, as ``sm_90a``; nothing is known of other ones."""
    digits = "".join(filter(str.isdigit, architecture))
    table = _table(f"sm_{digits}")
    if table is None or name not in OPCODES:
        return _UNKNOWN
    row = _ROW_OF.get(name, "")
    rate: float | None = table["threads_per_cycle"].get(row)
    latency: int | None = table["latency_cycles"].get(name)
    sources: Mapping[str, str] = table["sources"]
    found = [
        sources.get(f"threads_per_cycle.{row}", sources["threads_per_cycle"]) if rate else None,
        sources.get(f"latency_cycles.{name}", sources["latency_cycles"]) if latency else None,
    ]
    return Timing(rate, latency, tuple(one for one in found if one is not None))


@cache
def _table(family: str) -> Mapping[str, Mapping[str, Any]] | None:
    path = _DATA / f"{family}.toml"
    if not path.exists():
        return None
    data = _read(path)
    base = _table(str(data["extends"])) if "extends" in data else None
    merged: dict[str, dict[str, Any]] = {}
    for section in ("threads_per_cycle", "latency_cycles", "sources"):
        merged[section] = dict(base[section]) if base is not None else {}
        merged[section].update(data.get(section, {}))
    for unknown in data.get("unknown", ()):
        section, _, name = str(unknown).partition(".")
        merged[section].pop(name, None)
    return merged


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
