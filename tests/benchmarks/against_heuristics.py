"""The choice of a configuration beside nvMatmulHeuristics, on tuned products of tensor cores.

    pip install nvidia-matmul-heuristics
    python tests/benchmarks/against_heuristics.py

The products are those of `measured.searches`: an auto-tuner measured nine configurations of each on
an H100. nvMatmulHeuristics (proprietary, NVIDIA) ranks configurations of its own; of the measured
ones it chooses the one whose tile it ranks first. Tiles that it does not name it does not choose.
Printed is the best measured time over that of the chosen one, and how many of the measured tiles
were named. The rank correlation is that of TIRLens alone: the other's list is too short for one.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "server"), str(ROOT / "tests")]

from measured.metrics import kendall_tau  # noqa: E402
from measured.predict import SEARCHES, Scored, scores  # noqa: E402

library: Any = importlib.import_module("nvMatmulHeuristics")
#: More than the library gives.
MOST = 512
#: Of operands and result, by the library's names: fp16, added in fp32.
PRECISION = "HSH"
Tile = tuple[int, int, int]


def main() -> None:
    groups: dict[str, list[Scored]] = {}
    for row in scores(SEARCHES).rows:
        problem, _, _ = row.measurement.name.partition(" {")
        if problem.startswith("mm "):
            groups.setdefault(problem, []).append(row)
    targets = {name: _Library(name) for name in ("CUTLASS3", "TRITON")}
    print(
        f"{'':26}{'half':10}{'tau':>6}{'TIRLens':>9}" + "".join(f"{name:>16}" for name in targets)
    )
    chosen: dict[str, list[float]] = {}
    for problem, rows in sorted(groups.items()):
        measured_s = [row.measurement.measured_s for row in rows]
        tau = kendall_tau([row.model_s for row in rows], measured_s)
        own = min(rows, key=lambda row: (row.model_s, -row.measurement.measured_s))
        shares = [min(measured_s) / own.measurement.measured_s]
        cells = [f"{shares[0]:9.1%}"]
        chosen.setdefault("TIRLens", []).append(shares[0])
        for name, other in targets.items():
            share, named = other.share(problem, rows)
            cells.append(f"{'none' if share is None else f'{share:.1%}':>9} ({named}/{len(rows)})")
            if share is not None:
                chosen.setdefault(name, []).append(share)
        print(f"{problem:26}{rows[0].measurement.half:10}{tau:6.2f}" + "".join(cells))
    for name, found in chosen.items():
        print(f"{name}: mean {mean(found):.1%}, least {min(found):.1%}, {len(found)} products")


class _Library:
    """nvMatmulHeuristics for an H100 and code of one kind."""

    def __init__(self, target: str) -> None:
        self._layout = library.NvMatmulHeuristicsMatmulLayout.NN_ROW_MAJOR
        self._interface = library.NvMatmulHeuristicsInterfaceEx(
            backend=library.NvMatmulHeuristicsTarget[target],
            flags=library.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
            gpu=library.NvMatmulHeuristicsNvidiaGpu.H100_SXM,
        )
        self._interface.loadInternalDiscoverySet(self._layout, PRECISION)

    def share(self, problem: str, rows: Sequence[Scored]) -> tuple[float | None, int]:
        """The best time over that of the measured tile ranked first, and how many it ranks."""
        m, n, k = map(int, problem.removeprefix("mm ").split("x"))
        asked = self._interface.makeNvMatmulHeuristicsProblem(m, n, k, self._layout)
        order: dict[Tile, int] = {}
        for position, one in enumerate(self._interface.get(asked, MOST, PRECISION)):
            kernel = one["kernel"]
            if kernel.split_k == 1:
                order.setdefault(_tile(kernel), position)
        named = [(order[tile], row) for row in rows if (tile := _measured_tile(row)) in order]
        if not named:
            return None, 0
        # Of several with one tile the slowest.
        first = min(named, key=lambda one: (one[0], -one[1].measurement.measured_s))[1]
        least_s = min(row.measurement.measured_s for row in rows)
        return least_s / first.measurement.measured_s, len(named)


def _tile(kernel: Any) -> Tile:
    return kernel.cta_tile_m, kernel.cta_tile_n, kernel.cta_tile_k


def _measured_tile(row: Scored) -> Tile:
    values = json.loads(row.measurement.name[row.measurement.name.index("{") :])
    return values["BLOCK_M"], values["BLOCK_N"], values["BLOCK_K"]


if __name__ == "__main__":
    main()
