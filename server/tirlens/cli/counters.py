"""Hardware counters from Nsight Compute for ``tirlens measure``: the command to read them, its log.

Source: NVIDIA, "Nsight Compute CLI", sections "Profile" and "Console Output" (``--metrics``,
``--csv``, ``--print-units``, ``--log-file``).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tirlens.measured.readers.nsight_compute_csv import READER as NSIGHT_COMPUTE_CSV
from tirlens.measured.reading.trace_file import TraceError, open_trace
from tirlens.measured.records import Operation, Problem

#: Our name for each metric of ncu; bytes are bytes, seconds seconds, throughput a fraction.
METRICS: Mapping[str, str] = {
    "dram__bytes_read.sum": "dram_read_bytes",
    "dram__bytes_write.sum": "dram_write_bytes",
    "gpu__time_duration.sum": "gpu_time_s",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_throughput_fraction",
    "launch__registers_per_thread": "registers_per_thread",
}
_PERCENTAGES = frozenset({"sm__throughput.avg.pct_of_peak_sustained_elapsed"})
_PERCENT = 1e-2
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


def read(log: Path) -> list[Counters]:
    """The counters of each launch in a log of ncu, in their order.

    A metric that ncu could not read (``n/a``) is left out.

    Raises:
        ValueError: this is no such log, or has a unit or a number that ncu is not known to print.
    """
    launches: list[Counters] = []
    try:
        trace = open_trace(log)
        if not NSIGHT_COMPUTE_CSV.recognises(trace):
            raise ValueError(f"ncu printed {trace.head_text[:80]!r}")
        for record in NSIGHT_COMPUTE_CSV.records(trace):
            if isinstance(record, Problem):
                raise ValueError(record.message)
            if isinstance(record, Operation):
                launches.append(_counters(record))
    except TraceError as error:
        raise ValueError(str(error)) from error
    return launches


def _counters(operation: Operation) -> Counters:
    for name in METRICS.keys() & operation.attributes.keys():
        raise ValueError(f"{name}: {operation.attributes[name]!r} is no number")
    return {
        own: operation.counters[name] * (_PERCENT if name in _PERCENTAGES else 1)
        for name, own in METRICS.items()
        if name in operation.counters
    }


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
