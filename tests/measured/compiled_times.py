"""The facts of measured kernels as NVIDIA's compiler made them: `facts/h100_compiled.json.gz`.

    python tests/measured/compiled_times.py INTERPRETER TILELANG

INTERPRETER has tilelang 0.1.15, TILELANG is a checkout with its ``examples``; nvcc and nvdisasm are
found as TIRLens finds them (``CUDA_HOME``). No GPU is needed. The kernels are those of
`h100_examples.csv`, to which no constant is fitted, and of `h100_sweep.csv`. What a kernel's call
does not give is left out, as what the compiler refuses.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "server")]

from tirlens.cli import file_analysis, option_parser  # noqa: E402
from tirlens.cli.worker_pool import WorkerPool, worker_pool  # noqa: E402
from tirlens_worker.codec import to_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402

TABLES = ("h100_examples", "h100_sweep")
FILE = HERE / "facts" / "h100_compiled.json.gz"
DEVICE, LIMIT_S = "h100-sxm", 120


def compiled(pool: WorkerPool, row: dict[str, str], path: Path, python: str) -> KernelFacts | None:
    """The kernel of a row as it is compiled; None if it is not."""
    command = ["analyze", str(path), "--call", row["call"], "--kernel", row["kernel"]]
    command += ["--device", DEVICE, "--python", python, "--timeout", str(LIMIT_S), "--fresh"]
    command += [option for text in row["bindings"].split() for option in ("--bind", text)]
    (traced,) = file_analysis.trace_in(pool, option_parser.parse(command))
    found = [one for one in traced.result.kernels if one.compiled_for("sm_90") is not None]
    return found[0] if len(found) == 1 else None


def rows(python: str, tilelang: Path) -> Iterator[dict[str, Any]]:
    """The rows that are compiled: the table, the number of the row in it, the facts."""
    with worker_pool(1) as pool:
        for table in TABLES:
            with (HERE / f"{table}.csv").open(encoding="utf-8") as file:
                measured = list(csv.DictReader(file))
            for number, row in enumerate(measured):
                name = row["file"]
                own = name.removeprefix("tilelang/")
                path = ROOT / name if own == name else tilelang / own
                facts = compiled(pool, row, path, python) if path.exists() else None
                print(table, number, row["kernel"], "compiled" if facts else "left out", flush=True)
                if facts is not None:
                    yield {"table": table, "row": number, "facts": to_json(facts)}


if __name__ == "__main__":
    found = list(rows(sys.argv[1], Path(sys.argv[2])))
    FILE.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))
