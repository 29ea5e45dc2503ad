"""Score predicted times of CPU kernels against measured ones: ``python tests/measured/cpu.py``.

A table holds facts and times of the kernels of `cpu_kernels` on one machine (`cpu_measure.py` makes
it). A device file holds what ``tirlens calibrate --cpu`` measured there. The machines
are servers of which two cores are lent: an Ice Lake, measured once with nothing else running; a
Cascade Lake, whose times are the least of four to seven runs, some of them beside other work; a
Zen 4, measured twice. All rows of the Zen 4 were in view when the model was extended to such cores.
The sets below are those of the other two.

The workloads are in sets, in the order in which they were written. Rules of the model were found
with the kernels of a set that are *tuned on*, and about ten constants were set by hand with those
of set 1. *Held out* are the workloads of `cpu_kernels.held_out`. Each set from the second on was
scored before the model was changed with it in view. Of the sets from the third on, a part of the
workloads is drawn by `aside` before any is scored, and *kept aside*: a third, of set 5 a half. The
part of set 3 has been in view since. ``server/docs/cpu-rows.md`` has the figures of each step.

Two schedules whose times differ by less than the runs of one of them have no order that could be
predicted. `apart` is the rank correlation over the other pairs. Not all rows have kept their runs.

    python tests/measured/cpu.py [--rows] [DEVICE TABLE.json.gz]
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from zlib import crc32

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "server"), str(HERE.parent)]

from measured import metrics  # noqa: E402
from tirlens.hardware import Device, load  # noqa: E402
from tirlens.model import analyze  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402

MACHINES = ("cpu_ice_lake", "cpu_cascade_lake", "cpu_zen4")
TUNED_ON, HELD_OUT = "set 1, tuned on", "held out"
SET_2, SET_2_SCORED = "set 2, tuned on", "set 2, only scored"
SET_3, SET_3_ASIDE = "set 3, tuned on", "set 3, kept aside"
SET_4, SET_4_ASIDE = "set 4, tuned on", "set 4, kept aside"
SET_5, SET_5_ASIDE = "set 5, tuned on", "set 5, kept aside"
SET_6, SET_6_ASIDE = "set 6, tuned on", "set 6, kept aside"
ASIDE_OF = {
    SET_3: SET_3_ASIDE,
    SET_4: SET_4_ASIDE,
    SET_5: SET_5_ASIDE,
    SET_6: SET_6_ASIDE,
}
# One of so many workloads is aside, by chance.
ONE_OF = {SET_3: 3, SET_4: 3, SET_5: 2, SET_6: 3}
PARTS = (
    {"held_out": HELD_OUT, "everyday": SET_2_SCORED}
    | dict.fromkeys(("operators", "windows", "products", "programs"), SET_2)
    | dict.fromkeys(("contractions", "sweeps"), SET_3)
    | dict.fromkeys(("layers", "numerics"), SET_4)
    | dict.fromkeys(("formats", "solvers"), SET_5)
    | dict.fromkeys(("textbook", "staples"), SET_6)
)


HEADER = (
    f"{'kernels':22} {'n':>4} {'median':>7} {'mean':>7} {'p90':>7} {'bias':>6} "
    f"{'band':>5} {'tau':>5} {'apart':>5} {'best':>5} {'roofline':>9}"
)


def aside(workload: str, one_of: int) -> bool:
    """Whether a workload is kept aside, as `one_of` so many of its part are."""
    return crc32(f"aside {workload}".encode()) % one_of == 0


@dataclass(frozen=True)
class Row:
    """One measured kernel; times in seconds."""

    family: str
    workload: str
    schedule: str
    measured_s: float
    model_s: float
    band_s: tuple[float, float]
    roofline_s: float
    bound: str
    bound_class: str
    reason: str
    runs_s: tuple[float, ...] = ()

    @property
    def part(self) -> str:
        """The set, or the part of it, that the workload belongs to."""
        part = PARTS.get(self.family, TUNED_ON)
        kept = part in ASIDE_OF and aside(self.workload, ONE_OF[part])
        return ASIDE_OF[part] if kept else part

    @property
    def spread(self) -> float:
        """How much longer the second best of the runs took than the best; 0 of a single one."""
        best, second = sorted(self.runs_s)[:2] if len(self.runs_s) > 1 else (1.0, 1.0)
        return second / best - 1


@dataclass(frozen=True)
class Score:
    """Of some rows: their errors, the share in the band, and how well schedules are ranked.

    `tau` and `best` are means over the workloads with three schedules or more, `apart` is `tau`
    without the pairs that differ by less than their `spread`.
    """

    errors: metrics.Errors
    inside: float
    tau: float | None
    apart: float | None
    best: float | None

    @staticmethod
    def of(rows: Sequence[Row]) -> Score:
        found = metrics.errors(*_pairs(rows))
        assert found is not None, "no rows"
        several = [group for group in workloads(rows) if len(group) > 2]
        groups = [_pairs(group) for group in several]
        aparts = [tau for group in several if (tau := _tau_apart(group)) is not None]
        taus = [tau for group in groups if (tau := metrics.kendall_tau(*group)) is not None]
        return Score(
            errors=found,
            inside=mean(row.band_s[0] <= row.measured_s <= row.band_s[1] for row in rows),
            tau=mean(taus) if taus else None,
            apart=mean(aparts) if aparts else None,
            best=mean(metrics.top_one(*group) for group in groups) if groups else None,
        )


def _pairs(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    return [row.model_s for row in rows], [row.measured_s for row in rows]


def _tau_apart(group: Sequence[Row]) -> float | None:
    """The rank correlation over the pairs that differ by more than the spread of either."""
    taus = [
        tau
        for one, other in combinations(group, 2)
        if abs(math.log(one.measured_s / other.measured_s))
        > math.log1p(max(one.spread, other.spread))
        and (tau := metrics.kendall_tau(*_pairs([one, other]))) is not None
    ]
    return mean(taus) if taus else None


def workloads(rows: Iterable[Row]) -> list[list[Row]]:
    """The schedules of each workload."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.workload, []).append(row)
    return list(groups.values())


def machine(name: str) -> tuple[Path, Path]:
    """The device file and the table of one of the `MACHINES`."""
    return HERE / f"{name}.toml", HERE / "facts" / f"{name}.json.gz"


def rows(device: Device, table: Path, with_code: bool = True) -> list[Row]:
    """The kernels of a table with the model's times on a device.

    With the code that LLVM made, where the table has it.
    """
    out: list[Row] = []
    for entry in json.loads(gzip.decompress(table.read_bytes())):
        facts = from_json(KernelFacts, entry["facts"])
        report = analyze(facts if with_code else replace(facts, assembly=()), device)
        name = f"{entry['workload']} | {entry['schedule']}"
        if report.time_s is None or report.time_band_s is None:
            raise ValueError(f"{name}: no time: {report.message}")
        out.append(
            Row(
                family=entry["family"],
                workload=entry["workload"],
                schedule=entry["schedule"],
                measured_s=entry["time_s"],
                model_s=report.time_s,
                band_s=report.time_band_s,
                roofline_s=report.roofline_time_s or 0.0,
                bound=report.bound or "",
                bound_class=report.bound_class or "",
                reason=report.bound_reason,
                runs_s=tuple(entry.get("runs_s", ())),
            )
        )
    return out


def line(name: str, group: Sequence[Row]) -> str:
    score = Score.of(group)
    tau, apart = (
        "    -" if value is None else f"{value:5.2f}" for value in (score.tau, score.apart)
    )
    best = "    -" if score.best is None else f"{score.best:5.0%}"
    roofline = median(abs(row.roofline_s / row.measured_s - 1) for row in group)
    return (
        f"{name:22} {score.errors.number:4} {score.errors.median:7.1%} {score.errors.mape:7.1%} "
        f"{score.errors.p90:7.1%} {score.errors.bias:6.2f} {score.inside:5.0%} "
        f"{tau} {apart} {best} {roofline:9.1%}"
    )


def main(arguments: Sequence[str]) -> None:
    named = [Path(argument) for argument in arguments if not argument.startswith("--")]
    for device, table in [(named[0], named[1])] if named else map(machine, MACHINES):
        show(load(device), table, "--rows" in arguments)


def show(device: Device, table: Path, each: bool) -> None:
    """Print the scores of a table by family, and before them, if asked, each row."""
    every = rows(device, table)
    if each:
        for row in sorted(every, key=lambda row: (row.family, row.workload, row.measured_s)):
            ratio = row.model_s / row.measured_s
            print(
                f"{row.workload + ' | ' + row.schedule:50.50} {row.measured_s * 1e6:10.1f} "
                f"{row.model_s * 1e6:10.1f} us {ratio:5.2f} {row.bound:7} {row.reason}"
            )
    print(f"{device.name}\n{HEADER}")
    for part in (
        *(TUNED_ON, SET_2, HELD_OUT, SET_2_SCORED),
        *(SET_3, SET_3_ASIDE, SET_4, SET_4_ASIDE),
        *(SET_5, SET_5_ASIDE, SET_6, SET_6_ASIDE),
    ):
        group = [row for row in every if row.part == part]
        families = sorted({row.family for row in group})
        for family in families if len(families) > 1 else ():
            print(line(family, [row for row in group if row.family == family]))
        if group:
            print(line(part, group))


if __name__ == "__main__":
    main(sys.argv[1:])
