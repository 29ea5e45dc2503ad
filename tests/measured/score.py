"""Score predicted times against measured kernels: ``python tests/measured/score.py``.

    --rows         each row of the fitted half too (--rows=all: of both halves)
    --searches     the searches of tile configurations alone
    --json FILE    every row and figure as data (-: to the terminal)

Constants of the model and of the calibrated roofline may be fitted on the fitted half only.  The
figures of `sheet`, `calib.` and `analyzer` are the MAPE of a datasheet roofline, of a roofline with
two calibrated numbers and of ``tilelang.tools.Analyzer`` on the rows on which each says something.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "server")]

from measured import metrics  # noqa: E402
from measured.figures import (  # noqa: E402
    APART,
    AVERAGED,
    FEW,
    HALVES,
    average,
    bounds,
    by_class,
    by_family,
    by_kind,
    by_source,
    contests,
    figures,
    grouped,
    ranks,
)
from measured.predict import SEARCHES, Scored, Scores, scores  # noqa: E402
from measured.searches import print_searches, searches  # noqa: E402

HEAD = (
    f"{'':40}{'n':>5}{'MAPE':>8}{'median':>8}{'p90':>8}{'spread':>7}{'bias':>6}{'band':>6}"
    f"{'width':>7}{'tau':>6}   {'sheet':>7}{'calib.':>7}{'analyzer':>9}"
)


def _share(value: float | None, width: int) -> str:
    if value is None:
        return f"{'-':>{width}}"
    return f"{value:{width}.1%}" if value < 10 else f"{value:{width - 1}.0f}x"


def line(name: str, group: Sequence[Scored]) -> str:
    found = figures(group)
    errors = found.errors
    tau = f"{'-':>6}" if found.tau is None else f"{found.tau:6.2f}"
    return (
        f"{name[:39]:40}{errors.number:5}{_share(errors.mape, 8)}{_share(errors.median, 8)}"
        f"{_share(errors.p90, 8)}{errors.spread:7.2f}{errors.bias:6.2f}{found.inside_band:6.0%}"
        f"{found.band_width:7.0%}{tau}   {_share(found.sheet, 7)}{_share(found.calibrated, 7)}"
        f"{_share(found.analyzer, 9)}"
    )


def average_line(name: str, values: Mapping[str, float | None]) -> str:
    tau = values["tau"]
    return (
        f"{name:40}{values['families']:5}{_share(values['mape'], 8)}{_share(values['median'], 8)}"
        f"{'':21}{_share(values['inside_band'], 6)}{_share(values['band_width'], 7)}"
        f"{'' if tau is None else f'{tau:6.2f}'}   "
        f"{_share(values['sheet'], 7)}{_share(values['calibrated'], 7)}"
        f"{_share(values['analyzer'], 9)}"
    )


def print_tables(found: Scores) -> None:
    classes, families = grouped(found.rows, by_class), grouped(found.rows, by_family)
    for half in HALVES:
        print(f"\n{half.upper()}\n{HEAD}")
        for (group_half, device, klass), group in classes.items():
            if group_half == half:
                print(line(f"{device:13} {klass}", group))
    for half in HALVES:
        print(f"\n{half.upper()}, by family\n{HEAD}")
        for (group_half, device, family), group in families.items():
            if group_half == half:
                print(line(f"{device:13} {family}", group))
        for source, name in AVERAGED.items():
            print(average_line(f"average of families, {name}", average(families, half, source)))
        rank = ranks(families, half)
        print(
            f"tau within families: {rank['families']:.2f} on average, {rank['larger']:.2f} over "
            f"those of {FEW} rows and more, {rank['pairs']:.2f} over all pairs"
        )
    for half in HALVES:
        print(f"\n{half.upper()}, by source and by class\n{HEAD}")
        for by in (by_source, by_kind):
            for (group_half, name), group in grouped(found.rows, by).items():
                if group_half == half and not (by is by_kind and name in APART):
                    print(line(name, group))
    print("\nBOUND CLASS, of kernels whose ideal work alone fills 80 % of the measured time")
    for (half, known), told in bounds(found.rows).items():
        number = sum(told.values())
        right = (told.get(known, 0) + told.get("balanced", 0)) / number
        said = ", ".join(f"{name} {times}" for name, times in sorted(told.items()))
        print(f"{half:8} {known:8} {number:5} {right:6.1%} right: {said}")
    print("\nONE PROBLEM, SEVERAL KERNELS: tau and best time / time of the kernel chosen")
    for name, group in contests(found.rows):
        predicted = [row.model_s for row in group]
        measured = [row.measurement.measured_s for row in group]
        tau = metrics.kendall_tau(predicted, measured)
        rank = "    -" if tau is None else f"{tau:5.2f}"
        print(f"{name[:90]:92}{len(group):3} {rank} {metrics.top_one(predicted, measured):6.1%}")
    print("\ncalibrated shares of the datasheet's rates (memory, arithmetic):")
    for device, shares in sorted(found.shares.items()):
        print(f"  {device:14} {shares.memory:.2f} {shares.arithmetic:.2f}")
    for reason, times in found.left_out.items():
        print(f"{times:5} rows left out: {reason}")


def print_rows(rows: Iterable[Scored], every: bool) -> None:
    for row in sorted(rows, key=lambda row: (by_family(row), row.measurement.measured_s)):
        item = row.measurement
        if every or item.half == "fitted":
            print(
                f"{item.half:8} {item.device_id:13} {item.family:30} {item.measured_s * 1e6:10.2f} "
                f"{row.model_s * 1e6:10.2f} us {row.model_s / item.measured_s:5.2f} "
                f"{row.bound:8} {item.name[:80]}"
            )


def as_data(found: Scores, searched: Iterable[Scored] = ()) -> dict[str, Any]:
    """All rows and figures, for plots and for comparison with another version."""
    families = grouped(found.rows, by_family)
    return {
        "rows": [asdict(row) for row in found.rows],
        "classes": [
            {"group": key, **asdict(figures(group))}
            for key, group in grouped(found.rows, by_class).items()
        ],
        "families": [{"group": key, **asdict(figures(group))} for key, group in families.items()],
        "average": {
            half: {name: average(families, half, source) for source, name in AVERAGED.items()}
            for half in HALVES
        },
        "ranks": {half: ranks(families, half) for half in HALVES},
        "bounds": [{"group": key, **told} for key, told in bounds(found.rows).items()],
        "shares": {device: asdict(shares) for device, shares in found.shares.items()},
        "searches": [asdict(search) for search in searches(searched)],
        "left_out": dict(found.left_out),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", nargs="?", const="fitted", choices=("fitted", "all"))
    parser.add_argument("--searches", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    searched = scores(SEARCHES).rows
    if options.searches:
        print_searches(searched)
        return
    found = scores()
    if options.json == "-":
        json.dump(as_data(found, searched), sys.stdout)
        return
    if options.json:
        Path(options.json).write_text(json.dumps(as_data(found, searched)), encoding="utf-8")
    if options.rows:
        print_rows(found.rows, options.rows == "all")
    print_tables(found)
    print_searches(searched)


if __name__ == "__main__":
    main()
