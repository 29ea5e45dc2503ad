"""unknown-experts: the work of a sparse product is not known.

What it finds
-------------
`SparseMatmul` on Tensix cores whose row has no number of batches that are computed (`nnz`).

Why it costs time
-----------------
It is not known whether it does: without its FLOP and bytes there is no bound.

Evidence
--------
The row has no `nnz`.

How to change it
----------------
`--active-experts K` says how many experts a token has.

Example
-------
```diff
 device("wormhole-n150")
-operation("SparseMatmulDeviceOperation", 80e-6, cores=64)
+operation("SparseMatmulDeviceOperation", 80e-6, cores=64, flop=1 << 30)
```

Source
------
tenstorrent/tt-perf-report, README: `--active-experts`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question
from tirlens.measured.advice.tensix_product import is_sparse, products


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise the option that makes the work known."""
    for kernel in products(question):
        if is_sparse(kernel.operation) and kernel.flop is None:
            yield MeasuredAdvice(
                rule="unknown-experts",
                message="--active-experts K: the rows do not say how many experts are computed",
                subject=kernel.title,
                rows=kernel.numbers,
                evidence=(Figure("time", kernel.time_s, "s"),),
            )
