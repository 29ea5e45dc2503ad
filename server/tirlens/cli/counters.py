"""Hardware counters from Nsight Compute: the command to read them, and its CSV.

Source: NVIDIA, "Nsight Compute CLI", sections "Profile" and "Console Output" (``--metrics``,
``--csv``, ``--print-units``, ``--log-file``).  With ``--csv`` and ``--metrics`` each row holds one
metric of one launch, in the columns ``Metric Name``, ``Metric Unit`` and ``Metric Value``; numbers
have commas between their thousands.  Lines that begin with ``==`` are ncu's own remarks.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

#: Our name for each metric of ncu; bytes are bytes, seconds seconds, throughput a fraction.
METRICS: Mapping[str, str] = {
    "dram__bytes_read.sum": "dram_read_bytes",
    "dram__bytes_write.sum": "dram_write_bytes",
    "gpu__time_duration.sum": "gpu_time_s",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_throughput_fraction",
    "launch__registers_per_thread": "registers_per_thread",
}
# ``Mbyte`` is 10**6 bytes: the prefixes are decimal.
_UNITS: Mapping[str, float] = {
    "": 1, "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12,
    "second": 1, "s": 1, "msecond": 1e-3, "ms": 1e-3, "usecond": 1e-6, "us": 1e-6,
    "nsecond": 1e-9, "ns": 1e-9, "%": 1e-2, "register/thread": 1,
}  # fmt: skip
Counters = dict[str, float]


def command(log: Path, kernels: Iterable[str]) -> list[str] | None:
    """The words before a program's own that make ncu watch these kernels; None without ncu."""
    ncu = shutil.which("ncu")
    if ncu is None:
        return None
    names = "|".join(re.escape(name) for name in kernels)
    return [
        ncu, "--csv", "--print-units", "base", "--log-file", str(log), "--target-processes", "all",
        "--kernel-name", f"regex:^({names})", "--metrics", ",".join(METRICS),
    ]  # fmt: skip


def read(text: str) -> list[Counters]:
    """The counters of each launch, in their order.

    A metric that ncu could not read (``n/a``) is left out.

    Raises:
        ValueError: this is no such CSV, or has a unit or a number that ncu is not known to print.
    """
    lines = [line for line in text.splitlines() if line and not line.startswith("==")]
    rows = csv.DictReader(lines)
    if lines and not {"ID", "Metric Name", "Metric Unit", "Metric Value"} <= {
        *(rows.fieldnames or ())
    }:
        raise ValueError(f"ncu printed {lines[0]!r}")
    launches: dict[str, Counters] = {}
    for row in rows:
        counters = launches.setdefault(row["ID"], {})
        name = METRICS.get(row["Metric Name"])
        value = row["Metric Value"].replace(",", "")
        if name is None or value in ("", "n/a", "nan"):
            continue
        unit = row["Metric Unit"]
        if unit not in _UNITS:
            raise ValueError(f"ncu's unit {unit!r} of {row['Metric Name']} is not known")
        counters[name] = float(value) * _UNITS[unit]
    return list(launches.values())


def last_runs(launches: Sequence[Counters], kernels: int, runs: int) -> list[Counters]:
    """The counters of the last of each kernel's `runs`, the kernels run one after the other.

    One run may be several launches: their bytes and times are added, of registers the most holds,
    and the throughput is weighted by time.

    Raises:
        ValueError: the launches cannot be shared out evenly.
    """
    each, rest = divmod(len(launches), max(kernels * runs, 1))
    if rest or not each:
        raise ValueError(f"ncu saw {len(launches)} launches of {kernels} kernels run {runs} times")
    ends = range(each * runs, len(launches) + 1, each * runs)
    return [_combine(launches[end - each : end]) for end in ends]


def _combine(launches: Sequence[Counters]) -> Counters:
    total: Counters = {}
    for name in METRICS.values():
        values = [launch[name] for launch in launches if name in launch]
        if len(values) < len(launches):
            continue
        if name == "registers_per_thread":
            total[name] = max(values)
        elif name == "sm_throughput_fraction":
            times = [launch.get("gpu_time_s", 1.0) for launch in launches]
            weighted = sum(value * time for value, time in zip(values, times, strict=True))
            total[name] = weighted / sum(times)
        else:
            total[name] = sum(values)
    return total
