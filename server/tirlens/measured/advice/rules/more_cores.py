"""more-cores: an operation uses a part of the Tensix cores that it was given.

What it finds
-------------
Products that are bound by FLOP on fewer cores than are available, and any operation on fewer than
10 cores and less than half of those available.

Why it costs time
-----------------
The other cores idle.

Evidence
--------
The cores of the row, and `AVAILABLE WORKER CORE COUNT`, else the cores of the device. On all of
them the same work takes at least their ratio of the time, and the time of its bytes in DRAM.

How to change it
----------------
A larger `compute_with_storage_grid_size` or `core_grid`; shards over more cores. Batches, heads or
rows of several operations in one.

Example
-------
```diff
 device("wormhole-n150")
-operation("LayerNorm", 80e-6, cores=8)
+operation("LayerNorm", 20e-6, cores=64)
```

Source
------
tenstorrent/tt-perf-report, README: fewer than 10 cores; tenstorrent/tt-metal,
`tech_reports/GEMM_FLOPS/GEMM_FLOPS.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question
from tirlens.measured.advice.tensix_product import available_cores, is_dram_sharded

_FEW_CORES = 10


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise more cores."""
    for kernel in question.kernels:
        operation = kernel.operation
        if operation.kind != "kernel" or not kernel.has_feature("tensix"):
            continue
        cores, available = operation.cores, available_cores(kernel)
        if cores is None or available is None or is_dram_sharded(operation):
            continue
        is_bound = kernel.bound in ("FLOP", "BOTH") and cores < available
        if not is_bound and not (cores < _FEW_CORES and cores < available / 2):
            continue
        yield MeasuredAdvice(
            rule="more-cores",
            message=f"a grid of more cores: {cores} of {available} are used",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("time", kernel.time_s, "s"),
                Figure("cores", cores),
                Figure("available cores", available),
            ),
            saving_s=kernel.saving_down_to_s(kernel.time_s * cores / available),
        )
