"""Time and peak memory of ``tirlens report --measured`` on large traces, beside other programs.

Makes a Chrome trace as torch writes it and a CSV as ``rocprofv3`` writes it in a temporary folder,
and reads each with the command and with what people use otherwise::

    python tests/benchmarks/traces.py                       # 100 MB and 1 GB; 500,000 rows
    python tests/benchmarks/traces.py --megabytes 20 --rows 10000
    python tests/benchmarks/traces.py --others PYTHON       # a Python with pandas, HTA or both

Each reading is a process of its own; the table has its time, its peak resident memory, and both as
multiples of the command's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_NAMES = [
    f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{number}<float>, "
    "std::array<char*, 3ul> >(int, at::native::Functor<float>, std::array<char*, 3ul>)"
    for number in range(40)
]
_JSON_AND_PANDAS = """
import gzip, json, sys, pandas
trace = json.load(open(sys.argv[1]))
events = pandas.DataFrame(e for e in trace["traceEvents"] if e.get("cat") == "kernel")
print(events.groupby("name").dur.agg(["sum", "count", "mean"]).head())
"""
_HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=".")
print(analysis.get_gpu_kernel_breakdown(visualize=False)[1].head())
"""
_PANDAS = """
import sys, pandas
rows = pandas.read_csv(sys.argv[1])
rows["time"] = rows.End_Timestamp - rows.Start_Timestamp
print(rows.groupby("Kernel_Name").time.agg(["sum", "count", "mean"]).head())
"""


@dataclass(frozen=True)
class Reading:
    """One reading: seconds, bytes of memory, and whether it came to its end."""

    time_s: float
    peak_bytes: int
    is_complete: bool


def read(command: Iterable[str]) -> Reading:
    """Run a command; its output is not looked at."""
    begin_s = time.perf_counter()
    process = subprocess.Popen(
        list(command),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tempfile.gettempdir(),
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    elapsed_s = time.perf_counter() - begin_s
    return Reading(elapsed_s, usage.ru_maxrss * 1024, process.returncode == 0)


def write_chrome_trace(path: Path, size_bytes: int) -> int:
    """A trace of steps with operators, launches and kernels; the number of its kernels."""
    written = kernels = 0
    with path.open("w") as file:
        written += file.write(
            '{\n "schemaVersion": 1,\n "deviceProperties": [\n  {"id": 0, "name": "NVIDIA H100", '
            '"computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132}\n ],\n'
            ' "traceEvents": [\n'
        )
        for text in _events():
            written += file.write(text)
            kernels += 1
            if written > size_bytes:
                break
        file.write(' {"ph": "M", "name": "end"}\n ]}\n')
    return kernels


def _events() -> Iterator[str]:
    """For each kernel: its operator, the launch, two flow events and the kernel, as Kineto does."""
    number = 0
    while True:
        number += 1
        begin_us = 1712195495000000 + number * 12
        size = 2 ** (number % 12 + 4)
        flow = f'"id": {number}, "cat": "ac2g", "name": "ac2g"'
        yield f"""  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1,
    "ts": {begin_us}.125, "dur": 10.500,
    "args": {{
      "External id": {number},"Record function id": 0, "Concrete Inputs": ["", "", "1"],
      "Input type": ["float", "float", "Scalar"], "Input Dims": [[{size}, 64], [{size}, 64], []]
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
    "ts": {begin_us + 2}.250, "dur": 4.125,
    "args": {{
      "External id": {number}, "cbid": 211, "correlation": {number}
    }}
  }},
  {{
    "ph": "s", "pid": 1, "tid": 1, "ts": {begin_us + 2}.250, {flow}
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "{_NAMES[number % len(_NAMES)]}", "pid": 0, "tid": 7,
    "ts": {begin_us + 9}.375, "dur": {number % 97 + 1}.{number % 1000:03d},
    "args": {{
      "External id": {number}, "queued": 0, "device": 0, "context": 1, "stream": 7,
      "correlation": {number}, "registers per thread": 32, "shared memory": 0,
      "blocks per SM": 0.5, "warps per SM": 4.5, "grid": [{size}, 1, 1], "block": [128, 1, 1],
      "est. achieved occupancy %": 7
    }}
  }},
  {{
    "ph": "f", "pid": 0, "tid": 7, "ts": {begin_us + 9}.375, {flow}, "bp": "e"
  }},
"""


def write_csv(path: Path, rows: int) -> None:
    """The kernel trace of rocprofv3."""
    with path.open("w") as file:
        file.write(
            '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id",'
            '"Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size",'
            '"Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X",'
            '"Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
        )
        for number in range(rows):
            begin_ns = 172352210005122 + number * 12000
            file.write(
                f'"KERNEL_DISPATCH","Agent 2",1,0,70,{number},{number % 40},'
                f'"{_NAMES[number % 40]}",'
                f"{number},{begin_ns},{begin_ns + 1000 + number % 9973},0,0,12,4,48,256,1,1,"
                f"{256 << number % 12},1,1\n"
            )


def table(readings: dict[str, Reading]) -> str:
    """The readings, the first of which the others are compared with."""
    own = next(iter(readings.values()))
    lines = [f"{'':44} {'time':>9} {'peak memory':>12} {'time':>8} {'memory':>8}"]
    for name, reading in readings.items():
        lines.append(
            f"{name:44} {reading.time_s:7.1f} s {reading.peak_bytes / 1e6:9.0f} MB "
            f"{reading.time_s / own.time_s:7.2f}x {reading.peak_bytes / own.peak_bytes:7.2f}x"
            f"{'' if reading.is_complete else '  failed'}"
        )
    return "\n".join(lines)


def main() -> None:
    """Make the traces, read them, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--others", help="a Python with pandas and HolisticTraceAnalysis")
    options = parser.parse_args()
    own = [sys.executable, "-m", "tirlens", "report", "--measured"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        for megabytes in options.megabytes:
            kernels = write_chrome_trace(path, megabytes * 10**6)
            print(f"\nChrome trace, {path.stat().st_size / 1e6:.0f} MB, {kernels} kernels")
            readings = {"tirlens report --measured": read([*own, str(path)])}
            if options.others:
                for name, code in (("json and pandas", _JSON_AND_PANDAS), ("HTA", _HTA)):
                    readings[name] = read([options.others, "-c", code, str(path)])
            print(table(readings), flush=True)
            path.unlink()
        rows = Path(folder) / "kernel_trace.csv"
        write_csv(rows, options.rows)
        print(f"\nCSV, {rows.stat().st_size / 1e6:.0f} MB, {options.rows} rows")
        readings = {"tirlens report --measured": read([*own, str(rows)])}
        if options.others:
            readings["pandas"] = read([options.others, "-c", _PANDAS, str(rows)])
        print(table(readings))


if __name__ == "__main__":
    main()
