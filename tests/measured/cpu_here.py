"""Predicted over measured times of CPU kernels on this machine.

    python tests/measured/cpu_here.py [--device DEVICE.toml] [--rounds N] [--table OUTPUT.json.gz]
        [FAMILY ...]

Runs in an environment with tvm. Calibrates the CPU unless a device file is given, compiles and
times the kernels of `cpu_kernels.first_sight` (or of other families) in several rounds, and prints
the least time of each beside two predictions: with LLVM's code, and by the source alone. ``spread``
is how much longer the second least round took. The largest spreads say how busy the machine is.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import sys
import tempfile
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "server"), str(HERE.parent), str(HERE)]

from measured.cpu import HEADER, Row, line, rows  # noqa: E402
from tirlens.hardware import Device, load  # noqa: E402
from tirlens.hardware.calibration.cpu import (  # noqa: E402
    device_file,
    device_numbers,
    kernel_sizes,
)
from tirlens.hardware.detect_cpu import detect  # noqa: E402
from tirlens_worker.facts import Assembly  # noqa: E402
from tirlens_x86 import essential  # noqa: E402

FAMILIES = ("first_sight",)
ROUNDS = 3


def calibrated(folder: Path) -> Device:
    """The device of this machine, measured now."""
    calibration = importlib.import_module("tirlens_worker.frameworks.benchmarking.calibration.cpu")
    found = replace(detect(), processor=calibration.processor(True))
    sizes = kernel_sizes(found)
    seconds = {name: least for name, (least, *_) in calibration.measure(sizes, True).items()}
    text = device_file(found, device_numbers(found, seconds), datetime.now(timezone.utc).date())
    path = folder / "here.toml"
    path.write_text(text)
    return load(path)


def measured_table(families: tuple[str, ...], rounds: int) -> list[dict[str, Any]]:
    """The facts and the times of each kernel, rounds apart from each other."""
    from cpu_measure import facts_of, host, seconds

    from tirlens_worker.codec import to_json
    from tirlens_worker.frameworks.lowering.generate import generate

    target = host()
    llvm = {"kind": "llvm", "arch": str(target.attrs["mcpu"])}
    table: list[dict[str, Any]] = []
    for family in families:
        for workload, schedule, func in importlib.import_module(f"cpu_kernels.{family}").kernels():
            facts = facts_of(func, workload.split()[0])
            (made,) = generate(func, "tvm", llvm, "", ("assembly",))
            code = Assembly(llvm["arch"], essential(made.text))
            table.append(
                {
                    "family": family,
                    "workload": workload,
                    "schedule": schedule,
                    "runs_s": [],
                    "facts": to_json(replace(facts, assembly=(code,))),
                    "again": (func, facts, target),
                }
            )
    for _ in range(rounds):
        for row in table:
            row["runs_s"].append(seconds(*row["again"]))
    for row in table:
        del row["again"]
        row["time_s"] = min(row["runs_s"])
    return table


def show(compiled: list[Row], written: list[Row]) -> None:
    """Print each kernel, and the figures of all, with LLVM's code and by the source alone."""
    print(f"{'kernel':48} {'measured us':>11} {'spread':>7} {'code':>6} {'source':>6}  bound")
    for row, source in zip(compiled, written, strict=True):
        inside = row.band_s[0] <= row.measured_s <= row.band_s[1]
        print(
            f"{row.workload + ' | ' + row.schedule:48.48} {row.measured_s * 1e6:11.1f} "
            f"{row.spread:7.1%} {row.model_s / row.measured_s:6.2f} "
            f"{source.model_s / row.measured_s:6.2f} {' ' if inside else '*'}{row.bound}"
        )
    print(f"\n{HEADER}\n{line('with code', compiled)}\n{line('source alone', written)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="a device file, instead of a calibration now")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--table", type=Path, help="keep facts and times here; reuse them if there")
    parser.add_argument("families", nargs="*", default=FAMILIES)
    given = parser.parse_args()
    os.environ.setdefault("TVM_NUM_THREADS", str(detect().cores))
    with tempfile.TemporaryDirectory() as folder:
        device = load(Path(given.device)) if given.device else calibrated(Path(folder))
        path = given.table or Path(folder) / "table.json.gz"
        if not path.exists():
            text = json.dumps(measured_table(tuple(given.families), given.rounds))
            path.write_bytes(gzip.compress(text.encode(), mtime=0))
        show(rows(device, path), rows(device, path, with_code=False))


if __name__ == "__main__":
    main()
