"""Trace the tile configurations of products that torch's compiler has timed: their facts.

    PYTHONPATH=server PYTHON_WITH_TILELANG tests/measured/trace_tiles.py

Each row of ``tiles.csv`` is one candidate of an ``AUTOTUNE mm`` list in the documentation of SGLang
(notebook ``speculative_decoding``, built 2026-02-13; Apache-2.0): the shortest of some runs, each
between events, with the L2 cache flushed before.  The lists hold the nine best of the template's 17
or 19 configurations.  The GPU is not named; two sizes of weights are 3.2 TB/s apart, which of GPUs
of 80 GB the H100 SXM has.

The template (``torch/_inductor/kernel/mm.py``) is compiled by Triton to cp.async, wgmma where a
tile has 64 rows, and no producer warps.  It writes ``facts/tiles.json.gz``.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "kernels")]

from factbook import TABLES, Factbook, extracted  # noqa: E402
from template_tilelang import mm  # noqa: E402

from tirlens_worker.program.compilations import with_options  # noqa: E402

TABLE = "tiles.csv"
AS_TRITON = {"tl.disable_tma_lower": True, "tl.disable_warp_specialized": True}


def main() -> None:
    book = Factbook(TABLE)
    with (TABLES / TABLE).open(encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            product = mm(json.loads(row["shape"]), json.loads(row["config"]))
            facts = extracted(with_options(product, AS_TRITON, None), row["op"])
            book.add(number, [[book.number(facts)]])
    print(book.save(TABLES / "facts" / "tiles.json.gz"))


if __name__ == "__main__":
    main()
