"""dram-sharded-weights: a product waits for weights in DRAM that all cores read from all banks.

What it finds
-------------
Products on Tensix cores that are bound by DRAM and have no DRAM-sharded program configuration.

Why it costs time
-----------------
Each core reads tiles of all banks over the network on chip, whose links several cores share. With
weights that are sharded over the banks, a core beside each bank reads its part alone, at nearly the
rate of the bank.

Evidence
--------
The bytes of the operands in DRAM, at the rate that the device sustains.

How to change it
----------------
Store the weights width-sharded in DRAM, and pass
`program_config=ttnn.MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(...)`. It is made for few
rows of activations, as in decoding.

Example
-------
```diff
 device("wormhole-n150")
-product("BFLOAT16", "BFLOAT8_B", "BFLOAT16", "HiFi2", 170e-6, flop=1 << 30, dram_bytes=35_000_000)
+product("BFLOAT16", "BFLOAT8_B", "BFLOAT16", "HiFi2", 140e-6, flop=1 << 30, dram_bytes=35_000_000,
+        attributes="MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=4)")
```

Source
------
tenstorrent/tt-metal, `tech_reports/Saturating_DRAM_bandwidth/Saturating_DRAM_bandwidth.md`;
tenstorrent/tt-perf-report, README.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question
from tirlens.measured.advice.tensix_product import is_dram_sharded, is_sparse, products


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise weights that are sharded over the banks of DRAM."""
    for kernel in products(question):
        operation, dram_s = kernel.operation, kernel.dram_s
        if kernel.bound not in ("DRAM", "BOTH") or dram_s is None:
            continue
        if is_dram_sharded(operation) or is_sparse(operation):
            continue
        yield MeasuredAdvice(
            rule="dram-sharded-weights",
            message="weights that are width-sharded in DRAM, with "
            "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("time", kernel.time_s, "s"),
                Figure("DRAM at the sustained rate", dram_s, "s"),
            ),
            saving_s=max(kernel.time_s - dram_s, 0.0),
        )
