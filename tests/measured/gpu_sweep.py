"""Measure tile configurations of common kernels on the GPU at hand, and score the predictions.

    python tests/measured/gpu_sweep.py --python PYTHON_WITH_TILELANG --append TABLE.csv [--jobs 8]
    python tests/measured/gpu_sweep.py --score TABLE.csv

Products, attention, elementwise kernels, norms, transposes and split products of tilelang: 242
calls of 29 problems, each by ``tirlens measure``, or, with ``--calls``, the calls that a file
lists, one a line after the path of its kernel's file and a tab.  `--jobs` problems are compiled
side by side; kernels run one at a time.  What the table has is not measured again: a run that was
cut off goes on.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "server"), str(ROOT / "tests")]

from measured.metrics import errors, kendall_tau, top_one  # noqa: E402
from tirlens.cli.measure import sweep_calls  # noqa: E402
from tirlens.cli.measured_table import append  # noqa: E402

_PATH = os.pathsep.join([str(ROOT / "server"), os.environ.get("PYTHONPATH", "")])
KERNELS = Path(__file__).parent / "kernels"
LIBRARY = KERNELS / "library_tilelang.py"
PLAIN = KERNELS / "plain_tilelang.py"
ATTENTION = ROOT / "tests/examples/attention_tilelang.py"
Row = Mapping[str, str]


@dataclass(frozen=True)
class Search:
    """One problem, and the values that are tried of each of its parameters."""

    file: Path
    call: str
    axes: tuple[str, ...]

    @property
    def calls(self) -> list[str]:
        """The call of each configuration."""
        return list(sweep_calls([self.call], self.axes))


def searches() -> Iterator[Search]:
    """Everything that is measured."""
    tiles = ("block_m=64,128", "block_n=64,128,256", "stages=2,3,4")
    for shape in ("1024, 1024, 1024", "4096, 4096, 4096", "8192, 8192, 4096", "128, 8192, 8192"):
        yield Search(LIBRARY, f"matmul({shape}, block_k=64, threads=128)", tiles)
    for shape in ("4096, 4096, 4096", "2048, 16384, 1024"):
        wide = ("block_m=128,256", "block_n=128,256", "stages=2,3")
        yield Search(LIBRARY, f"matmul({shape}, block_k=64, threads=256)", wide)
        yield Search(LIBRARY, f"matmul({shape}, block_k=32, threads=128, stages=3)", tiles[:2])
    for shape in ("1, 32, 4096, 128", "4, 16, 2048, 64", "1, 8, 1024, 128"):
        for causal in (True, False):
            axes = ("block_M=64,128", "block_N=64,128", "num_stages=1,2")
            yield Search(ATTENTION, f"attention({shape}, causal={causal})", axes)
    for shape in ("1024, 1024", "8192, 8192", "16384, 4096"):
        axes = ("block_m=1,8", "block_n=256,1024", "threads=128,256")
        yield Search(PLAIN, f"add({shape})", axes)
    for name in ("rms_norm", "softmax"):
        for shape in ("128, 4096", "8192, 1024", "8192, 4096", "32768, 2048"):
            yield Search(PLAIN, f"{name}({shape})", ("block_m=1,2,4", "threads=128,256"))
    for shape in ("1024, 4096", "8192, 8192"):
        yield Search(PLAIN, f"transpose({shape})", ("block=32,64,128", "threads=128,256"))
    for shape in ("128, 1024, 16384", "256, 256, 32768"):
        tile = "block_m=64, block_n=128, block_k=64, threads=128"
        yield Search(PLAIN, f"split_k({shape}, {tile})", ("splits=1,2,4,8,16",))


def listed(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """The files of a list, in its order, each with its calls."""
    calls: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        file, _, call = line.partition("\t")
        calls.setdefault(file, []).append(call)
    yield from ((Path(file), found) for file, found in calls.items())


def measure(
    work: Iterable[tuple[Path, list[str]]],
    python: str,
    table: Path,
    jobs: int,
    options: Sequence[str],
) -> None:
    """Add to the table what it has not."""
    known = {row["call"] for row in _rows(table)}
    append(table, [])

    def one(file: Path, calls: Sequence[str]) -> None:
        words = [word for call in calls for word in ("--call", call)]
        where = ["--python", python, "--append", str(table)]
        command = [sys.executable, "-m", "tirlens", "measure", str(file), *words, *where, *options]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": _PATH}, check=False)

    with ThreadPoolExecutor(jobs) as pool:
        for file, calls in work:
            missing = [call for call in calls if call not in known]
            if missing:
                pool.submit(one, file, missing)


def score(table: Path) -> None:
    """The figures of each problem: errors, and how well its configurations are ranked."""
    rows = {row["call"]: row for row in _rows(table) if row["predicted_s"]}
    print(f"{'':70}{'n':>4}{'MAPE':>7}{'bias':>6}{'band':>6}{'tau':>7}{'top-1':>7}")
    for search in searches():
        _line(search.call, [rows[call] for call in search.calls if call in rows], ranked=True)
    _line("all", list(rows.values()), ranked=False)


def _line(title: str, rows: Sequence[Row], ranked: bool) -> None:
    predicted = [float(row["predicted_s"]) for row in rows]
    measured = [float(row["measured_s"]) for row in rows]
    found = errors(predicted, measured)
    if found is None:
        return
    inside = sum(
        float(row["band_low_s"]) <= time <= float(row["band_high_s"])
        for row, time in zip(rows, measured, strict=True)
    )
    text = f"{title:70}{found.number:4}{found.mape:7.1%}{found.bias:6.2f}{inside / len(rows):6.0%}"
    if ranked:
        tau = kendall_tau(predicted, measured)
        text += f"{'' if tau is None else f'{tau:.2f}':>7}{top_one(predicted, measured):7.0%}"
    print(text)


def _rows(table: Path) -> list[Row]:
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--python", default=sys.executable, help="a Python that has tilelang")
    parser.add_argument("--append", type=Path, metavar="TABLE.csv")
    parser.add_argument("--score", type=Path, metavar="TABLE.csv")
    parser.add_argument("--calls", type=Path, metavar="LIST")
    parser.add_argument("--jobs", type=int, default=1)
    arguments, others = parser.parse_known_args()
    if arguments.append is not None:
        sweep = ((search.file, search.calls) for search in searches())
        work = listed(arguments.calls) if arguments.calls else sweep
        measure(work, arguments.python, arguments.append, arguments.jobs, others)
    if arguments.score or arguments.append:
        score(arguments.score or arguments.append)
