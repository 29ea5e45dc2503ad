"""What the model says of every kernel of the suite that `trace_suite.py` has traced.

    python tests/measured/suite.py FILE.json.gz... [--device h200] [--csv OUT.csv]

Prints, for each family, how many kernels it has, how many have a predicted time, and the median of
predicted time over a roofline: the operation's ideal work, by the library's own formulas, at the
device's sustained rates plus 2 us a launch.  `--csv` writes a line for each launch, with the counts
over the ideal ones where a benchmark is one launch, and what makes it suspicious.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "server")]

from tirlens.hardware import Device, load  # noqa: E402
from tirlens.model import analyze  # noqa: E402
from tirlens.model.report import KernelReport  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402

LAUNCH_S = 2e-6
# A time this far above the roofline wants a reason in the source.
FAR = 20.0


@dataclass(frozen=True)
class Line:
    """One launch of a benchmark; ratios are to the ideal of the operation, None where unknown."""

    family: str
    kernel: str
    workload: str
    part: str
    status: str
    time_us: float | None
    measured_us: float | None
    roof_us: float | None
    over_roof: float | None
    flop_ratio: float | None
    bytes_ratio: float | None
    dram_ratio: float | None
    bound: str
    grid: str
    threads: int | None
    shared: int | None
    registers: int | None
    blocks_per_sm: int | None
    suspicions: str
    caveats: str


def lines(
    content: Mapping[str, Any], device: Device, measured: Mapping[str, float]
) -> Iterator[Line]:
    """The lines of one file of facts."""
    reports: dict[str, KernelReport | str] = {}

    def report(launch: Mapping[str, Any]) -> KernelReport | str:
        if isinstance(launch["facts"], str):
            return launch["facts"]
        key = f"{launch['facts']} {launch['bindings']}"
        if key not in reports:
            facts = from_json(KernelFacts, content["facts"][launch["facts"]])
            needed = {variable.name for variable in facts.variables}
            sizes = {k: v for k, v in launch["bindings"].items() if k in needed}
            try:
                reports[key] = analyze(facts, device, sizes)
            except Exception as error:  # the table shows it
                reports[key] = f"{type(error).__name__}: {error}"
        return reports[key]

    for row in content["rows"]:
        launches = row["launches"]
        name = row["workload"].rpartition("::")[2] + ("~" if row["tuned"] else "")
        for number, launch in enumerate(launches):
            yield _line(
                launch,
                row,
                name,
                f"{number + 1}/{len(launches)}",
                report(launch),
                device,
                measured.get(name) if len(launches) == 1 else None,
            )


def _line(
    launch: Mapping[str, Any],
    row: Mapping[str, Any],
    name: str,
    part: str,
    report: KernelReport | str,
    device: Device,
    measured_us: float | None,
) -> Line:
    family = launch["file"].removeprefix("tileops/kernels/").removesuffix(".py")
    empty: dict[str, Any] = {item.name: None for item in fields(Line)}
    empty |= {
        "family": family,
        "kernel": launch["factory"],
        "workload": name,
        "part": part,
        "measured_us": measured_us,
        "bound": "",
        "grid": "",
        "suspicions": "",
        "caveats": "",
    }
    if isinstance(report, str):
        return Line(**{**empty, "status": report, "suspicions": "no report"})
    alone = part == "1/1"
    roof_s = _roofline_s(row, report, device) if alone else None
    if roof_s is None and report.roofline_time_s is not None:
        roof_s = report.roofline_time_s + LAUNCH_S
    flop_ratio = _ratio(report.flop, row["flop"]) if alone else None
    bytes_ratio = _ratio(report.compulsory_bytes, row["bytes"]) if alone else None
    over = None if report.time_s is None or not roof_s else report.time_s / roof_s
    suspicions = [
        word
        for word, true in {
            "no time": report.time_s is None,
            "flop": flop_ratio is not None and not 0.7 < flop_ratio < 3,
            "bytes": bytes_ratio is not None and not 0.8 < bytes_ratio < 1.3,
            "below roof": over is not None and over < 0.95,
            "far above roof": over is not None and over > FAR,
        }.items()
        if true
    ]
    return Line(
        **{
            **empty,
            "status": report.status,
            "time_us": None if report.time_s is None else report.time_s * 1e6,
            "roof_us": None if roof_s is None else roof_s * 1e6,
            "over_roof": over,
            "flop_ratio": flop_ratio,
            "bytes_ratio": bytes_ratio,
            "dram_ratio": _ratio(report.dram_bytes.total, row["bytes"]) if alone else None,
            "bound": report.bound or "",
            "grid": "x".join(map(str, report.grid)),
            "threads": report.threads_per_block,
            "shared": report.shared_bytes_per_block,
            "registers": report.registers_per_thread,
            "blocks_per_sm": report.occupancy and report.occupancy.blocks_per_sm,
            "suspicions": ", ".join(suspicions),
            "caveats": " | ".join(dict.fromkeys(note.message for note in report.caveats)),
        }
    )


def _roofline_s(row: Mapping[str, Any], report: KernelReport, device: Device) -> float | None:
    if row["flop"] is None or row["bytes"] is None:
        return None
    classes = report.flop_by_class
    tensor = {name: count for name, count in classes.items() if name.startswith("tensor.")}
    chosen = max(tensor or classes, key=lambda name: classes[name], default="fp32")
    peak = device.peaks.get(chosen, device.peaks["fp32"])
    rate = peak.flop_per_s * peak.sustained_fraction
    memory = device.dram.bytes_per_s * device.dram.sustained_fraction
    return max(row["flop"] / rate, row["bytes"] / memory) + LAUNCH_S


def _ratio(count: float | None, ideal: float | None) -> float | None:
    return None if count is None or not ideal else count / ideal


def summary(found: Iterable[Line]) -> str:
    """The table of families."""
    families: dict[str, list[Line]] = {}
    for line in found:
        families.setdefault(line.family, []).append(line)
    head = f"{'family':50s}{'kernels':>8s}{'launches':>9s}{'timed':>7s}{'ratio':>8s}  suspicions"
    table = [head]
    for family, group in sorted(families.items()):
        ratios = [line.over_roof for line in group if line.over_roof is not None]
        words: dict[str, int] = {}
        for line in group:
            for word in filter(None, line.suspicions.split(", ")):
                words[word] = words.get(word, 0) + 1
        table.append(
            f"{family:50s}{len({line.kernel for line in group}):8d}{len(group):9d}"
            f"{sum(line.time_us is not None for line in group):7d}"
            f"{median(ratios) if ratios else float('nan'):8.2f}  "
            + ", ".join(f"{count} x {word}" for word, count in words.items())
        )
    return "\n".join(table)


def _measured() -> dict[str, float]:
    with (HERE / "h200_tileops.csv").open(encoding="utf-8") as file:
        return {row["workload"]: float(row["latency_us"]) for row in csv.DictReader(file)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--device", default="h200")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    measured = _measured() if options.device == "h200" else {}
    device = load(options.device)
    found: list[Line] = []
    failures: dict[str, str] = {}
    for path in options.files:
        content = json.loads(gzip.decompress(path.read_bytes()))
        failures |= content["failures"]
        found += lines(content, device, measured)
    print(summary(found))
    for name, reason in failures.items():
        print(f"not traced: {name}: {reason.splitlines()[-1][-150:]}")
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [item.name for item in fields(Line)])
            writer.writeheader()
            writer.writerows(asdict(line) for line in found)


if __name__ == "__main__":
    main()
