"""The model's predictions, and the others', for every measured row that has facts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measured import baselines
from measured.tables import Measurement, board, measurements
from tirlens.hardware import Device
from tirlens.model import Workload, analyze, workload_of
from tirlens.model.report import KernelReport
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

HERE = Path(__file__).resolve().parent

FILES = (
    "h200_tileops",
    "h100_sweep",
    "h100_examples",
    "tirx_b200",
    "library_tilelang",
    "library_tvm",
    "tilelang_readmes",
    "tilelang_attention",
    "tutorials_tvm",
    "tutorials_tilelang",
    "streams",
    "boards_tvm",
    "boards_tilelang",
)
# Configurations that a tuner has searched, which are ranked apart.
SEARCHES = (HERE / "facts" / "sweeps.json.gz", HERE / "facts" / "tiles.json.gz")
# A row of which the harness is more than this share says little of the kernel.
MOST_HARNESS = 0.25


@dataclass(frozen=True)
class Scored:
    """A measurement beside its predictions, in seconds with the harness in all of them.

    `candidates` is 1 where the kernel's configuration is known; else the fastest of that many
    predictions is `model_s`.  `flop` and `compulsory_bytes` are the model's counts of the kernel.
    `known_class` is what bounds it by the measurement alone (`baselines.known_class`), the other
    predictors None where they say nothing.
    """

    measurement: Measurement
    model_s: float
    band_s: tuple[float, float]
    bound: str
    bound_class: str
    framework: str
    architecture: str
    known_class: str | None
    flop: int | None
    compulsory_bytes: int | None
    candidates: int
    datasheet_s: float | None
    calibrated_s: float | None
    analyzer_s: float | None


@dataclass(frozen=True)
class Scores:
    """All scored rows, and why others are not there."""

    rows: tuple[Scored, ...]
    shares: Mapping[str, baselines.Shares]
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class _Launch:
    time_s: float
    band_s: tuple[float, float]
    bound: str
    bound_class: str
    framework: str
    flop: int | None
    compulsory_bytes: int | None


@dataclass(frozen=True)
class CostModel:
    """The functions of `tirlens.model`, or of a second import with other constants (`ablation`)."""

    analyze: Callable[..., KernelReport] = analyze
    workload_of: Callable[..., Workload | None] = workload_of


def scores(files: Iterable[Path] | None = None, cost: CostModel | None = None) -> Scores:
    """Predict every row of the files of facts, all of `FILES` unless some are named."""
    paths = [HERE / "facts" / f"{name}.json.gz" for name in FILES] if files is None else files
    analyzer = baselines.analyzer(HERE / "analyzer.csv")
    predicted: list[tuple[Measurement, _Launch, int]] = []
    left_out: dict[str, int] = {}

    def leave_out(reason: str, times: int = 1) -> None:
        left_out[reason] = left_out.get(reason, 0) + times

    for path in paths:
        content = json.loads(gzip.decompress(path.read_bytes()))
        table = measurements(content["table"])
        launches = _Launches(
            [from_json(KernelFacts, item) for item in content["facts"]], cost or CostModel()
        )
        for reason, times in content["skipped"].items():
            leave_out(f"not traced: {reason}", times)
        for entry in content["rows"]:
            item = table.get(entry["row"])
            if item is None:
                leave_out("on a device that the catalogue has not")
            elif item.harness_s > MOST_HARNESS * item.measured_s:
                leave_out("the harness is more than a quarter of the time")
            elif (best := launches.best(item.device_id, entry)) is None:
                leave_out(f"without a predicted time: {item.family}")
            else:
                predicted.append((item, best, len(entry["alternatives"])))
    devices = {item.device_id: board(item.device_id) for item, _, _ in predicted}
    shares = {
        name: baselines.calibrate(
            (
                item
                for item, _, _ in predicted
                if item.device_id == name and item.half == "fitted" and item.klass != "tiny"
            ),
            device,
        )
        for name, device in devices.items()
    }
    rows = tuple(
        _scored(item, best, candidates, devices[item.device_id], shares[item.device_id], analyzer)
        for item, best, candidates in predicted
    )
    return Scores(rows, {name: share for name, share in shares.items() if share}, left_out)


def _scored(
    item: Measurement,
    best: _Launch,
    candidates: int,
    device: Device,
    shares: baselines.Shares | None,
    analyzer: Mapping[tuple[str, int], float],
) -> Scored:
    theirs = analyzer.get((item.table, item.row))
    return Scored(
        measurement=item,
        model_s=best.time_s + item.harness_s,
        band_s=(best.band_s[0] + item.harness_s, best.band_s[1] + item.harness_s),
        bound=best.bound,
        bound_class=best.bound_class,
        framework=best.framework,
        architecture=device.arch,
        known_class=baselines.known_class(item, device),
        flop=best.flop,
        compulsory_bytes=best.compulsory_bytes,
        candidates=candidates,
        datasheet_s=baselines.datasheet_s(item, device),
        calibrated_s=None if shares is None else baselines.calibrated_s(item, device, shares),
        analyzer_s=None if theirs is None else theirs + item.harness_s,
    )


class _Launches:
    """Predictions of one file's facts, each made once for a device and sizes."""

    def __init__(self, facts: list[KernelFacts], cost: CostModel) -> None:
        self._facts = facts
        self._cost = cost
        self._devices: dict[str, Device] = {}
        self._workloads: dict[tuple[Any, ...], Workload | None] = {}
        self._reports: dict[tuple[Any, ...], KernelReport] = {}

    def best(self, device_id: str, entry: Mapping[str, Any]) -> _Launch | None:
        """The fastest alternative; None where one of them has no time."""
        bindings = entry.get("bindings", {})
        launches = [self._launch(device_id, kernels, bindings) for kernels in entry["alternatives"]]
        known = [launch for launch in launches if launch is not None]
        if len(known) < len(launches):
            return None
        return min(known, key=lambda launch: launch.time_s)

    def _launch(
        self, device_id: str, kernels: Iterable[int], bindings: Mapping[str, int]
    ) -> _Launch | None:
        reports = [self._report(device_id, number, bindings) for number in kernels]
        time_s, low_s, high_s = 0.0, 0.0, 0.0
        for report in reports:
            if report.time_s is None or report.time_band_s is None:
                return None
            time_s += report.time_s
            low_s += report.time_band_s[0]
            high_s += report.time_band_s[1]
        longest = max(reports, key=lambda report: report.time_s or 0.0)
        return _Launch(
            time_s,
            (low_s, high_s),
            longest.bound or "",
            longest.bound_class or "",
            longest.framework,
            _total(report.flop for report in reports),
            _total(report.compulsory_bytes for report in reports),
        )

    def _report(self, device_id: str, number: int, bindings: Mapping[str, int]) -> KernelReport:
        device = self._devices.setdefault(device_id, board(device_id))
        facts = self._facts[number]
        counted = (number, tuple(bindings.items()))
        if (key := (device_id, *counted)) not in self._reports:
            if counted not in self._workloads:
                self._workloads[counted] = self._cost.workload_of(facts, bindings)
            known = self._workloads[counted]
            analyze = self._cost.analyze
            self._reports[key] = analyze(facts, device, bindings, known, by_line=False)
        return self._reports[key]


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)
