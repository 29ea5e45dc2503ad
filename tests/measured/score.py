"""Score predicted times against measured kernels: ``python tests/measured/score.py [--rows]``.

Families are the measured operators' folders (the elementwise one by kernel template).  A kernel
file is in the fitted or in the held-out half by the hash of its path; constants may be fitted on
the first only.  Rows under 5 us are left out.  Beside the model stand a datasheet roofline and a
roofline with two calibrated numbers (0.90 of the DRAM rate, 0.77 of the tensor cores) plus 2 us,
both of the library's own ideal operation and byte counts.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "server"))

from tirlens.hardware import Device, load  # noqa: E402
from tirlens.model import analyze  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402

SHORTEST_S = 5e-6


@dataclass(frozen=True)
class Row:
    """One measured kernel with what each predictor says, in seconds."""

    family: str
    half: str
    workload: str
    measured_s: float
    model_s: float
    band_s: tuple[float, float]
    datasheet_s: float
    calibrated_s: float
    bound: str


def family_of(kernel_file: str, factory: str) -> str:
    folder = Path(kernel_file).parent.name
    return f"elementwise/{factory.removeprefix('_make_')}" if folder == "elementwise" else folder


def half_of(kernel_file: str, factory: str) -> str:
    """The elementwise templates share one file and are split by template."""
    key = kernel_file if "elementwise/_base" not in kernel_file else factory
    return "fitted" if hashlib.sha256(key.encode()).digest()[0] % 2 else "held out"


def ideal(device: Device, row: dict[str, str], tensor: float, dram: float) -> float:
    dtype = "float8" if "float8" in row["dtype"] or "e4m3" in row["dtype"] else "float16"
    matrix = any(word in row["kernel_file"] for word in ("gemm", "attention", "mamba", "moe"))
    peak = device.peaks[f"tensor.{dtype}" if matrix else "fp32"]
    flop, moved = float(row["algorithmic_flop"] or 0), float(row["algorithmic_bytes"] or 0)
    return max(flop / peak.flop_per_s / tensor, moved / device.dram.bytes_per_s / dram)


def rows(device: Device) -> tuple[list[Row], int]:
    """The scored rows and how many measured kernels have no facts or no predicted time."""
    with gzip.open(HERE / "facts" / "h200_tileops.json.gz") as file:
        content = json.loads(file.read())
    facts = [from_json(KernelFacts, item) for item in content["facts"]]
    reports = [analyze(item, device) for item in facts]
    table = list(csv.DictReader((HERE / "h200_tileops.csv").open(encoding="utf-8")))
    out: list[Row] = []
    missing = 0
    for row, number in zip(table, content["rows"], strict=True):
        report = reports[number] if number is not None else None
        if report is None or report.time_s is None or report.time_band_s is None:
            missing += 1
            continue
        out.append(
            Row(
                family=family_of(row["kernel_file"], row["factory"]),
                half=half_of(row["kernel_file"], row["factory"]),
                workload=row["workload"],
                measured_s=float(row["latency_us"]) * 1e-6,
                model_s=report.time_s,
                band_s=report.time_band_s,
                datasheet_s=ideal(device, row, 1.0, 1.0),
                calibrated_s=ideal(device, row, 0.77, 0.90) + 2e-6,
                bound=report.bound or "",
            )
        )
    return out, missing


def errors(group: Sequence[Row], predicted: Callable[[Row], float]) -> list[float]:
    return [abs(predicted(row) / row.measured_s - 1) for row in group]


def kendall_tau(group: Sequence[Row]) -> float | None:
    """Rank correlation of predicted and measured times, pairs within 2 % left out."""
    agree = pairs = 0
    for i, a in enumerate(group):
        for b in group[:i]:
            if abs(a.measured_s / b.measured_s - 1) < 0.02:
                continue
            pairs += 1
            agree += 1 if (a.measured_s > b.measured_s) == (a.model_s > b.model_s) else -1
    return agree / pairs if pairs else None


def line(name: str, group: Sequence[Row]) -> str:
    mine = errors(group, lambda row: row.model_s)
    bias = math.exp(mean(math.log(row.model_s / row.measured_s) for row in group))
    inside = mean(row.band_s[0] <= row.measured_s <= row.band_s[1] for row in group)
    tau = kendall_tau(group)
    sheet = mean(errors(group, lambda row: row.datasheet_s))
    calibrated = mean(errors(group, lambda row: row.calibrated_s))
    rank = "    -" if tau is None else f"{tau:5.2f}"
    return (
        f"{name:34} {len(group):4} {mean(mine):7.1%} {median(mine):7.1%} {bias:6.2f} "
        f"{inside:5.0%} {rank}   {sheet:6.1%} {calibrated:6.1%}"
    )


def print_table(scored: Sequence[Row]) -> None:
    print(
        f"{'family':34} {'n':>4} {'MAPE':>7} {'median':>7} {'bias':>6} {'band':>5} {'tau':>5}",
        end="",
    )
    print("   sheet  calib.")
    for half in ("fitted", "held out"):
        groups: dict[str, list[Row]] = {}
        for row in scored:
            if row.half == half:
                groups.setdefault(row.family, []).append(row)
        print(f"-- {half}")
        for name, group in sorted(groups.items()):
            print(line(name, group))
        if groups:
            print(summary(half, list(groups.values())))
    print(line("all rows", scored))


def summary(half: str, groups: Sequence[Sequence[Row]]) -> str:
    def average(predicted: Callable[[Row], float], of: Callable[[list[float]], float]) -> float:
        return mean(of(errors(group, predicted)) for group in groups)

    return (
        f"{'average of families, ' + half:34} {len(groups):4} "
        f"{average(lambda row: row.model_s, mean):7.1%} "
        f"{average(lambda row: row.model_s, median):7.1%} {'':18}   "
        f"{average(lambda row: row.datasheet_s, mean):6.1%} "
        f"{average(lambda row: row.calibrated_s, mean):6.1%}"
    )


def main(arguments: Sequence[str]) -> None:
    every, missing = rows(load("h200"))
    scored = [row for row in every if row.measured_s >= SHORTEST_S]
    if "--rows" in arguments:
        for row in sorted(every, key=lambda row: (row.family, row.measured_s)):
            ratio = row.model_s / row.measured_s
            print(
                f"{row.family:30} {row.measured_s * 1e6:8.2f} {row.model_s * 1e6:8.2f} us "
                f"{ratio:5.2f} {row.bound:8} {row.workload[:70]}"
            )
    print_table(scored)
    print(f"{len(every) - len(scored)} rows under 5 us left out, {missing} without a prediction")


if __name__ == "__main__":
    main(sys.argv[1:])
