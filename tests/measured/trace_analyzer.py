r"""What ``tilelang.tools.Analyzer`` predicts for the measured kernels, into ``analyzer.csv``.

    PYTHONPATH=server PYTHON_WITH_TILELANG \
        tests/measured/trace_analyzer.py TILEOPS_CHECKOUT TILELANG_CHECKOUT

It wants a device object that only a physical GPU gives.  This one answers what the real one would
on that GPU: the compute capability, and the two bandwidths, which the real one has fixed for every
GPU (`tilelang.carver.arch.CUDA.bandwidth`).  Of several candidates the fastest prediction counts.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from factbook import TABLES, Factbook  # noqa: E402
from tables import measurements  # noqa: E402
from trace_library import trace_tilelang  # noqa: E402
from trace_tileops import answer_as_h200, operations, prim_func  # noqa: E402

CAPABILITY = {"h200": "90", "h800-sxm": "90", "h100-sxm": "90", "a100-80-sxm": "80"}


def estimate(function: Any, capability: str) -> tuple[int, int, float] | str:
    """Operations, bytes and seconds, or why there are none."""
    from tilelang.tools import Analyzer

    device = SimpleNamespace(compute_capability=capability, bandwidth=[750, 12080])
    try:
        found = Analyzer.analysis(function, device)
    except Exception as error:  # it raises on much that kernels may contain
        return f"{type(error).__name__}: {str(error)[:60]}"
    return int(found.total_flops), int(found.total_global_bytes), float(found.estimated_time)


def tileops(checkout: str) -> list[tuple[int, tuple[int, int, float] | str]]:
    answer_as_h200()
    sys.path.insert(0, str(Path(checkout) / "src"))
    functions = operations("tileops.kernels.elementwise")
    found: list[tuple[int, tuple[int, int, float] | str]] = []
    with (TABLES / "h200_tileops.csv").open(encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            try:
                function = prim_func(row, functions)
            except Exception as error:  # told where the facts are traced
                found.append((number, f"not traced: {type(error).__name__}"))
                continue
            found.append((number, estimate(function, "90")))
    return found


def library(checkout: str) -> list[tuple[int, tuple[int, int, float] | str]]:
    kernels: list[Any] = []

    def number(function: Any, name: str) -> int:
        kernels.append(function)
        return len(kernels) - 1

    table = measurements("public.csv")
    found: list[tuple[int, tuple[int, int, float] | str]] = []
    for entry in trace_tilelang(Factbook("public.csv"), checkout, number).rows:
        capability = CAPABILITY.get(table[entry["row"]].device_id)
        if capability is None:  # it knows no device but CUDA's
            continue
        tried = [estimate(kernels[item[0]], capability) for item in entry["alternatives"]]
        known = [item for item in tried if not isinstance(item, str)]
        best = min(known, key=lambda item: item[2]) if known else tried[0]
        found.append((entry["row"], best))
    return found


def main(tileops_checkout: str, tilelang_checkout: str) -> None:
    found = {
        "h200_tileops.csv": tileops(tileops_checkout),
        "public.csv": library(tilelang_checkout),
    }
    with (TABLES / "analyzer.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("table", "row", "flop", "global_bytes", "time_s", "reason"))
        for table, rows in found.items():
            for number, item in rows:
                figures = ("", "", "", item) if isinstance(item, str) else (*item, "")
                writer.writerow((table, number, *figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
