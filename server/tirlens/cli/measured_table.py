"""The table of ``tirlens measure --append``: one row for each measured kernel."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tirlens.cli.counters import Counters
from tirlens.cli.errors import UsageError
from tirlens.file_reader import read_text
from tirlens.file_writer import replacing
from tirlens.ide.escaping import csv_cell
from tirlens.model.report import KernelReport
from tirlens_worker import framework_names
from tirlens_worker.protocol import Timing

_MAX_BYTES = 256 << 20

#: The columns and their content.  Times are in seconds, sizes in bytes; unknown values are empty.
COLUMNS = {
    "file": "the file as it was named",
    "kernel": "the name of its definition",
    "call": "the call that made the kernel",
    "bindings": "sizes of dynamic dimensions, NAME=VALUE separated by spaces",
    "framework": framework_names.ANY_OF_THEM,
    "framework_version": "its version",
    "measured_device": "the device's own name",
    "target": "its architecture or CPU, as the framework names it",
    "method": "who timed it, and what was in the caches",
    "samples": "how many times were taken",
    "measured_s": "their median",
    "measured_p10_s": "their 10th percentile",
    "measured_p90_s": "their 90th percentile",
    "model_device": "the device of the model",
    "predicted_s": "the model's time",
    "band_low_s": "the lower end of its band",
    "band_high_s": "the upper end of its band",
    "ratio": "predicted over measured",
    "bound": "what bounds the kernel, by the model",
    "launch_facts": "where threads and shared memory are from: source, lowered or compiled",
    "flop": "arithmetic issued",
    "predicted_dram_read_bytes": "read from DRAM, by the model",
    "predicted_dram_write_bytes": "written to DRAM, by the model",
    "dram_read_bytes": "read from DRAM, by ncu",
    "dram_write_bytes": "written to DRAM, by ncu",
    "gpu_time_s": "the time of one run, by ncu, at its fixed clocks",
    "sm_throughput_fraction": "of the peak, by ncu",
    "registers_per_thread": "as compiled, by ncu",
}
Cell = str | int | float | None


@dataclass(frozen=True)
class Measurement:
    """A kernel's measured time, the report that predicts it, and its hardware counters."""

    path: str
    timing: Timing
    report: KernelReport
    counters: Counters


def row(measurement: Measurement) -> tuple[Cell, ...]:
    """The cells of one measurement, in the order of `COLUMNS`."""
    timing, report = measurement.timing, measurement.report
    low, high = report.time_band_s or (None, None)
    target = timing.target.get("arch") or timing.target.get("mcpu")
    return (
        measurement.path,
        report.definition,
        report.call,
        " ".join(f"{name}={size}" for name, size in report.bindings.items()),
        report.framework,
        report.framework_version,
        timing.device,
        None if target is None else str(target),
        timing.method,
        timing.samples,
        timing.median_s,
        timing.low_s,
        timing.high_s,
        report.device_id,
        report.time_s,
        low,
        high,
        report.time_s / timing.median_s if report.time_s is not None else None,
        report.bound,
        report.launch_facts,
        report.flop,
        report.dram_bytes.read,
        report.dram_bytes.write,
        *(measurement.counters.get(name) for name in list(COLUMNS)[-5:]),
    )


def check(path: Path) -> None:
    """Raise if rows cannot be added to the table at `path`, before any kernel is measured.

    Raises:
        UsageError: it cannot be written, or is a table of other columns.
    """
    is_new = not path.exists()
    append(path, ())
    if is_new:
        path.unlink()


def append(path: Path, done: Sequence[Measurement]) -> None:
    """Add rows to the CSV file at `path`, which is made with its header if it is not there.

    Raises:
        UsageError: it cannot be written, or is a table of other columns.
    """
    names = list(COLUMNS)
    try:
        before = read_text(path, _MAX_BYTES, errors="replace") if path.exists() else ""
        header = next(csv.reader(before.splitlines()[:1]), None)
        if header not in (None, names):
            raise UsageError(f"{path} is a table of other columns; name a new file")
        with replacing(path) as file:
            file.write(before if before.endswith("\n") or not before else f"{before}\n")
            writer = csv.writer(file, lineterminator="\n")
            if header is None:
                writer.writerow(names)
            writer.writerows(map(csv_cell, row(measurement)) for measurement in done)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
